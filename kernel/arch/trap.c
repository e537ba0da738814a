// The C entry of interrupts and exceptions. An exception in user mode kills the process; an exception in the
// kernel is a panic.
#include "arch/trap.h"

#include "arch/lapic.h"
#include "arch/tlb.h"
#include "arch/x86.h"
#include "core/print.h"
#include "core/process.h"
#include "core/thread.h"
#include "core/timer.h"
#include "measure/measure.h"

#define PAGE_FAULT 14
#define NMI 2
#define FAULT_ON_PRESENT 1 // error code: the page was present

static const char *const names[32] = {
    "divide",   "debug",     "nmi",      "breakpoint", "overflow",   "bound",      "opcode",   "no-fpu",
    "double",   "reserved",  "tss",      "segment",    "stack",      "protection", "page",     "reserved",
    "x87",      "alignment", "machine",  "simd",       "virtual",    "control",    "reserved", "reserved",
    "reserved", "reserved",  "reserved", "reserved",   "hypervisor", "vmm",        "security", "reserved",
};

static void user_exception(struct frame *frame) {
    uint64_t address = frame->vector == PAGE_FAULT ? read_cr2() : 0;
    if (frame->vector == PAGE_FAULT && !(frame->error & FAULT_ON_PRESENT) &&
        vm_fault(&current()->process->space, address)) {
        this_cpu()->count.page_faults++;
        return;
    }
    process_kill(frame->vector, address, frame->ip, names[frame->vector]);
}

static void interrupt(struct frame *frame) {
    struct cpu *cpu = this_cpu();
    switch (frame->vector) {
    case VECTOR_TIMER:
        lapic_end();
        if (frame->cs & 3)
            measure_sample(frame->ip);
        timer_interrupt();
        break;
    case VECTOR_RESCHEDULE:
        lapic_end();
        cpu->count.resched_taken++;
        thread_poked();
        break;
    case VECTOR_TLB:
        lapic_end();
        tlb_serve();
        break;
    default: // spurious: no end of interrupt
        break;
    }
}

void trap(struct frame *frame) {
    bool user = frame->cs & 3;
    if (frame->vector < 32 && !user)
        panic("why=exception vector=%lu name=%s error=%lx ip=%lx address=%lx", frame->vector,
              names[frame->vector], frame->error, frame->ip, frame->vector == PAGE_FAULT ? read_cr2() : 0);
    if (frame->vector < 32)
        user_exception(frame);
    else
        interrupt(frame);
    if (user) { // in the kernel, the idle loop and thread_breathe look for work themselves
        thread_reschedule();
        process_check_asked();
    }
}

void fatal_interrupt(const struct frame *frame) {
    if (frame->vector == NMI)
        halt_for_ever(); // another CPU has panicked
    panic("why=%s error=%lx ip=%lx", names[frame->vector], frame->error, frame->ip);
}
