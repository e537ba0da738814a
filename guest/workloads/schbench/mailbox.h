// How two threads of schbench wake each other: a parked word, and the time at which it was posted.
#ifndef SCHBENCH_MAILBOX_H
#define SCHBENCH_MAILBOX_H

#include "services.h"

// The owner sets EMPTY before it looks for work, and waits for POSTED after it found none. One sender at a
// time turns EMPTY into POSTING, which makes `when` its own, and then into POSTED. A time can therefore never
// belong to another wake-up than the one that the owner sees.
enum { EMPTY, POSTING, POSTED };

struct mailbox {
    _Alignas(128) uint32_t word;
    uint64_t when; // of port_now(); 0: posted for another reason than a request
};

// Sequentially consistent, here and in mailbox_post: either the owner sees what the sender put into its list
// before it posted, or the sender sees EMPTY.
static inline void mailbox_clear(struct mailbox *box) {
    __atomic_store_n(&box->word, EMPTY, __ATOMIC_SEQ_CST);
}

// Does nothing if the owner is awake or somebody else wakes it.
static inline void mailbox_post(struct mailbox *box, uint64_t when) {
    uint32_t seen = EMPTY;
    if (!__atomic_compare_exchange_n(&box->word, &seen, POSTING, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
        return;
    box->when = when;
    __atomic_store_n(&box->word, POSTED, __ATOMIC_RELEASE);
    port_wake(&box->word, 1);
}

// Until it is posted, or until timeout_ns have passed (0: no limit). True if it was posted.
static inline int mailbox_await(struct mailbox *box, uint64_t timeout_ns) {
    for (;;) {
        uint32_t seen = __atomic_load_n(&box->word, __ATOMIC_ACQUIRE);
        if (seen == POSTED)
            return 1;
        if (port_wait(&box->word, seen, timeout_ns) == -PORT_TIMEOUT)
            return __atomic_load_n(&box->word, __ATOMIC_ACQUIRE) == POSTED;
    }
}

// The owner found work after it had set EMPTY. False if a sender was faster and wakes it nevertheless.
static inline int mailbox_reclaim(struct mailbox *box) {
    uint32_t seen = EMPTY;
    return __atomic_compare_exchange_n(&box->word, &seen, POSTED, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

#endif
