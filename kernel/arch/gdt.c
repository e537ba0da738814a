// Segments, TSS, GS and the syscall registers. Intel SDM vol. 3, 3.4.5 and 7.2.3; vol. 2, SYSCALL.
#include "arch/layout.h"
#include "arch/trap.h"
#include "arch/x86.h"
#include "core/percpu.h"

// SFMASK: TF IF DF NT AC are cleared on entry.
#define SYSCALL_CLEARS 0x44700

struct cpu cpus[MAX_CPUS];
unsigned cpu_count = 1;
int cpu_of_apic[MAX_APIC_ID];

static void fill_gdt(struct cpu *cpu) {
    uint64_t tss = (uint64_t)&cpu->tss, limit = sizeof cpu->tss - 1;
    cpu->gdt[0] = 0;
    cpu->gdt[KERNEL_CODE / 8] = 0x00af9b000000ffff;
    cpu->gdt[KERNEL_DATA / 8] = 0x00cf93000000ffff;
    cpu->gdt[USER_DATA / 8] = 0x00cff3000000ffff;
    cpu->gdt[USER_CODE / 8] = 0x00affb000000ffff;
    cpu->gdt[TSS_SELECTOR / 8] =
        limit | (tss & 0xffffff) << 16 | 0x89ul << 40 | (tss >> 24 & 0xff) << 56; // available 64-bit TSS
    cpu->gdt[TSS_SELECTOR / 8 + 1] = tss >> 32;
    cpu->gdt[CPU_SELECTOR / 8] = 0x0000f10000000000 | cpu->index; // read-only data
}

void percpu_install(unsigned index) {
    struct cpu *cpu = &cpus[index];
    cpu->self = cpu;
    cpu->index = index;
    for (unsigned i = 0; i < 3; i++)
        cpu->tss.ist[i] = (uint64_t)cpu->fault_stack[i] + sizeof cpu->fault_stack[i];
    cpu->tss.io_map = sizeof cpu->tss;
    fill_gdt(cpu);
    struct {
        uint16_t limit;
        uint64_t base;
    } __attribute__((packed)) pointer = {sizeof cpu->gdt - 1, (uint64_t)cpu->gdt};
    __asm__ volatile("lgdt %0\n\t"
                     "movl %1, %%ss\n\t"
                     "movl %2, %%ds; movl %2, %%es; movl %2, %%fs; movl %2, %%gs\n\t"
                     "pushq %3; leaq 1f(%%rip), %%rax; pushq %%rax; lretq\n\t"
                     "1: ltr %w4"
                     :
                     : "m"(pointer), "r"(KERNEL_DATA), "r"(0), "i"(KERNEL_CODE), "r"(TSS_SELECTOR)
                     : "rax", "memory");
    wrmsr(MSR_GS_BASE, (uint64_t)cpu);
    wrmsr(MSR_KERNEL_GS_BASE, 0);
    wrmsr(MSR_STAR, (uint64_t)(USER_DATA - 8) << 48 | (uint64_t)KERNEL_CODE << 32);
    wrmsr(MSR_LSTAR, (uint64_t)syscall_entry);
    wrmsr(MSR_SFMASK, SYSCALL_CLEARS);
}
