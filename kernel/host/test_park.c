// Park and unpark with POSIX threads as sleepers: every wake-up arrives, park refuses to wait when it must,
// and a lost wake-up (fault=lost-wake) is noticed.
#include <pthread.h>

#include "core/fault.h"
#include "core/thread.h"
#include "host/host.h"
#include "ring/park.h"
#include "ring/ring.h"

#define PLAYERS 4
#define ROUNDS 300

static struct thread sleeper[MAX_CPUS];
static void be(unsigned me) {
    sleeper[me].slot = me;
    this_cpu()->current = &sleeper[me];
}

static uint32_t ball;
static unsigned players, patience_ms;
static _Atomic int lost;

static void *play(void *argument) {
    unsigned me = host_cpu = (unsigned)(uintptr_t)argument;
    be(me);
    for (unsigned turn = me; turn < players * ROUNDS && !atomic_load(&lost); turn += players) {
        uint32_t is;
        while ((is = __atomic_load_n(&ball, __ATOMIC_ACQUIRE)) != turn && !atomic_load(&lost)) {
            struct ring_wait wait = {.allowed = true, .deadline = patience_ms};
            if (park((uint64_t)&ball, &ball, is, &wait) == -RING_ETIMEDOUT)
                atomic_store(&lost, 1);
        }
        __atomic_store_n(&ball, turn + 1, __ATOMIC_RELEASE);
        unpark((uint64_t)&ball, UINT64_MAX);
    }
    return NULL;
}

static int pass_the_ball(unsigned count, unsigned ms) {
    pthread_t player[PLAYERS];
    ball = 0;
    players = count;
    patience_ms = ms;
    atomic_store(&lost, 0);
    for (uintptr_t i = 0; i < players; i++)
        if (pthread_create(&player[i], NULL, play, (void *)i) != 0)
            return -1;
    for (unsigned i = 0; i < players; i++)
        pthread_join(player[i], NULL);
    return atomic_load(&lost);
}

static int no_wake_is_lost(uint64_t seed) {
    (void)seed;
    NEED(pass_the_ball(PLAYERS, 100000) == 0); // a loaded host may leave a thread alone for seconds
    NEED(ball == PLAYERS * ROUNDS);
    return 0;
}

static int a_lost_wake_is_seen(uint64_t seed) {
    static int done;
    (void)seed;
    if (done++)
        return 0; // this check waits for a deadline, so it runs for one seed only
    fault_chosen = FAULT_LOST_WAKE;
    fault_value = 1;
    int seen = pass_the_ball(2, 2000); // with more players the next unpark would wake the forgotten one too
    fault_chosen = FAULT_NONE;
    NEED(seen == 1);
    return 0;
}

static int does_not_wait(uint64_t seed) {
    uint32_t word = (uint32_t)seed;
    struct ring_wait wait = {.allowed = false};
    NEED(park((uint64_t)&word, &word, word, &wait) == -RING_EAGAIN && wait.later);
    NEED(park((uint64_t)&word, &word, word + 1, &wait) == -RING_EAGAIN && !wait.later);
    wait.allowed = true;
    NEED(park((uint64_t)&word, &word, word + 1, &wait) == -RING_EAGAIN && !wait.later);
    NEED(unpark((uint64_t)&word, 1) == 0);
    return 0;
}

// The word changes, and its waker comes, just before the parking thread is in the queue.
static uint32_t late_word;
static uint64_t late_woken;

static void change_and_wake(void) {
    late_word++;
    late_woken = unpark((uint64_t)&late_word, 1);
}

static int sees_a_late_change(uint64_t seed) {
    struct ring_wait wait = {.allowed = true, .deadline = 1000};
    be(0);
    late_word = (uint32_t)seed;
    host_hook = change_and_wake;
    NEED(park((uint64_t)&late_word, &late_word, late_word, &wait) == -RING_EAGAIN && !wait.later);
    NEED(late_woken == 0);
    NEED(unpark((uint64_t)&late_word, 1) == 0); // it has left the queue
    return 0;
}

// The word changes before the thread is in the queue, and its waker comes when it is about to leave that
// again.
static void wake(void) {
    late_woken = unpark((uint64_t)&late_word, 1);
}
static void change_then_wake(void) {
    late_word++;
    host_hook = wake;
}

static int keeps_a_late_wake(uint64_t seed) {
    struct ring_wait wait = {.allowed = true, .deadline = 1000};
    be(0);
    late_word = (uint32_t)seed;
    host_hook = change_then_wake;
    NEED(park((uint64_t)&late_word, &late_word, late_word, &wait) == 0);
    NEED(late_woken == 1);
    NEED(unpark((uint64_t)&late_word, 1) == 0);
    return 0;
}

const struct check park_checks[] = {
    {"park", no_wake_is_lost},
    {"park-refuses", does_not_wait},
    {"park-late-change", sees_a_late_change},
    {"park-late-wake", keeps_a_late_wake},
    {"park-sees-loss", a_lost_wake_is_seen},
    {NULL, NULL},
};
