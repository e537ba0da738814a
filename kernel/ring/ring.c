#include "ring/ring.h"

#include "core/string.h"

void ring_open(struct ring_owner *owner, struct ring *page) {
    page->sq_head = page->sq_tail = page->cq_head = page->cq_tail = 0;
    owner->ring = page;
    owner->head = owner->tail = 0;
    atomic_store_explicit(&owner->busy, 0, memory_order_relaxed);
}

int ring_take(struct ring_owner *owner, struct ring_submission *to) {
    struct ring *ring = owner->ring;
    // acquire: pairs with the program's release of sq_tail, after it has filled the submission in
    uint32_t tail = __atomic_load_n(&ring->sq_tail, __ATOMIC_ACQUIRE);
    // acquire: pairs with the program's release of cq_head, after it has read the completion
    uint32_t seen = __atomic_load_n(&ring->cq_head, __ATOMIC_ACQUIRE);
    if (tail - owner->head > RING_SIZE || owner->tail - seen > RING_SIZE)
        return -RING_EINVAL;
    if (tail == owner->head || owner->tail - seen == RING_SIZE)
        return 0;
    memcpy(to, &ring->sq[owner->head % RING_SIZE], sizeof *to);
    return 1;
}

void ring_put(struct ring_owner *owner, const struct ring_completion *completion) {
    struct ring *ring = owner->ring;
    memcpy(&ring->cq[owner->tail % RING_SIZE], completion, sizeof *completion);
    // release: pairs with the program's acquire of cq_tail
    __atomic_store_n(&ring->cq_tail, ++owner->tail, __ATOMIC_RELEASE);
    __atomic_store_n(&ring->sq_head, ++owner->head, __ATOMIC_RELEASE);
}
