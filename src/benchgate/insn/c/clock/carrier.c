#define _GNU_SOURCE
#include "carrier.h"

#include "journal.h"
#include "lockstep.h"
#include "switch.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORDS (LOCKSTEP_MAX / 64)
#define REST_STACK 8192

static const char *const names[] = {
    [SWITCH_NONE] = "threads", [SWITCH_FSBASE] = "fsbase", [SWITCH_PRCTL] = "prctl"};
static enum switch_way way;
static struct carrier_calls calls;

static struct seat {
    _Alignas(128) struct switch_context context;
    long thread;         // its own
    bool aboard;         // its context was left to the carrier
    _Atomic uint32_t go; // of a thread that waits for itself: changes with each release
} seats[LOCKSTEP_MAX];

// ---- one carrier

static uint64_t released[WORDS];        // vCPUs that go on; guarded by the lock
static _Atomic uint64_t complete[WORDS]; // their contexts are saved, so that the carrier can run them
static _Atomic uint32_t bell;           // changes with each release by a thread that is not the carrier
static _Atomic bool idle;
static struct switch_context own;       // the carrier's own, while it runs a vCPU
static _Thread_local bool is_carrier;   // the carrier runs this context
static _Thread_local bool must_ring;
static _Alignas(16) unsigned char rest_stacks[LOCKSTEP_MAX][REST_STACK];

static void ring(void) {
    atomic_fetch_add(&bell, 1);
    if (atomic_load(&idle))
        switch_futex(&bell, FUTEX_WAKE_PRIVATE, 1);
}

// The next vCPU to run; -1 if there is none. With the lock held, on the carrier.
static int take(void) {
    for (unsigned word = 0; word < WORDS; word++) {
        uint64_t found = released[word] & atomic_load(&complete[word]);
        if (!found)
            continue;
        released[word] &= ~(found & -found);
        return (int)(64 * word) + __builtin_ctzll(found);
    }
    return -1;
}

static void run_next(void) {
    calls.lock();
    uint32_t rung = atomic_load(&bell);
    int next = take();
    calls.unlock();
    atomic_store(&idle, next < 0);
    if (next >= 0)
        switch_to(way, &own, &seats[next].context);
    else
        switch_futex(&bell, FUTEX_WAIT_PRIVATE, rung);
}

// Nothing here may read the TSC: the first read by a thread that runs no vCPU ends the trap of its reads
// (tsc.c).
static void *carry(void *unused) {
    (void)unused;
    is_carrier = true;
    own.base = switch_base();
    for (;;)
        run_next();
    return NULL; // for gcc 12, which warns otherwise
}

// What is left of a vCPU's own thread. Its thread-local storage belongs to the carrier once the context is
// complete.
static void rest(void *seat) {
    unsigned c = (unsigned)((struct seat *)seat - seats);
    atomic_fetch_or(&complete[c / 64], UINT64_C(1) << c % 64);
    ring();
    _Atomic uint32_t never = 0;
    for (;;)
        switch_futex(&never, FUTEX_WAIT_PRIVATE, 0);
}

// The carrier inherits the vCPU's signal mask, and that reads of the TSC are trapped.
static void start_carrier(void) {
    static bool started;
    pthread_t thread;
    if (started)
        return;
    started = true;
    if (pthread_create(&thread, NULL, carry, NULL) != 0)
        journal_refuse("there is no thread to run the vCPUs");
    pthread_setname_np(thread, "vCPUs");
}

static void board(unsigned c) {
    struct seat *seat = &seats[c];
    struct switch_context resting = switch_new(rest_stacks[c], REST_STACK, rest, seat);
    start_carrier();
    calls.unlock();
    seat->thread = syscall(SYS_gettid);
    seat->aboard = true;
    seat->context.base = switch_base();
    switch_to(way, &seat->context, &resting);
    is_carrier = true;
}

static void give_place(unsigned c) {
    int next = take();
    calls.unlock();
    if (next != (int)c)
        switch_to(way, &seats[c].context, next < 0 ? &own : &seats[next].context);
}

// ---- a thread for each vCPU

// Threads that this thread has released but not woken yet. One that wakes up takes the lock first, so it is
// woken only after the lock is free: the host may run it at once in place of this thread.
static _Thread_local struct {
    unsigned count, vcpu[2 * LOCKSTEP_MAX]; // a vCPU is here at most twice: for an errand and for a turn
} asleep;

static void wait_here(unsigned c) {
    uint32_t seen = atomic_load(&seats[c].go);
    calls.unlock();
    switch_futex(&seats[c].go, FUTEX_WAIT_PRIVATE, seen);
}

// ---- both

const char *carrier_setup(const char *wanted, const struct carrier_calls *given) {
    calls = *given;
    if (wanted && strcmp(wanted, names[SWITCH_NONE]) == 0)
        return NULL;
    for (way = SWITCH_FSBASE; way <= SWITCH_PRCTL; way++)
        if ((!wanted || strcmp(wanted, names[way]) == 0) && switch_works(way))
            return NULL;
    way = SWITCH_NONE;
    return wanted ? "the vCPUs cannot be carried in the way that the option carrier wants" : NULL;
}

const char *carrier_name(void) {
    return names[way];
}

void carrier_release(unsigned c) {
    if (way == SWITCH_NONE) {
        atomic_fetch_add(&seats[c].go, 1);
        asleep.vcpu[asleep.count++] = c;
        return;
    }
    released[c / 64] |= UINT64_C(1) << c % 64;
    must_ring = !is_carrier;
}

void carrier_wake(void) {
    while (asleep.count)
        switch_futex(&seats[asleep.vcpu[--asleep.count]].go, FUTEX_WAKE_PRIVATE, 1);
    if (must_ring)
        ring();
    must_ring = false;
}

void carrier_wait(unsigned c) {
    if (way == SWITCH_NONE)
        wait_here(c);
    else if (seats[c].aboard)
        give_place(c);
    else
        board(c);
    calls.lock();
}

enum switch_way carrier_way(void) {
    return way;
}

bool carrier_rests(long thread) {
    for (unsigned c = 0; c < LOCKSTEP_MAX; c++)
        if (seats[c].thread == thread)
            return atomic_load(&complete[c / 64]) >> c % 64 & 1;
    return false;
}

bool carrier_sleeps(void) {
    return atomic_load(&idle);
}
