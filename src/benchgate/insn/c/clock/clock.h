// Applies the lockstep machine's decisions to QEMU's vCPU threads and its main thread.
//
// It counts instructions, keeps the vCPUs in step, and answers QEMU's calls to libc in instruction time (libc.c,
// tsc.c).
#ifndef CLOCK_H
#define CLOCK_H

#include "lockstep.h"

#include <stddef.h>

// Where a guest begins: 0 for one that boots. One that was restored from a snapshot goes on at the time at which
// the snapshot was taken, when its console had so many bytes.
struct clock_moment {
    uint64_t time, bytes;
};

#define CLOCK_FULL 1024 // the capacity of a CPU on which an instruction takes 1 ns; as in Linux

struct clock_options {
    struct lockstep_rules rules;
    unsigned capacity[LOCKSTEP_MAX]; // of each vCPU: an instruction takes CLOCK_FULL / capacity ns; all 0: 1 ns
    struct clock_moment start;
    uint64_t skip;     // longest time skipped at once in a loop that polls the TSC; 0: off
    unsigned patience; // seconds without progress after which the machine counts as stuck
};

extern _Thread_local int clock_self; // the vCPU that this thread runs, or -1

const char *clock_carries(const char *way); // how the vCPUs are run, as carrier_setup; before clock_setup
void clock_setup(const struct clock_options *options);
bool clock_started(void); // the guest has executed an instruction, or a restored one is complete
void clock_pause(void);   // every vCPU is halted; the host takes a snapshot
// The machine has not begun: all chance comes from another seed, and a guest is restored that begins at another moment.
// Gives the reason why it cannot.
const char *clock_restart(uint64_t seed, struct clock_moment start);
// From the first moment at or after `at` at which all stand still, these rules apply; 0: as before.
struct clock_turn {
    uint64_t at, seed, quantum, fine, rush;
};
bool clock_turn_read(const char *text, struct clock_turn *turn); // `AT:SEED:QUANTUM:FINE:RUSH`
void clock_turn_at(const struct clock_turn *turn);               // while the machine stands still
// The machine stops at the first such moment, and stands until clock_go_on. Nobody in the guest can tell.
void clock_hold_at(uint64_t time);
bool clock_held(void);
void clock_go_on(void);
// Of a machine that is held: its time, and the latest time of a vCPU.
struct clock_moments {
    uint64_t now, latest;
};
struct clock_moments clock_moments(void);
void clock_begin(void);   // the host has taken it, or has restored the guest from one; all have come back, they run

// Called in the vCPU's own thread.
void clock_adopt(unsigned vcpu);
void clock_limit_reached(unsigned vcpu, void *unused);
uint64_t clock_own(unsigned vcpu); // the vCPU's time; the current block counts as a whole
uint64_t clock_before(unsigned vcpu, uint64_t left); // the same without the last `left` instructions of the block
uint64_t clock_executed(unsigned vcpu);
uint64_t clock_paused(unsigned vcpu); // time charged for `pause`
uint64_t clock_idled(unsigned vcpu);  // instructions of loops that only wait
uint64_t clock_skipped(unsigned vcpu);
// Time in which it waited for memory, or was interrupted, and what its instructions took beyond 1 ns each.
uint64_t clock_stalled(unsigned vcpu);
bool clock_has_capacities(void);
bool clock_is_slow(unsigned vcpu); // an instruction takes more than 1 ns there
uint64_t clock_delayed(unsigned vcpu); // time for which an exploration stalled it

// At an access to memory, the time of a vCPU that is not slow is its counter plus this. The current block counts as
// a whole.
extern uint64_t clock_ahead[LOCKSTEP_MAX];
// What a wait of `stall` ns adds to the vCPU's counter, before it is added to counter_stalled.
uint64_t clock_units(unsigned vcpu, uint64_t stall);
// This vCPU's access at `time` was late by so much (lockstep_disorder), or to a line that vCPUs contend for
// (lockstep_contend). True if its turn must end now.
bool clock_disordered(uint64_t time, uint64_t late);
bool clock_contended(uint64_t time);
// Its turn ends in the middle of a block, of which `left` instructions have not been executed yet. Returns for its
// next turn, which comes `stall` ns later than it would (delays.h).
void clock_stop_here(unsigned vcpu, size_t left, uint64_t stall);
// Tells of each vCPU if it is not halted, and if it did more in its last turn than wait for memory.
struct clock_look {
    bool active[LOCKSTEP_MAX], works[LOCKSTEP_MAX];
};
void clock_look(struct clock_look *out);
// The vCPU did not execute the last `count` instructions that were counted.
void clock_take_back(unsigned vcpu, uint64_t count);
uint64_t clock_here(void); // the calling thread's time; unlike clock_seen this changes nothing

// The work of a vCPU so far: `ran` is the time in which it was not halted, `worked` counts the instructions
// outside loops that only wait, `stalled` is the time in which it waited for memory.
struct clock_work {
    uint64_t ran, worked, stalled;
};
struct clock_work clock_work(unsigned vcpu);
// The delays with which vCPUs saw each other's actions, up to `time` (lockstep.h).
struct clock_delays {
    uint64_t handovers, late, pending;
};
struct clock_delays clock_delays(uint64_t time);

uint64_t clock_halted(unsigned vcpu, uint64_t now); // includes a halt that still lasts, up to `now`
void clock_window(unsigned vcpu, bool open);        // called on the vCPU that executed the mark
void clock_level(unsigned vcpu);                    // the same, before the mark that opens the window is timed
void clock_stop_soon(void);                         // stops this vCPU at its next block

// The time to show to this thread. It never goes back on any vCPU.
uint64_t clock_seen(void);
uint64_t clock_last_shown(void); // the latest time that was shown to any thread
// The time for a guest's read of the TSC. Detects loops that poll the TSC and skips part of their wait.
uint64_t clock_spin_read(void);

// A vCPU's thread waits for `condition` in two steps, so that the caller can unlock its mutex
// between them. The second step returns after a wake-up, once the vCPU has been granted a turn.
void clock_wait_begin(void *condition);
void clock_wait_end(void);
// A thread signalled `condition`: a vCPU's or the main thread (`by_machine`), or another of QEMU. True if
// this woke a vCPU.
bool clock_signal(void *condition, bool by_machine);
uint64_t clock_own_waits(void); // how often this vCPU's thread has waited
void clock_asleep(bool asleep); // true between QEMU's idle and resume callbacks
void clock_notify(void);        // this vCPU gave the main loop work
int clock_wakeup_fd(void);      // readable when the main loop must poll again
// The main loop has nothing to do until `deadline`, as of notification number `seq`. False if a newer
// notification exists: the caller must poll again.
bool clock_main_idle(uint64_t deadline, uint64_t seq);
uint64_t clock_notifications(void);
bool clock_main_may_work(void);      // true once the machine has granted the main loop its turn
void clock_main_wants(void);         // an event from outside the guest gave the main loop work
void clock_main_blocks(bool blocks);
void clock_main_asks(bool asks); // it waits for an answer of the host, who may take any time
// When a vCPU last executed something, at the latest; LOCKSTEP_NEVER if one is not halted. Exact to the last
// call: a device's timer may wake a vCPU that has nothing to execute. While every vCPU is stopped.
uint64_t clock_halted_since(void);
// Begins a thread that looks, once a second, if the machine makes progress, and ends a stuck QEMU; false: it cannot.
bool clock_watch_begin(void);
// One look; in a fork at once, since its CPU time begins at 0.
void clock_watch_look(void);
// The calling thread of QEMU waits for something that only the host does; NULL: no longer.
void clock_host_waits(const char *for_what);

void clock_report(void); // writes the totals, at exit

// The self-check counters tell how often QEMU used each hook. tsc_thunks: those of the tsc_traps, the
// reads of the host's TSC, that took no signal.
struct clock_checks {
    _Atomic uint64_t main_clock, vcpu_clock, main_polls, halts, waits, signals, notes, tsc_traps, tsc_thunks,
        pendings, errands;
};
extern struct clock_checks clock_checks;

#endif
