// Park and unpark with POSIX threads as sleepers: every wake-up arrives, park refuses to wait when it must,
// and a lost wake-up (fault=lost-wake) is noticed.
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "core/fault.h"
#include "core/thread.h"
#include "host/host.h"
#include "ring/park.h"
#include "ring/ring.h"

#define PLAYERS 4
#define ROUNDS 300

static struct thread sleeper[MAX_CPUS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;

// A minimal version of the kernel's: a list, and a condition variable for the sleep itself.
int wait_on(struct wait_queue *queue, uint64_t deadline) {
    struct thread *me = current();
    pthread_mutex_lock(&mutex);
    me->next = NULL;
    me->previous = queue->tail;
    *(queue->tail ? &queue->tail->next : &queue->head) = me;
    queue->tail = me;
    atomic_store(&me->waits_in, queue);
    lock_drop(queue->lock);
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)deadline;
    int error = 0;
    while (atomic_load(&me->waits_in) != NULL && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&woken, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    return error == ETIMEDOUT ? -RING_ETIMEDOUT : me->wait_result;
}

// Whoever is taken out of the queue may go on at once: these threads sleep on a condition variable.
void wake_later(struct wake_list *list, struct wait_queue *queue, struct thread *thread, int result) {
    (void)list;
    pthread_mutex_lock(&mutex);
    *(thread->previous ? &thread->previous->next : &queue->head) = thread->next;
    *(thread->next ? &thread->next->previous : &queue->tail) = thread->previous;
    thread->wait_result = result;
    atomic_store(&thread->waits_in, NULL);
    pthread_cond_broadcast(&woken);
    pthread_mutex_unlock(&mutex);
}

void wake_now(struct wake_list *list) {
    (void)list;
}

static uint32_t ball;
static unsigned players;
static _Atomic int lost;

static void *play(void *argument) {
    unsigned me = host_cpu = (unsigned)(uintptr_t)argument;
    this_cpu()->current = &sleeper[me];
    for (unsigned turn = me; turn < players * ROUNDS && !atomic_load(&lost); turn += players) {
        uint32_t is;
        while ((is = __atomic_load_n(&ball, __ATOMIC_ACQUIRE)) != turn && !atomic_load(&lost)) {
            struct ring_wait wait = {.allowed = true, .deadline = 2};
            if (park((uint64_t)&ball, &ball, is, &wait) == -RING_ETIMEDOUT)
                atomic_store(&lost, 1);
        }
        __atomic_store_n(&ball, turn + 1, __ATOMIC_RELEASE);
        unpark((uint64_t)&ball, UINT64_MAX);
    }
    return NULL;
}

static int pass_the_ball(unsigned count) {
    pthread_t player[PLAYERS];
    ball = 0;
    players = count;
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
    NEED(pass_the_ball(PLAYERS) == 0);
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
    int seen = pass_the_ball(2); // with more players the next unpark would wake the forgotten one too
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

// The word changes, and its waker comes, just before the parking thread has the lock.
static uint32_t late_word;
static uint64_t late_woken;

static void change_and_wake(void) {
    late_word++;
    late_woken = unpark((uint64_t)&late_word, 1);
}

static int sees_a_late_change(uint64_t seed) {
    struct ring_wait wait = {.allowed = true};
    this_cpu()->current = &sleeper[0];
    late_word = (uint32_t)seed;
    host_hook = change_and_wake;
    NEED(park((uint64_t)&late_word, &late_word, late_word, &wait) == -RING_EAGAIN && !wait.later);
    NEED(late_woken == 0);
    host_hook = change_and_wake; // the wrong copy goes to sleep, and nobody will wake it
    NEED(park_early((uint64_t)&late_word, &late_word, late_word, &wait) == -RING_ETIMEDOUT);
    NEED(late_woken == 0);
    NEED(unpark((uint64_t)&late_word, 1) == 1); // it is still in its queue: for the next seed
    return 0;
}

const struct check park_checks[] = {
    {"park", no_wake_is_lost},
    {"park-refuses", does_not_wait},
    {"park-late-change", sees_a_late_change},
    {"park-sees-loss", a_lost_wake_is_seen}, // last: it leaves a sleeper in a bucket
    {NULL, NULL},
};
