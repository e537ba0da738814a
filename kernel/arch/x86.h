// Instructions that C cannot express. Has no state; may be called in any context.
#ifndef ARCH_X86_H
#define ARCH_X86_H

#include <stdint.h>

#define MSR_APIC_BASE 0x1b
#define MSR_PAT 0x277
#define MSR_EFER 0xc0000080
#define MSR_STAR 0xc0000081
#define MSR_LSTAR 0xc0000082
#define MSR_SFMASK 0xc0000084
#define MSR_GS_BASE 0xc0000101
#define MSR_KERNEL_GS_BASE 0xc0000102

#define EFER_NXE 0x800ul
#define CR4_SMEP (1ul << 20)
#define CR4_SMAP (1ul << 21)
#define FLAG_IF 0x200ul

struct cpuid {
    uint32_t a, b, c, d;
};

static inline struct cpuid cpuid(uint32_t leaf, uint32_t sub) {
    struct cpuid r;
    __asm__ volatile("cpuid" : "=a"(r.a), "=b"(r.b), "=c"(r.c), "=d"(r.d) : "a"(leaf), "c"(sub));
    return r;
}

static inline void outb(uint16_t port, uint8_t v) {
    __asm__ volatile("outb %0, %1" ::"a"(v), "Nd"(port));
}
static inline void outl(uint16_t port, uint32_t v) {
    __asm__ volatile("outl %0, %1" ::"a"(v), "Nd"(port));
}
static inline uint8_t inb(uint16_t port) {
    uint8_t v;
    __asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
    return v;
}

static inline uint64_t rdmsr(uint32_t msr) {
    uint32_t lo, hi;
    __asm__ volatile("rdmsr" : "=a"(lo), "=d"(hi) : "c"(msr));
    return (uint64_t)hi << 32 | lo;
}
static inline void wrmsr(uint32_t msr, uint64_t v) {
    __asm__ volatile("wrmsr" ::"c"(msr), "a"((uint32_t)v), "d"((uint32_t)(v >> 32)) : "memory");
}

static inline uint64_t read_cr2(void) {
    uint64_t v;
    __asm__ volatile("mov %%cr2, %0" : "=r"(v));
    return v;
}
static inline uint64_t read_cr3(void) {
    uint64_t v;
    __asm__ volatile("mov %%cr3, %0" : "=r"(v));
    return v;
}
static inline void write_cr3(uint64_t v) {
    __asm__ volatile("mov %0, %%cr3" ::"r"(v) : "memory");
}
static inline uint64_t read_cr4(void) {
    uint64_t v;
    __asm__ volatile("mov %%cr4, %0" : "=r"(v));
    return v;
}
static inline void write_cr4(uint64_t v) {
    __asm__ volatile("mov %0, %%cr4" ::"r"(v) : "memory");
}
static inline void invlpg(uint64_t at) {
    __asm__ volatile("invlpg (%0)" ::"r"(at) : "memory");
}

// Later loads and rdtsc do not start before every earlier instruction is complete (SDM vol. 2, LFENCE).
static inline void fence_loads(void) {
    __asm__ volatile("lfence" ::: "memory");
}

static inline void pause(void) {
    __asm__ volatile("pause" ::: "memory");
}
static inline void irq_off(void) {
    __asm__ volatile("cli" ::: "memory");
}
static inline uint64_t read_flags(void) {
    uint64_t v;
    __asm__ volatile("pushfq; popq %0" : "=r"(v)::"memory");
    return v;
}
// sti takes effect after the next instruction, so no interrupt can arrive between sti and hlt.
static inline void irq_on_and_halt(void) {
    __asm__ volatile("sti; hlt; cli" ::: "memory");
}
// Takes the interrupts that are pending.
static inline void irq_on_for_a_moment(void) {
    __asm__ volatile("sti; nop; cli" ::: "memory");
}
_Noreturn static inline void halt_for_ever(void) {
    for (;;)
        __asm__ volatile("cli; hlt" ::: "memory");
}

#endif
