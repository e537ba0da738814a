// Shared by the clock_*.c files only. Each section declares what one file provides; a file calls only its own
// section and those above it.
#ifndef CLOCK_STATE_H
#define CLOCK_STATE_H

#include "clock.h"
#include "counter.h"

// ---- clock_state.c: the state, its lock, and how threads release each other

// An errand is a job that QEMU itself gives a halted vCPU's thread (clock_errands.c).
enum clock_errand { CLOCK_ERRAND_NONE, CLOCK_ERRAND_DUE, CLOCK_ERRAND_ACTIVE };

struct clock_vcpu {
    _Alignas(128) uint64_t time, base; // time as of counter value `base`
    uint64_t charged;                // waits for memory as of `base`
    uint64_t owed;                   // counted but not executed; the next fold takes it back
    uint64_t capacity, part;         // part: how much of the next ns has passed, in parts of 1 / capacity
    uint64_t slowed, was_slowed;     // what instructions took beyond 1 ns each; was: when its turn began
    uint64_t paused, waited, calls, stalled; // counters as of the last stop
    uint64_t called, close_calls; // end of the last turn with a system call; calls in a row, close together
    uint64_t counted, skipped, waits;  // counted: instructions, and those charged for `pause`
    uint64_t last_read, spins_since;    // last read of the clock; begin of the wait that polls it
    uint64_t timed, skip, clock_reads; // skip: the last step skipped; the others: counters as of the last look
    unsigned spins, in_a_row;        // close reads of the clock; successive turns in which it read the clock
    void *waiting;                   // the condition that its thread waits for
    void *halt;                      // the condition on which it halted last
    uint64_t interrupted;            // time that interrupts of other vCPUs took
    uint64_t delayed;                // time for which an exploration stalled it
    bool was_interrupted;            // since its last turn
    bool asleep;                     // between QEMU's idle and resume callbacks
    bool pending;                    // woken after QEMU's last check for work, before the thread slept
    enum clock_errand errand;
};

// The lock guards `clock_machine`, `clock_guest_started`, `clock_main_asked`, the notification count and these
// fields of a vCPU: waiting, halt, asleep, pending, errand. Its other fields belong to its thread.
extern struct clock_vcpu clock_vcpus[LOCKSTEP_MAX];
extern struct lockstep clock_machine;
extern struct clock_options clock_options;
extern bool clock_guest_started;
extern bool clock_main_asked; // the main thread waits for an answer of the host

void clock_lock(void);
void clock_unlock(void); // also wakes the threads that were released since clock_lock
void clock_release(unsigned vcpu);
void clock_wake_main(void);
bool clock_is_halted(void); // every vCPU; call with the lock held
void clock_guest_begins(void); // with the lock held
// To the record of threads, with the lock held: whether it is halted now; that it was, since this time.
void clock_tell_halt(unsigned vcpu);
void clock_tell_wake(unsigned vcpu, uint64_t since);

// ---- clock_vcpu.c

void clock_forget_turn(unsigned vcpu); // call with the lock held, while it is halted

// ---- clock_time.c: a vCPU's own time; call only in its own thread, except for clock_end_halt

void clock_fold(unsigned vcpu);                        // adds what it executed to its time
void clock_set_budget(unsigned vcpu, uint64_t budget); // ns until it reaches its limit
void clock_take_grant(unsigned vcpu);
void clock_tell_turn(unsigned vcpu);                         // it stops, and its time is folded
bool clock_end_halt(unsigned vcpu, uint64_t time, int waker); // false if it was not halted
void clock_interrupt(unsigned vcpu); // another vCPU interrupts it: charges it for that, once in a turn
void clock_stall(unsigned vcpu, uint64_t span); // it has stopped, and stays so for a while

// ---- clock_errands.c; call with the lock held

void clock_errand_request(unsigned vcpu); // QEMU has a job for a halted vCPU, or for one that is about to halt
bool clock_errands_block_grants(void);    // starts the errands whose turn it is
void clock_errands_start(void);           // the machine has nothing to grant
bool clock_errand_active(unsigned vcpu);  // its thread runs a job; the machine still counts it as halted

// ---- clock_watch.c: clock_watch_begin and clock_report

void clock_beat(void); // call with the lock held; logs the guest's time now and then

// ---- clock_moment.c; call with the lock held

bool clock_holds(void); // the machine stands still at a moment that was asked for: nothing is granted

// ---- clock_grants.c; call with the lock held

void clock_give_grants(void);
void clock_await_grant(unsigned vcpu); // in the vCPU's thread; returns for a grant or an errand

#endif
