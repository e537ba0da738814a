// The two entry points. QEMU's PVH entry (32-bit, paging off, %ebx = start info) starts the boot processor;
// the trampoline (16-bit, after INIT-SIPI) starts all others. Both continue in go_long and enter C in long
// mode.
//
// Xen, "x86/HVM direct boot ABI"; Intel SDM vol. 3, 9.8.5 (entering IA-32e mode), 8.4 (MP initialization).
#include "arch/layout.h"

#define PA(symbol) ((symbol) - KERNEL_BASE)
#define PTE_RW 0x3
#define PTE_LARGE_RW 0x183 // present, writable, large, global
#define PTE_UNCACHED 0x18  // PCD, PWT
#define CR0_KERNEL 0x80050037 // PG AM WP NE ET EM MP PE. EM: floating point is not supported. CD and NW,
                              // which INIT sets, are off
#define CR4_BOOT 0x20          // PAE; vm_cpu_init sets the rest after it has left the identity map
#define MSR_EFER 0xc0000080

.section .note.pvh, "a", @note
    .align 4
    .long 4, 8, 18 // name size, descriptor size, XEN_ELFNOTE_PHYS32_ENTRY
    .asciz "Xen"
    .quad pvh_start

.section .boot, "ax"
.code32
.globl pvh_start
pvh_start:
    cli
    cld
    movl %ebx, PA(boot_start_info)
    // PML4: entry 256 maps the first 4 GiB, 511 the kernel. The boot table also identity-maps the first 2
    // MiB, where this code runs.
    movl $PA(boot_pdpt) + PTE_RW, PA(boot_pml4)
    movl $PA(boot_pd) + PTE_RW, PA(boot_pdpt)
    movl $PTE_LARGE_RW, PA(boot_pd)
    movl $PA(direct_pdpt) + PTE_RW, PA(boot_pml4) + 256 * 8
    movl $PA(kernel_pdpt) + PTE_RW, PA(boot_pml4) + 511 * 8
    movl $PA(direct_pdpt) + PTE_RW, PA(kernel_pml4) + 256 * 8
    movl $PA(kernel_pdpt) + PTE_RW, PA(kernel_pml4) + 511 * 8
    movl $PA(kernel_pd) + PTE_RW, PA(kernel_pdpt) + 510 * 8
    movl $PA(direct_pdpt), %edi
    movl $PA(direct_pd) + PTE_RW, %eax
    movl $4, %ecx
1:  movl %eax, (%edi)
    addl $PAGE_SIZE, %eax
    addl $8, %edi
    loop 1b
    // 2048 large pages; the last GiB contains the devices and is uncached.
    movl $PA(direct_pd), %edi
    movl $PTE_LARGE_RW, %eax
    movl $2048, %ecx
2:  cmpl $512, %ecx
    jne 3f
    orl $PTE_UNCACHED, %eax
3:  movl %eax, (%edi)
    addl $LARGE_PAGE, %eax
    addl $8, %edi
    loop 2b
    // The kernel: its first 64 MiB, for now with all rights; vm_init restricts them.
    movl $PA(kernel_pd), %edi
    movl $PTE_LARGE_RW, %eax
    movl $32, %ecx
4:  movl %eax, (%edi)
    addl $LARGE_PAGE, %eax
    addl $8, %edi
    loop 4b
    movl $boot_high, %ebp
    // fall through

// Turns on long mode and jumps to the 64-bit code at %ebp. Clobbers everything else.
go_long:
    movl $0x80000001, %eax
    cpuid
    movl %edx, %esi
    movl $CR4_BOOT, %eax
    movl %eax, %cr4
    movl $PA(boot_pml4), %eax
    movl %eax, %cr3
    movl $MSR_EFER, %ecx
    rdmsr
    orl $0x101, %eax // LME, SCE
    btl $20, %esi
    jnc 1f
    orl $0x800, %eax // NXE, if supported
1:  wrmsr
    movl $CR0_KERNEL, %eax
    movl %eax, %cr0
    lgdt boot_gdtr
    ljmp $KERNEL_CODE, $long_mode

.code64
long_mode:
    xorl %eax, %eax
    movl %eax, %ds
    movl %eax, %es
    movl %eax, %fs
    movl %eax, %gs
    movl $KERNEL_DATA, %eax
    movl %eax, %ss
    jmp *%rbp

boot_high:
    movq $boot_stack_end, %rsp
    xorl %ebp, %ebp
    movq $kernel_main, %rax
    call *%rax
    ud2

// A processor finds its stack by its APIC id; the order of arrival is arbitrary.
ap_high:
    movl $0xb, %edi
    xorl %eax, %eax
    cpuid
    cmpl %edi, %eax
    jb 1f
    movl %edi, %eax
    xorl %ecx, %ecx
    cpuid
    testl %ebx, %ebx
    jz 1f
    jmp 2f
1:  movl $1, %eax
    cpuid
    movl %ebx, %edx
    shrl $24, %edx
2:  cmpl $256, %edx
    jae 3f
    movq $ap_stack_of_apic, %rax
    movq (%rax,%rdx,8), %rsp
    testq %rsp, %rsp
    jz 3f
    movl %edx, %edi
    xorl %ebp, %ebp
    movq $ap_main, %rax
    call *%rax
3:  cli // not listed in the tables: halts forever
    hlt
    jmp 3b

.align 8
boot_gdt:
    .quad 0
    .quad 0x00af9b000000ffff // 64-bit code
    .quad 0x00cf93000000ffff // data
    .quad 0x00cf9b000000ffff // 32-bit code, for the trampoline
boot_gdtr:
    .word . - boot_gdt - 1
    .quad boot_gdt

// Copied to TRAMPOLINE. Real mode, cs = TRAMPOLINE / 16.
.globl trampoline, trampoline_end
.code16
trampoline:
    cli
    cld
    xorw %ax, %ax
    movw %ax, %ds
    lgdtl trampoline_gdtr - trampoline + TRAMPOLINE
    movl %cr0, %eax
    orl $1, %eax
    movl %eax, %cr0
    ljmpl $0x18, $trampoline32 - trampoline + TRAMPOLINE
.code32
trampoline32:
    movl $KERNEL_DATA, %eax
    movl %eax, %ds
    movl %eax, %es
    movl %eax, %ss
    movl $ap_high, %ebp
    movl $go_long, %eax
    jmp *%eax
.align 4
trampoline_gdtr:
    .word 31
    .long boot_gdt
trampoline_end:

.section .bss
    .align 4096
.globl kernel_pml4, kernel_pd, direct_pd
boot_pml4:   .skip 4096
boot_pdpt:   .skip 4096
boot_pd:     .skip 4096
kernel_pml4: .skip 4096
kernel_pdpt: .skip 4096
kernel_pd:   .skip 4096
direct_pdpt: .skip 4096
direct_pd:   .skip 4096 * 4
boot_stack:  .skip 4096 * 4
boot_stack_end:
.globl ap_stack_of_apic, boot_start_info
ap_stack_of_apic: .skip 8 * 256 // MAX_APIC_ID
boot_start_info:  .skip 8
.section .note.GNU-stack, "", @progbits
