// The enter call: drains a ring. A thread's ring is its own; any thread of a process may drain the process's
// ring, one thread at a time.
#include "arch/tsc.h"
#include "core/process.h"
#include "ring/ring.h"

static bool claim(struct ring_owner *owner) {
    uint32_t free = 0;
    // acquire: pairs with the release in ring_enter; the next thread to drain sees the counts that this one
    // left
    return atomic_compare_exchange_strong_explicit(&owner->busy, &free, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

// Drains RING_SIZE submissions at most: a sibling that refills the ring as fast as it is drained would keep
// this CPU in the kernel forever.
static int64_t drain(struct ring_owner *owner, uint64_t min_complete, uint64_t deadline) {
    int64_t done = 0;
    struct ring_submission submission;
    int next = 0;
    while (done < RING_SIZE && (next = ring_take(owner, &submission)) == 1) {
        struct ring_wait wait = {.allowed = (uint64_t)done < min_complete, .deadline = deadline};
        struct ring_completion completion = {.tag = submission.tag};
        operation(&submission, &wait, &completion);
        if (wait.later || completion.result == -RING_EINTR)
            break;
        ring_put(owner, &completion);
        done++;
    }
    return next < 0 ? next : done;
}

// A timeout beyond the range of the clock is cut to half of that range, which is centuries.
static uint64_t after(uint64_t us) {
    uint64_t most = UINT64_MAX / 2 / cycles_per_us;
    return now() + (us < most ? us : most) * cycles_per_us + 1;
}

int64_t ring_enter(uint64_t min_complete, uint64_t timeout_ns, bool process_ring) {
    struct thread *me = current();
    struct ring_owner *owner = process_ring || me->user_slot == 0 ? &me->process->ring : &me->ring;
    uint64_t deadline = timeout_ns ? after(timeout_ns / 1000) : 0;
    if (!claim(owner))
        return -RING_EAGAIN;
    int64_t result = drain(owner, min_complete, deadline);
    atomic_store_explicit(&owner->busy, 0, memory_order_release);
    if (result == -RING_EINVAL)
        process_kill(RING_VECTOR_NONE, 0, 0, "ring-counts");
    return result;
}
