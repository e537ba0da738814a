// The counters of each CPU. One list generates the fields, their names on the wire and their number. Each CPU
// writes its own only; other CPUs read them as hints or in snapshots (measure/measure.c).
#ifndef MEASURE_COUNTERS_H
#define MEASURE_COUNTERS_H

#include <stdint.h>

#define COUNTER_LIST(X)                                                                                      \
    X(switches)        /* from one thread to another, idle included */                                       \
    X(picks)           /* times the scheduler was asked for a thread */                                      \
    X(pick_cycles)     /* the time that took */                                                              \
    X(ticks)           /* timer interrupts */                                                                \
    X(syscalls)        /* system call entries */                                                             \
    X(page_faults)     /* page faults that mapped a page */                                                  \
    X(resched_sent)    /* reschedule IPIs sent from here */                                                  \
    X(resched_dropped) /* reschedule IPIs not sent because of fault=drop-ipi */                              \
    X(resched_taken)   /* reschedule IPIs taken here */                                                      \
    X(shootdowns)      /* TLB shootdowns started here */                                                     \
    X(shootdown_acks)  /* TLB shootdowns answered here */                                                    \
    X(migrations)      /* threads that started to run here after another CPU */                              \
    X(steals_tried)    /* queues examined for work to steal */                                               \
    X(steals_done)     /* threads stolen */                                                                  \
    X(queue_depth_max) /* longest queue seen by an enqueue from here */                                      \
    X(idle_cycles)     /* in the idle thread */                                                              \
    X(busy_cycles)     /* in any other thread */                                                             \
    X(foreign_cycles)  /* in processes whose parent has ended */                                             \
    X(serial_bytes)    /* bytes written to the serial port */

// Lock classes in the order in which they may be taken: a CPU that holds one takes only later ones.
#define LOCK_LIST(X) X(process) X(family) X(vm) X(shared) X(park) X(queue) X(timer) X(pages) X(serial)

enum lock_class {
#define X(name) LOCK_##name,
    LOCK_LIST(X)
#undef X
        LOCK_CLASSES
};

struct counters {
#define X(name) uint64_t name;
    COUNTER_LIST(X)
#undef X
    uint64_t lock_takes[LOCK_CLASSES];
    uint64_t lock_wait_cycles[LOCK_CLASSES];
    uint64_t lock_hold_cycles[LOCK_CLASSES];
};

// All counters by number: first the plain ones, then three for each lock class.
#define COUNTERS (sizeof(struct counters) / sizeof(uint64_t))
#define PLAIN_COUNTERS (__builtin_offsetof(struct counters, lock_takes) / sizeof(uint64_t))

#endif
