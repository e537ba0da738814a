// What the files of the clock share: the machine, its lock, and each vCPU's own side. Nobody else includes
// it.
#ifndef CLOCK_STATE_H
#define CLOCK_STATE_H

#include "clock.h"
#include "counter.h"

enum clock_errand { ERRAND_NONE, ERRAND_DUE, ERRAND_OFF };

struct clock_vcpu {
    _Alignas(128) uint64_t time, base; // time as of counter value `base`
    uint64_t paused, waited;           // as of the last stop
    uint64_t counted, skipped, waits;  // counted: instructions and what pauses count for
    uint64_t last_tsc, spins_since;    // of a loop that spins on the TSC
    uint64_t timed, skip, tsc_reads;
    unsigned spins, in_a_row; // stretches in which it read the TSC
    _Atomic uint32_t go;      // changes with each grant
    void *waiting;            // the condition that its thread waits for
    void *halt;               // the condition that it was last seen to sleep on
    bool asleep;              // between QEMU's idle and resume callbacks
    bool pending;             // woken after it had looked and before it slept
    enum clock_errand errand;
};

// The lock guards `machine`, `started`, notifications and, of a vCPU, what others may touch: waiting, halt,
// asleep, pending, errand. The rest of a vCPU belongs to its thread.
extern struct clock_vcpu vcpus[LOCKSTEP_MAX];
extern struct lockstep machine;
extern struct clock_options options;
extern bool started;

void lock(void);
void unlock(void);
// With the lock held: gives out what the machine grants.
void hand_out(void);
// With the lock held, in a vCPU's thread: until it is granted, or sent on an errand.
void await_grant(unsigned vcpu);
// With the lock held. QEMU has a job for a halted vCPU; whether such jobs keep all others waiting now (those
// that may begin do); whether this one is off, halted for the machine all the while.
void errand_wanted(unsigned vcpu);
bool errands_hold(void);
bool on_errand(unsigned vcpu);
void let_go(unsigned vcpu);                   // its thread is woken when the lock is given back
bool wait_for_let_go(unsigned vcpu, long ns); // with the lock held, gives it back meanwhile; true: timeout
void ping_main(void);

// Of the vCPU's own time, only in its own thread.
void fold(unsigned vcpu);
void set_budget(unsigned vcpu, uint64_t budget);
void take_grant(unsigned vcpu);

#endif
