// The instruction clock at work: the lockstep machine, QEMU's vCPU threads and its main thread.
//
// Level count (INSN_FULL 0): vCPUs are counted and kept in step. Level full (INSN_FULL 1): what QEMU
// asks of libc is answered in instruction time too (libc.c, tsc.c).
#ifndef CLOCK_H
#define CLOCK_H

#include "lockstep.h"

struct clock_options {
    struct lockstep_rules rules;
    uint64_t skip;     // longest step by which a loop that spins on the TSC is taken forward; 0: off
    unsigned patience; // seconds without progress until the machine is declared stuck
};

extern _Thread_local int clock_self; // the vCPU whose thread this is, or -1

void clock_setup(const struct clock_options *options);
bool clock_started(void); // a guest instruction has run

// In a vCPU's own thread.
void clock_adopt(unsigned vcpu);
void clock_limit_reached(unsigned vcpu, void *unused);
uint64_t clock_own(unsigned vcpu); // its time, to the block
uint64_t clock_executed(unsigned vcpu);
uint64_t clock_paused(unsigned vcpu); // what its pauses count for
uint64_t clock_skipped(unsigned vcpu);
uint64_t clock_halted(unsigned vcpu, uint64_t now); // with the halt that it is in, up to `now`
void clock_window(unsigned vcpu, bool open);        // by the vCPU that executes the mark
void clock_stop_soon(void);                         // this vCPU stands still at its next block

// The time that this thread may see. It never goes back, on any vCPU.
uint64_t clock_seen(void);
// A read of the TSC by this vCPU: as clock_seen, and it notices loops that spin on it.
uint64_t clock_spin_read(void);

// Level count: QEMU tells of halts afterwards and cannot be made to wait.
void clock_idle(unsigned vcpu);
void clock_resume(unsigned vcpu);

// Level full. A vCPU's thread waits for `condition`: in two steps, so that the caller can give its mutex
// back between them. The second returns when it was woken and its turn has come.
void clock_wait_begin(void *condition);
void clock_wait_end(void);
// `condition` was signalled, by a vCPU or the main thread or by a thread of QEMU's own. True if a vCPU was
// woken by it.
bool clock_signal(void *condition, bool by_machine);
uint64_t clock_own_waits(void); // how often this vCPU's thread has waited
void clock_asleep(bool asleep); // between QEMU's idle and resume callbacks
void clock_notify(void);        // this vCPU gave the main loop work
int clock_wakeup_fd(void);      // readable when the main loop is to look again
// The main loop has found nothing to do until `deadline`, as of notification `seq`. False: look again.
bool clock_main_idle(uint64_t deadline, uint64_t seq);
uint64_t clock_notifications(void);
bool clock_main_may_work(void); // polled after each wake-up; true once the machine let it go on
void clock_main_wants(void);    // something outside the guest gave the main loop work
void clock_main_blocks(bool blocks);
void clock_main_works(void);
void clock_watch(void); // called about once a second by whoever waits: ends QEMU if nothing moves

void clock_report(void); // totals, at exit

// Self-check counters, each the number of times a hook was really used.
struct clock_checks {
    _Atomic uint64_t main_clock, vcpu_clock, main_polls, halts, waits, signals, notes, tsc_traps, creeps,
        pendings, errands;
};
extern struct clock_checks clock_checks;

#endif
