// Who may run, and until when: the pure heart of the instruction clock.
//
// Takes events (a vCPU reached its limit, halted, was woken; the main loop sleeps, has work) and gives
// grants. It owns no thread, no lock and no clock, so that it can be tested against a model. Time is in
// instructions, which are nanoseconds of the guest.
//
// Rules. A vCPU runs only up to its limit. Nobody runs more than a quantum ahead of the slowest active
// vCPU, nor past the main loop's next timer. The main loop works only while every vCPU stands still, and
// vCPUs run only while it sleeps. When all vCPUs are halted, time jumps to the next timer. In serial mode
// one vCPU runs at a time, always the one whose time is lowest. While a vCPU spins, waiting for another's
// memory, the quantum is the fine one: what it waits for it then sees at nearly the right time. It grows to a
// thousandth of the time for which all who spin have done nothing else. After a vCPU has waited for another,
// or woken or interrupted it, the quantum is no longer than a LOCKSTEP_AFTERMATH-th of the time since: who
// did so once soon does it again, and what it then waits for must not be a whole quantum away. The quantum
// itself grows, to LOCKSTEP_CALM of its lengths at most, to a thousandth of the time since vCPUs last had to
// do with each other. Outside the timed window both are `rush` times as long, and the quantum neither grows
// nor has an aftermath; with a rush of 1 all of a run counts as the window.
#ifndef LOCKSTEP_H
#define LOCKSTEP_H

#include <stdbool.h>
#include <stdint.h>

#define LOCKSTEP_MAX 256
#define LOCKSTEP_NEVER UINT64_MAX
#define LOCKSTEP_CALM 8
#define LOCKSTEP_AFTERMATH 20

enum lockstep_state {
    LOCKSTEP_ABSENT, // its thread has not been seen yet; nobody runs before it has
    LOCKSTEP_RUN,    // between a grant and the next event
    LOCKSTEP_READY,  // stands still and wants to go on
    LOCKSTEP_HALT,   // stands still until it is woken
};

enum lockstep_main {
    LOCKSTEP_MAIN_NONE,  // there is none to wait for (level count), or it waits for vCPUs itself
    LOCKSTEP_MAIN_BUSY,  // works; vCPUs stand still
    LOCKSTEP_MAIN_WANTS, // has work; waits until all vCPUs stand still
    LOCKSTEP_MAIN_IDLE,  // sleeps until `deadline`
};

// Whether a vCPU waits politely, by pausing, for another's memory.
enum lockstep_spin { LOCKSTEP_WORKS, LOCKSTEP_PAUSES, LOCKSTEP_ONLY_PAUSES };

struct lockstep_vcpu {
    enum lockstep_state state;
    uint64_t time;            // as of the last event; never goes back
    uint64_t until;           // the limit of the last grant
    uint64_t halted;          // time spent halted, in all
    uint64_t waits_since;     // when it began to do nothing but pause
    enum lockstep_spin spins; // in its last stretch
};

struct lockstep_rules {
    unsigned count;
    bool serial;
    uint64_t quantum, fine, rush;
    uint64_t seed;
    bool aftermath; // not at level count, where keeping vCPUs close takes host time, which its guest sees
};

struct lockstep {
    unsigned count;
    struct lockstep_rules rules;
    bool window;       // the timed window is open
    uint64_t now;      // the machine's time: that of the slowest active vCPU; never goes back
    uint64_t deadline; // the main loop's next timer, while it is idle
    uint64_t met;      // when vCPUs last had to do with each other
    uint64_t waited;   // when one last waited for another, woke or interrupted it; 0: not yet
    uint64_t longest;  // of the quanta that were in force where time is measured
    enum lockstep_main main;
    uint64_t grants, jumps, main_turns;
    struct lockstep_vcpu vcpu[LOCKSTEP_MAX];
};

// What one step of the machine gave out.
struct lockstep_grants {
    bool main; // the main loop may work now
    unsigned count;
    unsigned vcpu[LOCKSTEP_MAX];
};

void lockstep_init(struct lockstep *m, const struct lockstep_rules *rules);
// A vCPU's thread exists: it counts as running, with nothing granted.
void lockstep_appear(struct lockstep *m, unsigned c);
// It reached its limit (or passed it by less than a block) at its own time `time`.
void lockstep_arrive(struct lockstep *m, unsigned c, uint64_t time, enum lockstep_spin spins);
void lockstep_halt(struct lockstep *m, unsigned c, uint64_t time);
// Somebody woke it at `time`. False if there was nothing to wake.
bool lockstep_wake(struct lockstep *m, unsigned c, uint64_t time);
// It woke by itself and cannot be made to wait (level count): it runs on as if granted.
void lockstep_resume(struct lockstep *m, unsigned c);

// A vCPU had to do with others at `time`, in a way that halts and wakes nobody: it measures time, which is
// one for all.
void lockstep_meet(struct lockstep *m, uint64_t time);
// It waited for another, or woke or interrupted it and may wait for the answer.
void lockstep_waited(struct lockstep *m, uint64_t time);

// The timed window opens or closes.
void lockstep_window(struct lockstep *m, bool open);

void lockstep_main_wants(struct lockstep *m);
void lockstep_main_idle(struct lockstep *m, uint64_t deadline);
// It waits for the vCPUs themselves (QEMU pauses the machine), so they must be able to run.
void lockstep_main_blocks(struct lockstep *m);
void lockstep_main_works(struct lockstep *m);

// Gives out all that may be given out now.
void lockstep_step(struct lockstep *m, struct lockstep_grants *out);
// No vCPU runs.
bool lockstep_still(const struct lockstep *m);

#endif
