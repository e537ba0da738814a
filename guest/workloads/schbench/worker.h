// A worker of schbench: asks its messenger for a request, waits until it is woken, and does the request.
#ifndef SCHBENCH_WORKER_H
#define SCHBENCH_WORKER_H

#include "state.h"

struct self {
    struct bench_job *job;
    struct state *state;
    struct messenger *messenger;
    struct worker *worker;
    struct bench_slot *slot;
    unsigned thread; // its number among all
};

static void pause_for(uint64_t length) {
    if (length != 0)
        port_sleep_until(port_now() + length);
}

// The lock of the CPU on which the caller runs. The scheduler may move the caller while it waits, and then
// the lock of another CPU would be the wrong one to hold.
static struct bench_lock *lock_cpu(struct state *state) {
    for (;;) {
        int cpu = port_cpu();
        struct bench_lock *lock = &state->lock[(unsigned)cpu % LOCKS];
        bench_lock(lock);
        if (port_cpu() == cpu)
            return lock;
        bench_unlock(lock);
    }
}

static void do_math(struct self *me) {
    const struct options *options = &me->state->options;
    struct bench_lock *lock = options->locking ? lock_cpu(me->state) : NULL;
    for (uint64_t i = 0; i < options->operations; i++)
        matrices_multiply(&me->worker->matrices, options->side);
    if (lock != NULL)
        bench_unlock(lock);
}

static void count_inside(struct self *me, uint64_t when) {
    const struct options *options = &me->state->options;
    if (!is_measured(me->job, me->state, when))
        return;
    me->slot->value[VALUE_INSIDE]++;
    uint64_t span = (when - (me->job->deadline - options->measured)) / options->interval;
    if (span < SPANS_MAX)
        me->state->inside[me->thread][span]++;
}

// `since`: when the latency began, which decides whether the request is in the figures.
static void finish_request(struct self *me, uint64_t since, uint64_t now) {
    me->slot->value[VALUE_DONE]++;
    count_inside(me, now);
    if (is_measured(me->job, me->state, since)) {
        bench_record(bench_hist(me->job, me->thread, HIST_REQUEST), now - since);
        me->slot->value[VALUE_TIMED]++;
    }
    publish_spent(me->state, me->thread);
}

// Two sleeps, as for a network and a disk, and arithmetic between them. The latency counts from when the
// request was due, so that the time in a queue is part of it; with `calibrate` it is that of the arithmetic.
static void do_request(struct self *me, uint64_t due) {
    const struct options *options = &me->state->options;
    pause_for(options->sleep_before);
    uint64_t begin = options->calibrate ? port_now() : due;
    do_math(me);
    if (!options->calibrate)
        pause_for(options->sleep_after);
    finish_request(me, begin, port_now());
    if (options->calibrate)
        pause_for(options->sleep_after);
}

static void record_wakeup(struct self *me, uint64_t posted, uint64_t now) {
    if (!is_measured(me->job, me->state, posted))
        return;
    bench_record(bench_hist(me->job, me->thread, HIST_WAKEUP), now - posted);
    me->slot->value[VALUE_WOKEN]++;
}

// Waits for a post. Returns its time, or 0 if it was not for a request.
static uint64_t await_post(struct self *me) {
    struct mailbox *box = &me->worker->box;
    mailbox_await(box, 0);
    uint64_t posted = box->when;
    if (posted != 0)
        record_wakeup(me, posted, port_now());
    return posted;
}

static void enlist(struct messenger *messenger, struct worker *worker) {
    struct worker *head = __atomic_load_n(&messenger->list, __ATOMIC_RELAXED);
    do
        __atomic_store_n(&worker->next, head, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&messenger->list, &head, worker, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED));
}

// Without a goal: a worker that has done its request asks for the next one.
static void ask_and_do(struct self *me) {
    while (bench_running(me->job)) {
        mailbox_clear(&me->worker->box);
        enlist(me->messenger, me->worker);
        mailbox_post(&me->messenger->box, 0);
        uint64_t posted = await_post(me);
        if (posted == 0)
            break;
        do_request(me, posted);
    }
}

// What both sides write into a page, and what the sum of its numbers is then.
static void page_write(uint64_t *page, uint64_t bytes, uint64_t first) {
    for (uint64_t i = 0; i < bytes / sizeof *page; i++)
        page[i] = first + i;
}

static uint64_t page_sum(const uint64_t *page, uint64_t bytes) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < bytes / sizeof *page; i++)
        sum += page[i];
    return sum;
}

// A transfer instead of a request: a page to the messenger, a page back. Odd numbers go there, even ones come
// back.
static void transfer(struct self *me) {
    struct worker *worker = me->worker;
    uint64_t bytes = me->state->options.pipe;
    while (bench_running(me->job)) {
        uint64_t begin = port_now();
        worker->told = 2 * me->slot->value[VALUE_DONE] + 1;
        page_write(worker->page, bytes, worker->told);
        mailbox_clear(&worker->box);
        enlist(me->messenger, worker);
        mailbox_post(&me->messenger->box, 0);
        if (await_post(me) == 0)
            break;
        me->slot->value[VALUE_SUM] += page_sum(worker->page, bytes);
        finish_request(me, begin, port_now());
    }
}

static int queue_is_empty(const struct worker *worker) {
    return __atomic_load_n(&worker->head, __ATOMIC_SEQ_CST) == worker->tail;
}

// With a goal: takes requests from its queue, and sleeps while there are none.
static void take_and_do(struct self *me) {
    struct worker *worker = me->worker;
    while (bench_running(me->job)) {
        if (queue_is_empty(worker)) {
            mailbox_clear(&worker->box);
            if (queue_is_empty(worker) && bench_running(me->job))
                (void)await_post(me);
            else if (!mailbox_reclaim(&worker->box))
                mailbox_await(&worker->box, 0);
            continue;
        }
        uint64_t due = worker->due[worker->tail % QUEUE];
        __atomic_store_n(&worker->tail, worker->tail + 1, __ATOMIC_RELEASE); // after the slot was read
        do_request(me, due);
    }
}

static void run_worker(struct self *me) {
    const struct options *options = &me->state->options;
    if (options->pipe != 0)
        transfer(me);
    else if (options->rps != 0)
        take_and_do(me);
    else
        ask_and_do(me);
    if (options->pipe == 0)
        me->slot->value[VALUE_SUM] = matrices_digest(&me->worker->matrices, options->side);
    __atomic_add_fetch(&me->messenger->left, 1, __ATOMIC_RELEASE);
    mailbox_post(&me->messenger->box, 0);
}

#endif
