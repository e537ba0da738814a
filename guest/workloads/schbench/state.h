// What the threads of schbench share.
#ifndef SCHBENCH_STATE_H
#define SCHBENCH_STATE_H

#include "goal.h"
#include "mailbox.h"
#include "matrix.h"
#include "options.h"

#define LOCKS 1024u // CPUs with higher numbers share locks
#define QUEUE 1024u // requests that may wait for one worker

enum role { MESSENGER, WORKER, HOG };
enum { TASK_ROLE, TASK_OF, TASK_GOAL };
enum {
    VALUE_DUE,
    VALUE_POSTED,
    VALUE_PENDING,
    VALUE_DONE,
    VALUE_TIMED,
    VALUE_INSIDE,
    VALUE_WOKEN,
    VALUE_SUM
};
enum { HIST_WAKEUP, HIST_REQUEST, HIST_RPS };

struct worker {
    struct mailbox box;
    struct worker *next; // in the list of its messenger
    _Alignas(128) uint64_t head; // requests that were posted; its messenger's
    uint64_t due[QUEUE];
    _Alignas(128) uint64_t tail; // requests that were taken; its own
    struct matrices matrices;
    uint64_t *page; // what a transfer moves
    uint64_t told;  // the number of the transfer that is in the page
};

struct messenger {
    struct mailbox box;
    _Alignas(128) struct worker *list;          // workers that want a request
    _Alignas(128) uint32_t left;               // workers that have ended
    unsigned first, members;                   // its workers
};

struct state {
    struct options options;
    uint64_t goal; // now, of all message threads together
    uint64_t spent_then, adapted; // auto_rps: when the goal was last set, and the CPU time used until then
    struct messenger messenger[BENCH_MAX_WORKERS];
    struct worker worker[BENCH_MAX_WORKERS];
    struct bench_lock lock[LOCKS];
    _Alignas(128) uint64_t spent[BENCH_MAX_WORKERS][16]; // CPU time of each thread; a cache line each
    _Alignas(128) uint32_t inside[BENCH_MAX_WORKERS][SPANS_MAX];
    _Alignas(128) uint32_t ended; // threads other than the first
    struct mailbox last;          // posted by the last of them
};

// When the window began, and when the part of it that is in the figures did.
static inline uint64_t begin_of(const struct bench_job *job, const struct state *state) {
    return job->deadline - state->options.time;
}

static inline int is_measured(const struct bench_job *job, const struct state *state, uint64_t when) {
    return when >= job->deadline - state->options.measured && when < job->deadline;
}

static inline void publish_spent(struct state *state, unsigned thread) {
    if (state->options.busy != 0)
        __atomic_store_n(&state->spent[thread][0], port_thread_time(), __ATOMIC_RELAXED);
}

#endif
