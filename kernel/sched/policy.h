// The scheduler's interface. A policy decides which thread a CPU runs next, and nothing else: it never
// switches, blocks or sends an interrupt. All policies also compile natively (host/).
//
// Called with interrupts off. enqueue takes a queue lock, so its caller holds no lock of the queue class or
// later. The caller of enqueue owns the thread; from then on the queue owns it, until pick or steal returns
// it.
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
    unsigned cpu;    // where it ran last, or will run
    uint64_t ran;    // its CPU time since it was created, in cycles
    // Guarded by the lock of `queue`, which is NULL while it is in none.
    struct sched_queue *queue;
    struct sched_entity *next, *previous;
    uint64_t virtual_time; // wfq: weighted cycles, relative to its queue's clock while it is queued
    uint64_t finish;       // wfq: the sort key
    uint64_t charged;      // wfq: how much of ran is in virtual_time
};

struct sched_policy {
    const char *name;
    void (*init)(unsigned cpus);
    void (*enqueue)(unsigned cpu, struct sched_entity *entity, enum sched_why why);
    bool (*dequeue)(struct sched_entity *entity); // removes it from its queue; false: it was in none
    struct sched_entity *(*pick)(unsigned cpu);
    bool (*tick)(unsigned cpu, struct sched_entity *running); // true: another thread should run
    // The CPU on which it should run; CPU `here` wakes it. *claimed: that CPU was idle and needs an
    // interrupt.
    unsigned (*wake_cpu)(const struct sched_entity *entity, unsigned here, bool *claimed);
    struct sched_entity *(*steal)(unsigned cpu); // from another queue; NULL: nothing found
    // used: cycles that `running` has had since `ran` was counted
    bool (*preempts)(const struct sched_entity *woken, const struct sched_entity *running, uint64_t used);
    unsigned (*waiting)(unsigned cpu); // number of waiting threads; a hint
    bool (*balanced)(unsigned cpu);    // enqueued = dequeued + queued
};

extern const struct sched_policy sched_global, sched_rr, sched_wfq;

// The idle CPUs, for placement: the idle loop sets a bit; the CPU that sends a thread there clears it. And the
// queues that are not empty, whose bits change under their locks: who looks for work reads one line, not one of
// each queue.
struct sched_cpus {
    _Alignas(128) _Atomic uint64_t idle;
    _Alignas(128) _Atomic uint64_t waiting;
    _Alignas(128) unsigned count; // read-only once threads run
    uint64_t cycles_per_us;
};
extern struct sched_cpus sched_cpus;

uint64_t sched_half(unsigned cpu); // fault=half: the CPUs of the same half

// Claims an idle CPU: `wish` if it is idle, else the next one after it. -1: all are busy.
int sched_claim_idle(unsigned wish);
// Whether a thread is in any queue; exact for one that was enqueued before a fence.
bool sched_any_waiting(void);

// A run queue with its lock and its counts.
struct sched_queue {
    _Alignas(128) struct lock lock;
    unsigned length;
    uint64_t enqueued, dequeued;
    struct sched_entity *first, *last;
    uint64_t clock; // wfq: the queue's virtual time, that of the thread it served last; never decreases
};

// The counts of the searches for work; measure.c copies them to the counters.
struct sched_search {
    _Alignas(128) uint64_t tried;
    uint64_t done;
};
extern struct sched_search sched_search[MAX_CPUS];

#endif
