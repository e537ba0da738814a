// What each CPU counts for itself. One list makes the fields, their names on the wire and their number.
// Owner-written, never shared while the window is open; read by others as a hint or after it.
#ifndef MEASURE_COUNTERS_H
#define MEASURE_COUNTERS_H

#include <stdint.h>

#define COUNTER_LIST(X)                                                                                      \
    X(switches)        /* from one thread to another, idle included */                                       \
    X(picks)           /* times the scheduler was asked for a thread */                                      \
    X(pick_cycles)     /* what that cost */                                                                  \
    X(ticks)           /* timer interrupts */                                                                \
    X(syscalls)        /* entries */                                                                         \
    X(page_faults)     /* those that mapped a page */                                                        \
    X(resched_sent)    /* reschedule IPIs to others */                                                       \
    X(resched_taken)   /* and taken here */                                                                  \
    X(shootdowns)      /* TLB shootdowns begun here */                                                       \
    X(shootdown_acks)  /* and served here */                                                                 \
    X(migrations)      /* threads that began to run here and ran elsewhere before */                         \
    X(steals_tried)    /* queues looked at */                                                                \
    X(steals_done)     /* threads taken */                                                                   \
    X(queue_depth_max) /* deepest queue that an enqueue here has seen */                                     \
    X(idle_cycles)     /* in the idle thread */                                                              \
    X(busy_cycles)     /* in any other thread */                                                             \
    X(foreign_cycles)  /* in processes whose parent is gone */                                               \
    X(serial_bytes)    /* written to the port */

// Lock classes in the order in which they may be taken: a CPU that holds one takes only later ones.
#define LOCK_LIST(X) X(process) X(vm) X(shared) X(park) X(queue) X(timer) X(pages) X(serial)

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

// For whoever reads all of them by their number: the plain ones first, then three for each lock class.
#define COUNTERS (sizeof(struct counters) / sizeof(uint64_t))
#define PLAIN_COUNTERS (__builtin_offsetof(struct counters, lock_takes) / sizeof(uint64_t))

#endif
