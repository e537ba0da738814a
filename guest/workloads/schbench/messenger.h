// A message thread of schbench: gives its workers requests, either whenever one asks or as many a second as
// the goal says, and ends after them.
#ifndef SCHBENCH_MESSENGER_H
#define SCHBENCH_MESSENGER_H

#include "state.h"
#include "worker.h"

static uint64_t ns_until(uint64_t when) {
    uint64_t now = port_now(), hz = port_hz();
    uint64_t left = when > now ? when - now : 0;
    return left / hz * 1000000000u + left % hz * 1000000000u / hz + 1;
}

static int workers_left(const struct messenger *messenger) {
    return __atomic_load_n(&messenger->left, __ATOMIC_ACQUIRE) == messenger->members;
}

static void answer(struct self *me, struct worker *worker, uint64_t now) {
    uint64_t bytes = me->state->options.pipe;
    if (bytes != 0) {
        me->slot->value[VALUE_SUM] += page_sum(worker->page, bytes);
        page_write(worker->page, bytes, worker->told + 1);
        now = port_now();
    }
    me->slot->value[VALUE_DUE]++;
    me->slot->value[VALUE_POSTED]++;
    mailbox_post(&worker->box, now);
}

// Wakes every worker that has asked. The time is read once for all of them: if the scheduler takes the CPU
// from this thread in between, the workers at the end of the list wait for it, and their latency shows that.
static void answer_all(struct self *me, int over) {
    struct worker *worker = __atomic_exchange_n(&me->messenger->list, NULL, __ATOMIC_SEQ_CST);
    uint64_t now = port_now();
    while (worker != NULL) {
        struct worker *next = __atomic_load_n(&worker->next, __ATOMIC_RELAXED);
        if (over)
            mailbox_post(&worker->box, 0);
        else
            answer(me, worker, now);
        worker = next;
    }
}

static void answer_whoever_asks(struct self *me) {
    struct messenger *messenger = me->messenger;
    for (;;) {
        int over = !bench_running(me->job);
        mailbox_clear(&messenger->box);
        answer_all(me, over);
        publish_spent(me->state, me->thread);
        if (over && workers_left(messenger))
            return;
        mailbox_await(&messenger->box, over ? 0 : ns_until(me->job->deadline));
    }
}

// ---- with a goal

// Request `number` after `from` is due at from + number seconds / goal. A new goal begins a new count.
struct schedule {
    uint64_t from, number, goal;
};

static uint64_t next_due(const struct schedule *schedule) {
    if (schedule->goal == 0)
        return UINT64_MAX;
    return schedule->from + schedule->number * port_hz() / schedule->goal;
}

// What is left of the wait for the next request becomes shorter or longer in proportion.
static void change_goal(struct schedule *schedule, uint64_t goal, uint64_t now) {
    uint64_t due = next_due(schedule);
    if (goal == schedule->goal)
        return;
    if (due == UINT64_MAX)
        due = now + (goal == 0 ? 0 : port_hz() / goal);
    else if (goal != 0 && due > now)
        due = now + (due - now) * schedule->goal / goal;
    *schedule = (struct schedule){due, 0, goal};
}

static uint64_t my_goal(const struct self *me) {
    const struct messenger *messenger = me->messenger;
    uint64_t goal = __atomic_load_n(&me->state->goal, __ATOMIC_RELAXED);
    return goal_share(goal, messenger->first, messenger->members, me->state->options.workers);
}

static int is_queueing(const struct state *state) {
    uint64_t waiting = 0;
    for (unsigned i = 0; i < state->options.workers; i++)
        waiting += __atomic_load_n(&state->worker[i].head, __ATOMIC_RELAXED) -
                   __atomic_load_n(&state->worker[i].tail, __ATOMIC_RELAXED);
    return waiting > 2 * state->options.workers;
}

// auto_rps, once per interval: the goal that makes the CPUs as busy as asked.
static void adapt_goal(struct state *state, uint64_t now) {
    uint64_t spent = 0, length = (now - state->adapted) * state->options.cpus;
    for (unsigned i = 0; i < BENCH_MAX_WORKERS; i++)
        spent += __atomic_load_n(&state->spent[i][0], __ATOMIC_RELAXED);
    uint64_t busy = (spent - state->spent_then) * 1000 / length;
    state->spent_then = spent;
    state->adapted = now;
    uint64_t goal = goal_next(state->goal, busy, state->options.busy * 10, is_queueing(state));
    __atomic_store_n(&state->goal, goal > RPS_MAX ? RPS_MAX : goal, __ATOMIC_RELAXED);
}

// False if the worker whose turn it is has no room.
static int post_request(struct self *me, uint64_t due) {
    struct messenger *messenger = me->messenger;
    uint64_t turn = me->slot->value[VALUE_POSTED] % messenger->members;
    struct worker *worker = &me->state->worker[messenger->first + turn];
    uint64_t head = worker->head;
    if (head - __atomic_load_n(&worker->tail, __ATOMIC_ACQUIRE) == QUEUE)
        return 0;
    worker->due[head % QUEUE] = due;
    __atomic_store_n(&worker->head, head + 1, __ATOMIC_SEQ_CST); // before the box is looked at
    me->slot->value[VALUE_POSTED]++;
    mailbox_post(&worker->box, port_now());
    return 1;
}

static void sleep_at_most_until(uint64_t when, uint64_t limit) {
    port_sleep_until(when < limit ? when : limit);
}

static void post_by_goal(struct self *me) {
    const struct options *options = &me->state->options;
    uint64_t deadline = me->job->deadline, room = bench_ticks(1000000);
    uint64_t change = begin_of(me->job, me->state) + options->interval;
    struct schedule schedule = {begin_of(me->job, me->state), 0, my_goal(me)};
    while (bench_running(me->job)) {
        uint64_t due = next_due(&schedule), now = port_now();
        if (options->busy != 0 && now >= change) {
            if (me->thread == 0)
                adapt_goal(me->state, now);
            change_goal(&schedule, my_goal(me), now);
            change = now + options->interval;
        } else if (due > now) {
            publish_spent(me->state, me->thread);
            sleep_at_most_until(options->busy != 0 && change < due ? change : due, deadline);
        } else if (post_request(me, due)) {
            schedule.number++;
            me->slot->value[VALUE_DUE]++;
        } else {
            sleep_at_most_until(now + room, deadline);
        }
    }
    for (; next_due(&schedule) < deadline; schedule.number++)
        me->slot->value[VALUE_DUE]++;
}

// A worker that has not left yet waits, or is about to see that the time is over.
static void end_workers(struct self *me) {
    struct messenger *messenger = me->messenger;
    for (;;) {
        mailbox_clear(&messenger->box);
        if (workers_left(messenger))
            return;
        for (unsigned i = 0; i < messenger->members; i++)
            mailbox_post(&me->state->worker[messenger->first + i].box, 0);
        mailbox_await(&messenger->box, 0);
    }
}

static void count_pending(struct self *me) {
    const struct messenger *messenger = me->messenger;
    for (unsigned i = 0; i < messenger->members; i++) {
        const struct worker *worker = &me->state->worker[messenger->first + i];
        me->slot->value[VALUE_PENDING] += worker->head - worker->tail;
    }
}

static void run_messenger(struct self *me) {
    if (me->state->options.rps == 0) {
        answer_whoever_asks(me);
        return;
    }
    post_by_goal(me);
    end_workers(me);
    count_pending(me);
}

#endif
