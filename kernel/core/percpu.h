// Per-CPU data. A field is written by its own CPU only, except the shared ones at the end, which have cache
// lines of their own. this_cpu() is valid once percpu_install has run on that CPU.
#ifndef CORE_PERCPU_H
#define CORE_PERCPU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "core/lock.h"
#include "measure/counters.h"

struct thread;
struct address_space;

struct tss {
    uint32_t reserved0;
    uint64_t stack[3];
    uint64_t reserved1;
    uint64_t ist[7];
    uint64_t reserved2;
    uint16_t reserved3, io_map;
} __attribute__((packed));

struct cpu {
    // trap.S knows the first three by their offsets 0, 8 and 16.
    struct cpu *self;
    uint64_t kernel_stack; // top, for syscall entry
    uint64_t user_stack;   // scratch of syscall entry
    unsigned index;
    struct thread *current;
    struct thread *idle;
    struct thread *before; // the thread that the switch under way leaves
    bool requeue;          // whether that thread goes back into a queue
    struct {
        _Atomic uint32_t version; // odd while being written; changes with measure=1 only
        bool idle;                // the time since `until` belongs to the idle thread
        uint64_t until;           // the counters include the time up to this
    } books;
    struct address_space *space; // the one in CR3; an idle CPU keeps the last one
    uint64_t slice_end;          // 0: the timer serves sleepers only
    uint64_t timer_at;           // when the timer expires, 0: off
    uint32_t lock_held;          // debug: bitmap of lock classes
    uint64_t lock_since[LOCK_CLASSES]; // measure: when it was taken
    bool reschedule;             // look for another thread before the return to user mode
    void *pages;                 // cached free pages, linked through their first word
    unsigned page_count;
    struct thread *threads; // unused slots that this CPU keeps (core/process.c)
    unsigned thread_count;

    _Alignas(128) struct counters count;

    // Shared: written or polled by other CPUs.
    _Alignas(128) _Atomic uint64_t tlb_asked; // see arch/tlb.h
    _Alignas(128) _Atomic uint64_t tlb_done;
    // Written at boot only: a CPU that sends an interrupt here must not take a line that this one writes.
    _Alignas(128) _Atomic bool online;
    uint32_t apic_id;
    // Others write to a place while this CPU waits in it; one for each class of locks.
    _Alignas(128) struct lock_place lock_place[LOCK_CLASSES];

    _Alignas(128) struct tss tss;
    uint64_t gdt[8];
    _Alignas(16) uint8_t fault_stack[3][4096]; // double fault, NMI, machine check
};

extern struct cpu cpus[MAX_CPUS];
extern unsigned cpu_count; // found and started; fixed before the first thread runs
extern int cpu_of_apic[MAX_APIC_ID];

#if __STDC_HOSTED__
struct cpu *this_cpu(void); // host/ defines its own
#else
static inline struct cpu *this_cpu(void) {
    struct cpu *cpu;
    __asm__ volatile("movq %%gs:0, %0" : "=r"(cpu));
    return cpu;
}
#endif

// Sets up the GDT, TSS, GS and the syscall registers of this processor.
void percpu_install(unsigned index);

#endif
