// Two vCPUs and QEMU's jobs for the second one, without QEMU or threads: the clock's own files with stubs around
// them. A job comes whenever the vCPU's thread has just looked for jobs, so there is always another one.
#include "activity.h"
#include "carrier.h"
#include "clock_state.h"
#include "journal.h"
#include "outer.h"

#include <setjmp.h>
#include <stdlib.h>

static uint64_t counters[LOCKSTEP_MAX];
static int condition; // on which the second vCPU halts
static jmp_buf its_turn;
static unsigned told; // halts

static void init(void) {
    struct clock_options options = {.rules = {.count = 2, .quantum = 1000, .fine = 100, .rush = 1}};
    clock_setup(&options);
    for (unsigned c = 0; c < 2; c++)
        lockstep_appear(&clock_machine, c);
}

static void looks_for_jobs(void) {
    clock_self = 1;
    clock_asleep(true);
    clock_self = -1;
}

static void job(void) {
    clock_self = -1;
    clock_signal(&condition, false);
}

static void waits(void) {
    clock_self = 1;
    clock_wait_begin(&condition);
    clock_self = -1;
}

static void wakes_up(void) {
    clock_vcpus[1].waiting = NULL; // clock_wait_end returns
    clock_self = 1;
    clock_asleep(false);
    clock_self = -1;
}

static void give_grants(void) {
    clock_lock();
    clock_give_grants();
    clock_unlock();
}

// How often each has its turn: the first vCPU, and the jobs.
void turns_and_jobs(unsigned *turns, unsigned *jobs) {
    init();
    looks_for_jobs();
    waits();
    clock_guest_started = true;
    lockstep_main_idle(&clock_machine, LOCKSTEP_NEVER);
    lockstep_arrive(&clock_machine, 0, 0, LOCKSTEP_WORKS);
    job();
    for (unsigned i = *turns = *jobs = 0; i < 100; i++) {
        if (clock_machine.vcpu[0].state == LOCKSTEP_RUN) {
            ++*turns;
            lockstep_arrive(&clock_machine, 0, clock_machine.vcpu[0].until, LOCKSTEP_WORKS);
        } else if (clock_errand_active(1)) {
            ++*jobs;
            wakes_up();
            looks_for_jobs();
            job();
            waits();
        }
        give_grants();
    }
}

// The second vCPU was woken before the guest started; then the first job for it comes.
bool halts_before_its_job(void) {
    init();
    looks_for_jobs();
    waits();
    job();
    wakes_up();
    clock_guest_started = true;
    looks_for_jobs();
    job();
    waits();
    return clock_machine.vcpu[1].state == LOCKSTEP_HALT && clock_vcpus[1].errand == CLOCK_ERRAND_DUE;
}

static void reaches_its_limit(void) {
    clock_self = 0;
    if (!setjmp(its_turn))
        clock_limit_reached(0, NULL);
    clock_self = -1;
}

// Whether the guest has begun when one of the two vCPUs has come to its begin, and when both have.
void begins(bool halt_first, unsigned *one, unsigned *both) {
    init();
    clock_guest_started = false;
    looks_for_jobs();
    (halt_first ? waits : reaches_its_limit)();
    *one = clock_guest_started;
    (halt_first ? reaches_its_limit : waits)();
    *both = clock_guest_started;
}

// The same when the host lets a restored guest begin while one of the two is on its way to its halt.
void begins_by_the_host(unsigned *one, unsigned *both) {
    init();
    clock_guest_started = false;
    looks_for_jobs();
    waits();
    clock_begin();
    *one = clock_guest_started;
    clock_self = 0;
    clock_wait_begin(&condition);
    clock_self = -1;
    *both = clock_guest_started;
}

// How many halts are told after the guest's window, of a vCPU that QEMU wakes once more and that executes `more`.
unsigned told_at_the_end(unsigned more) {
    init();
    clock_guest_started = true;
    looks_for_jobs();
    waits();
    clock_machine.closed = 1;
    lockstep_main_blocks(&clock_machine);
    clock_signal(&condition, true);
    lockstep_main_works(&clock_machine);
    counters[1] += more;
    told = 0;
    clock_machine.vcpu[1].state = LOCKSTEP_RUN;
    waits();
    return told;
}

// ---- what these files need of the others

uint64_t counter_read(unsigned c) {
    return counters[c];
}

void counter_write(unsigned c, uint64_t value) {
    counters[c] = value;
}

#define NOTHING(name)                                                                                        \
    uint64_t name(unsigned c) {                                                                              \
        (void)c;                                                                                             \
        return 0;                                                                                            \
    }
NOTHING(counter_calls)
NOTHING(counter_clock_reads)
NOTHING(counter_idled)
NOTHING(counter_paused)
NOTHING(counter_stalled)
NOTHING(counter_timed)
NOTHING(counter_waited)
NOTHING(outer_interrupt)

#define IGNORED(name, ...)                                                                                   \
    void name(__VA_ARGS__) {                                                                                 \
    }
IGNORED(outer_turn, unsigned c)
IGNORED(outer_opened, bool open, uint64_t now, uint64_t latest)
IGNORED(activity_interrupted, unsigned c, uint64_t time, int sender)
IGNORED(activity_ran, unsigned c, uint64_t from, uint64_t to, uint64_t worked)
IGNORED(activity_rests, unsigned c, uint64_t from, uint64_t to)
IGNORED(activity_runs, unsigned c, uint64_t from, uint64_t to, uint64_t worked)
IGNORED(activity_slept, unsigned c, uint64_t from, uint64_t to, int waker)
IGNORED(activity_window, bool open, uint64_t time)
IGNORED(carrier_release, unsigned c)
IGNORED(carrier_wake, void)
IGNORED(clock_beat, void)
IGNORED(outer_halts, unsigned c)
IGNORED(outer_interrupted, unsigned c, int sender, uint64_t now)
IGNORED(outer_opens, bool open)

void outer_halted(unsigned vcpu, bool halted, uint64_t time) {
    (void)vcpu, (void)time;
    told += halted;
}

void carrier_wait(unsigned c) {
    (void)c;
    clock_unlock();
    longjmp(its_turn, 1);
}

size_t journal_line(const char *format, ...) {
    (void)format;
    return 0;
}

_Noreturn void journal_refuse(const char *format, ...) {
    (void)format;
    abort();
}

const char *carrier_setup(const char *wanted, const struct carrier_calls *calls) {
    (void)calls;
    return wanted;
}
