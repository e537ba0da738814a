// Stands in for core/thread.c and core/timer.c: a thread that is switched away from is a POSIX thread that
// sleeps. A deadline is in ms from then on.
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "core/thread.h"
#include "core/thread_switch.h"
#include "core/timer.h"
#include "host/host.h"
#include "ring/abi.h"

static _Atomic unsigned wakes, wakes_held;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static bool ready[MAX_THREADS]; // by slot; guarded by mutex

// A thread that has not slept yet is told in advance: the kernel's waker would wait for it (settle).
void thread_ready(struct thread *thread, enum sched_why why) {
    (void)why;
    const struct lock *lock = atomic_load(&thread->wait_lock);
    wakes_held += lock != NULL && atomic_load(&lock->owner) == host_cpu + 1;
    wakes++;
    pthread_mutex_lock(&mutex);
    ready[thread->slot] = true;
    pthread_cond_broadcast(&woken);
    pthread_mutex_unlock(&mutex);
}

unsigned host_wakes(void) {
    return wakes;
}
unsigned host_wakes_held(void) {
    return wakes_held;
}
void host_forget_wakes(void) {
    wakes = wakes_held = 0;
    memset(ready, 0, sizeof ready);
}

static int sleep_until_ready(unsigned slot, const struct timespec *until) {
    int error = 0;
    pthread_mutex_lock(&mutex);
    while (!ready[slot] && error != ETIMEDOUT)
        error = until ? pthread_cond_timedwait(&woken, &mutex, until) : pthread_cond_wait(&woken, &mutex);
    if (ready[slot])
        error = 0;
    if (error == 0)
        ready[slot] = false;
    pthread_mutex_unlock(&mutex);
    return error;
}

void thread_switch(struct thread *next, bool requeue) {
    struct thread *me = current();
    (void)next, (void)requeue;
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + me->deadline % 1000 * 1000000;
    until.tv_sec += (time_t)(me->deadline / 1000 + ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    if (sleep_until_ready(me->slot, me->deadline ? &until : NULL) == ETIMEDOUT) {
        // As the timer's interrupt does; unless its waker is about to.
        wait_end(me, -RING_ETIMEDOUT, &me->wait_count, NULL);
        sleep_until_ready(me->slot, NULL);
    }
    me->state = THREAD_RUNNING;
}

struct thread *thread_choose(struct cpu *cpu, bool search) {
    (void)cpu, (void)search;
    return NULL;
}
void timer_sleep(struct thread *thread) {
    (void)thread;
}
void timer_cancel(struct thread *thread) {
    thread->deadline = 0;
}
