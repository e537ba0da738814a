// Operations that need another thread or process: start, wake, switch.
#ifndef MICRO_THREADS_H
#define MICRO_THREADS_H

#include "op.h"

static int start(void (*body)(void *), struct me *me) {
    int task = port_task(body, me);
    if (task < 0)
        port_fail("a thread could not be started");
    return task;
}

static void join(int task) {
    if (port_task_join(task) != 0)
        port_fail("a thread did not end well");
}

static uint64_t count_done(const struct me *me) {
    return __atomic_load_n(&me->done, __ATOMIC_ACQUIRE);
}

// ---- fork_exit: a child answers a question of its parent, ends well, and is waited for

static void child(uint64_t at) {
    struct cell *cell = (struct cell *)at;
    cell->answer = cell->question * 3 + 1;
}

static uint64_t run_fork_exit(struct me *me, uint64_t n) {
    struct cell *cell = &me->common->cell[me->worker];
    uint64_t good = 0;
    for (uint64_t i = 0; i < n; i++) {
        cell->question = ++me->expected;
        int started = port_child(child, (uint64_t)cell);
        if (started < 0 || port_child_wait(started) != 0)
            return good;
        uint64_t answer = *(volatile uint64_t *)&cell->answer;
        good += answer == me->expected * 3 + 1;
        me->proof += answer;
    }
    return good;
}

// ---- sched_yield. Nothing shows what one did, because there is nobody to yield to: another thread would
// make it a context switch. Before the window each worker asks a thread of its own, which yields until then,
// and yields until it has answered. On one CPU a few yields are enough, and without them it would answer only
// when a slice is over. On several CPUs it may be waiting for another CPU, for long on a busy host: then
// it is asked again.

#define YIELDS_MAX 1000u
#define TRIES_MAX 100u

static void run_once(void *argument) {
    struct me *me = argument;
    __atomic_add_fetch(&me->done, 1, __ATOMIC_RELEASE);
}

static void answer_once(void *argument) {
    struct me *me = argument;
    __atomic_store_n(&me->asleep, 0, __ATOMIC_RELEASE);
    while (__atomic_load_n(&me->word, __ATOMIC_ACQUIRE) == 0)
        port_yield();
    run_once(me);
}

// How many answers there were in time: 0 or 1.
static uint64_t ask_once(struct me *me) {
    me->asleep = 1;
    me->word = 0;
    me->done = 0;
    int task = start(answer_once, me);
    while (__atomic_load_n(&me->asleep, __ATOMIC_ACQUIRE) != 0)
        port_yield();
    __atomic_store_n(&me->word, 1, __ATOMIC_RELEASE);
    for (unsigned yields = 0; count_done(me) == 0 && yields < YIELDS_MAX; yields++)
        port_yield();
    uint64_t answers = count_done(me);
    join(task);
    return answers;
}

static void before_yield(struct me *me) {
    uint64_t answers = 0;
    for (unsigned tries = 0; answers == 0 && tries < TRIES_MAX; tries++)
        answers = ask_once(me);
    if (answers == 0)
        port_fail("another thread did not run, though the worker yielded 1000 times, in 100 tries");
}

static uint64_t run_yield(struct me *me, uint64_t n) {
    uint64_t made = 0;
    for (uint64_t i = 0; i < n; i++) {
        port_yield();
        made++;
    }
    me->proof = count_done(me);
    return made;
}

// ---- futex_wake: wakes one of several threads that sleep. They go back to sleep before the next batch, and
// count how often they were woken.

static void sleeper(void *argument) {
    struct me *me = argument;
    for (;;) {
        __atomic_add_fetch(&me->asleep, 1, __ATOMIC_ACQ_REL);
        port_wait(&me->word, 0, 0);
        __atomic_sub_fetch(&me->asleep, 1, __ATOMIC_ACQ_REL);
        if (__atomic_load_n(&me->word, __ATOMIC_ACQUIRE) != 0)
            return;
        __atomic_add_fetch(&me->done, 1, __ATOMIC_RELEASE);
    }
}

// A thread that was woken counts as asleep until it runs.
static void settle_sleepers(struct me *me) {
    while (count_done(me) < me->expected || __atomic_load_n(&me->asleep, __ATOMIC_ACQUIRE) != SLEEPERS)
        port_yield();
}

static void before_wake(struct me *me) {
    for (unsigned i = 0; i < SLEEPERS; i++)
        me->task[i] = start(sleeper, me);
}

// A thread that is about to sleep cannot be woken yet.
static uint64_t run_wake(struct me *me, uint64_t n) {
    for (uint64_t i = 0; i < n; i++)
        while (port_wake(&me->word, 1) != 1)
            port_yield();
    me->expected += n;
    return n;
}

static void after_wake(struct me *me) {
    settle_sleepers(me);
    me->proof = count_done(me) - me->warm;
    __atomic_store_n(&me->word, 1, __ATOMIC_RELEASE);
    while (port_wake(&me->word, SLEEPERS), __atomic_load_n(&me->asleep, __ATOMIC_ACQUIRE) != 0)
        port_yield();
    for (unsigned i = 0; i < SLEEPERS; i++)
        join(me->task[i]);
}

// ---- thread_create: a thread adds one and is waited for

static uint64_t run_thread_create(struct me *me, uint64_t n) {
    uint64_t good = 0;
    for (uint64_t i = 0; i < n; i++) {
        join(start(run_once, me));
        good += count_done(me) == ++me->expected;
    }
    me->proof += good;
    return good;
}

// ---- context_switch: two threads hand a word to each other and sleep until it comes back. Each hand-over is
// one operation, so one turn there and back counts two.

enum { MINE, THEIRS, OVER };

static void hand_over(struct me *me, uint32_t to) {
    __atomic_store_n(&me->word, to, __ATOMIC_RELEASE);
    port_wake(&me->word, 1);
}

static uint32_t wait_for_turn(struct me *me, uint32_t others) {
    uint32_t now;
    while ((now = __atomic_load_n(&me->word, __ATOMIC_ACQUIRE)) == others)
        port_wait(&me->word, others, 0);
    return now;
}

static void partner(void *argument) {
    struct me *me = argument;
    while (wait_for_turn(me, MINE) != OVER) {
        me->done++;
        hand_over(me, MINE);
    }
}

static void before_switch(struct me *me) {
    me->task[0] = start(partner, me);
}

static uint64_t run_switch(struct me *me, uint64_t n) {
    uint64_t good = 0;
    for (uint64_t i = 0; i < n; i += 2) {
        hand_over(me, THEIRS);
        wait_for_turn(me, THEIRS);
        good += count_done(me) == ++me->expected ? 2 : 0;
    }
    me->proof += good / 2;
    return good;
}

static void after_switch(struct me *me) {
    hand_over(me, OVER);
    join(me->task[0]);
}

#endif
