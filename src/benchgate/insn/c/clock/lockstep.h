// Decides which vCPU may run, and until when: the pure core of the instruction clock.
//
// Takes events (a vCPU reached its limit, halted, was woken; the main loop sleeps, has work) and gives
// grants. It owns no thread, no lock and no clock, so it can be tested against a model. Time is in
// instructions; one instruction is one nanosecond of the guest. A vCPU is active while it is running or
// ready.
//
// Rules
// - A vCPU runs only up to its limit. No vCPU runs more than a quantum ahead of the slowest active one, and
//   none runs past the main loop's next timer.
// - The main loop works only while every vCPU is stopped, and vCPUs run only while it sleeps.
// - When all vCPUs are halted, time jumps to the next timer.
// - One vCPU runs at a time, always the one with the lowest time.
// - While a vCPU spins on memory that another will write, the fine quantum applies, so that it sees the
//   store at nearly the right time. The fine quantum grows to a thousandth of the time for which all
//   spinning vCPUs have done nothing else.
// - Calm: the quantum grows to a thousandth of the time since vCPUs last interacted, but at most to
//   LOCKSTEP_CALM times its length.
// - Aftermath: after a vCPU has waited for another, woken it or interrupted it, the quantum is no longer
//   than the time since then divided by LOCKSTEP_AFTERMATH, and never shorter than the fine quantum. Such a
//   vCPU is likely to do the same again soon, and the event that it then waits for must not be a whole
//   quantum away.
// - Order: an access to memory came late for another vCPU that looks at it again and again, so that it was its
//   last use of memory before it stopped. It waits there, by no loop that spin.h knows. From then on the quantum
//   is no longer than the time since divided by LOCKSTEP_ORDER, and never shorter than LOCKSTEP_CLOSE.
// - Contention: accesses to one line are late again and again. The vCPUs use it in turn, and who runs ahead finds
//   the line as if nobody else wanted it. As long as the line moves between them, and for LOCKSTEP_CONTENTION
//   more, the quantum is LOCKSTEP_CLOSE, which is shorter than any transfer of a line.
// - Strict: within the window a vCPU runs only up to the time of the second slowest, so for one block at least.
// - Outside the timed window both quanta are `rush` times as long, and the quantum neither grows nor has an
//   aftermath. After a window has closed they become so long slowly: no longer than the time since then divided
//   by LOCKSTEP_AFTERMATH, because the guest first reads its clock, which all vCPUs share, and a vCPU that is ahead
//   has read it already. With a rush of 1 the whole run counts as the window.
#ifndef LOCKSTEP_H
#define LOCKSTEP_H

#include <stdbool.h>
#include <stdint.h>

#define LOCKSTEP_MAX 256
#define LOCKSTEP_NEVER UINT64_MAX
#define LOCKSTEP_CALM 8
#define LOCKSTEP_AFTERMATH 20
#define LOCKSTEP_ORDER 250
#define LOCKSTEP_CLOSE 10
#define LOCKSTEP_CONTENTION 1000
#define LOCKSTEP_LOOK 32 // ns: a loop that waits looks at least so often

enum lockstep_state {
    LOCKSTEP_ABSENT, // its thread has not started yet; until it has, no vCPU runs
    LOCKSTEP_RUN,    // between a grant and the next event
    LOCKSTEP_READY,  // stopped; waits for a grant
    LOCKSTEP_HALT,   // stopped until it is woken
};

enum lockstep_main {
    LOCKSTEP_MAIN_NONE,  // not tracked yet, or it waits for the vCPUs itself
    LOCKSTEP_MAIN_BUSY,  // works; all vCPUs are stopped
    LOCKSTEP_MAIN_WANTS, // has work; waits until all vCPUs are stopped
    LOCKSTEP_MAIN_IDLE,  // sleeps until `deadline`
};

// How much of its last turn a vCPU spent in loops that only wait for memory (`pause`, or see spin.h).
enum lockstep_spin { LOCKSTEP_WORKS, LOCKSTEP_PAUSES, LOCKSTEP_ONLY_PAUSES };

struct lockstep_vcpu {
    enum lockstep_state state;
    uint64_t time;            // as of the last event; never goes back
    uint64_t until;           // the limit of the last grant
    uint64_t halted;          // time spent halted, in all
    uint64_t waits_since;     // when it began to do nothing but spin
    uint64_t step;            // the quantum of its last grant; 0 if no other vCPU was active
    enum lockstep_spin spins; // in its last turn
    uint64_t stall;           // by so much its time advanced for nothing since its last turn (lockstep_stall)
};

struct lockstep_rules {
    unsigned count;
    uint64_t quantum, fine, rush;
    uint64_t seed;
    bool strict; // no quantum at all within the window
};

struct lockstep {
    unsigned count;
    struct lockstep_rules rules;
    bool window;       // the timed window is open
    uint64_t now;      // the machine's time: that of the slowest active vCPU; never goes back
    uint64_t deadline; // the main loop's next timer, while it is idle
    uint64_t met;      // when vCPUs last interacted
    uint64_t waited;   // when a vCPU last waited for another, woke it or interrupted it; 0: not yet
    uint64_t disordered; // when an access to memory was last late; 0: not yet
    uint64_t closed;     // when the window last closed; 0: not yet
    uint64_t contended;  // when that was once more an access to a line of which it was before; 0: not yet
    uint64_t longest;  // the longest quantum that applied within the window between active vCPUs
    // Hand-overs within the window, each seen by its vCPU at most the step of its turn too late. `late` is the
    // length of all these delays together; those of different vCPUs at one time count once, because no chain
    // of events contains two delays that overlap. Until `late_until` delays have been counted.
    uint64_t handovers, late, late_until;
    enum lockstep_main main;
    uint64_t grants, jumps, main_turns;
    struct lockstep_vcpu vcpu[LOCKSTEP_MAX];
};

// The grants of one step.
struct lockstep_grants {
    bool main; // the main loop may work now
    unsigned count;
    unsigned vcpu[LOCKSTEP_MAX];
};

// `now`: the time at which the machine begins.
void lockstep_init(struct lockstep *m, const struct lockstep_rules *rules, uint64_t now);
// A vCPU's thread has started. The vCPU counts as running, with an empty grant.
void lockstep_appear(struct lockstep *m, unsigned c);
// Of a machine that has not begun: all chance comes from another seed, and it begins so much later (modulo 2^64).
void lockstep_restart(struct lockstep *m, uint64_t seed, uint64_t moved);
// The vCPU reached its limit, or passed it by less than a block, at its own time `time`.
void lockstep_arrive(struct lockstep *m, unsigned c, uint64_t time, enum lockstep_spin spins);
void lockstep_halt(struct lockstep *m, unsigned c, uint64_t time);
// The vCPU was woken at `time`. False if it was not halted.
bool lockstep_wake(struct lockstep *m, unsigned c, uint64_t time);

// A vCPU interacted with the others at `time` without a halt or a wake-up: it measures time, and all vCPUs
// share one clock.
void lockstep_meet(struct lockstep *m, uint64_t time);
// A vCPU waited for another, or woke or interrupted it and may now wait for the answer.
void lockstep_waited(struct lockstep *m, uint64_t time);
// vCPU `c` sees at `time`, in its turn, what another did.
void lockstep_hand_over(struct lockstep *m, unsigned c, uint64_t time);
// By how much `late` can still grow for what vCPUs have seen up to `time`: that counts when their turns end.
uint64_t lockstep_pending(const struct lockstep *m, uint64_t time);

// Vcpu `c`, which runs, accessed memory at `time`. That should have come before an access of another vCPU, at a
// time that is later by `late`. True if the turn must end now.
bool lockstep_disorder(struct lockstep *m, unsigned c, uint64_t time, uint64_t late);
// The vCPU that runs contends with others for a line of memory, at `time`. True if its turn must end now.
bool lockstep_contend(struct lockstep *m, uint64_t time);
// The time of vCPU `c`, which is stopped and not halted, advances: it waits for something that is not a vCPU.
void lockstep_delay(struct lockstep *m, unsigned c, uint64_t span);
// The same, for a vCPU that has just stopped and waits for nothing at all: it stalls, and the others go on. Timers
// stay on time, even while every vCPU stalls.
void lockstep_stall(struct lockstep *m, unsigned c, uint64_t span);

// The timed window opens or closes.
void lockstep_window(struct lockstep *m, bool open);

void lockstep_main_wants(struct lockstep *m);
void lockstep_main_idle(struct lockstep *m, uint64_t deadline);
// The main loop waits for the vCPUs themselves (QEMU pauses the machine), so they must be able to run.
void lockstep_main_blocks(struct lockstep *m);
void lockstep_main_works(struct lockstep *m);

// Gives every grant that the rules allow now.
void lockstep_step(struct lockstep *m, struct lockstep_grants *out);
// The quanta are not lengthened: within the window, or everywhere with a rush of 1.
bool lockstep_is_exact(const struct lockstep *m);
// True if no vCPU runs and all have started.
bool lockstep_still(const struct lockstep *m);

#endif
