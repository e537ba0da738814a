// The scheduler's interface. A policy decides which thread a CPU runs next, and nothing else: it never
// switches, blocks or sends an interrupt. All of it also compiles natively (host/).
//
// Called with interrupts off. enqueue takes a queue lock; so no lock of the queue class or later is held.
// A thread is given to enqueue by one owner, and belongs to the queue until pick or steal returns it.
#ifndef SCHED_POLICY_H
#define SCHED_POLICY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config.h"
#include "core/lock.h"

#define SCHED_WEIGHT 1024 // the default

enum sched_why { SCHED_NEW, SCHED_WAKE, SCHED_PREEMPTED };

struct sched_entity {
    uint32_t weight;
    uint8_t latency; // enum ring_latency
    unsigned cpu;    // where it ran last, or is to run
    uint64_t ran;    // cycles on a CPU, all its life
    // Guarded by the lock of the queue it is in; NULL: in none.
    struct sched_queue *queue;
    struct sched_entity *next, *previous;
    uint64_t virtual_time; // wfq: weighted cycles, relative to its queue's clock while it is queued
    uint64_t finish;       // wfq: the key
    uint64_t charged;      // wfq: how much of ran is in virtual_time
};

struct sched_policy {
    const char *name;
    void (*init)(unsigned cpus);
    void (*enqueue)(unsigned cpu, struct sched_entity *entity, enum sched_why why);
    bool (*dequeue)(struct sched_entity *entity); // takes it out of its queue; false: it was not there
    struct sched_entity *(*pick)(unsigned cpu);
    bool (*tick)(unsigned cpu, struct sched_entity *running); // true: somebody else should run
    // Where it should run, woken by CPU `here`. *claimed: that CPU was idle and is to be sent an interrupt.
    unsigned (*wake_cpu)(const struct sched_entity *entity, unsigned here, bool *claimed);
    struct sched_entity *(*steal)(unsigned cpu); // from another queue; NULL: nothing to be had
    bool (*preempts)(const struct sched_entity *woken, const struct sched_entity *running);
    unsigned (*waiting)(unsigned cpu); // how many wait there; a hint
    bool (*balanced)(unsigned cpu);    // enqueued = dequeued + queued
};

extern const struct sched_policy sched_global, sched_rr, sched_wfq;

// What the CPUs do, for placement. Set by the idle loop, claimed by whoever sends a thread there.
struct sched_cpus {
    _Alignas(128) _Atomic uint64_t idle;
    _Alignas(128) unsigned count; // read-only once threads run
    uint64_t cycles_per_us;
};
extern struct sched_cpus sched_cpus;

// An idle CPU, `wish` or the next ones after it, and claims it; -1: all are busy.
int sched_claim_idle(unsigned wish);
bool sched_anybody_waits(void); // in any queue; exact for a thread that was enqueued before a fence

// One waiting list with its lock and its books.
struct sched_queue {
    _Alignas(128) struct lock lock;
    unsigned length;
    uint64_t enqueued, dequeued;
    struct sched_entity *first, *last;
    uint64_t clock; // wfq: virtual time of the queue, that of whom it served last; never goes back
};

// What a search for work counts; the kernel adds it to its counters.
struct sched_search {
    uint64_t tried, done;
};
extern struct sched_search sched_search[MAX_CPUS];

#endif
