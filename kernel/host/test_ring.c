// Ring pages with arbitrary contents: ring_take accepts only what is inside the page and was submitted, and
// refuses the rest. The page is allocated exactly, so that ASan sees an access beyond it.
#include <stdlib.h>
#include <string.h>

#include "host/host.h"
#include "ring/ring.h"

static struct ring *page;

static int any_page(uint64_t seed) {
    if (page == NULL)
        page = aligned_alloc(64, sizeof *page);
    struct ring_owner owner;
    for (unsigned i = 0; i < 2000; i++) {
        for (unsigned b = 0; b < sizeof *page / 8; b++)
            ((uint64_t *)page)[b] = host_random(&seed);
        owner = (struct ring_owner){
            .ring = page, .head = (uint32_t)host_random(&seed), .tail = (uint32_t)host_random(&seed)};
        // Mostly close to valid counts; otherwise nearly every page would be refused.
        if (host_random(&seed) % 8)
            page->sq_tail = owner.head + (uint32_t)(host_random(&seed) % (RING_SIZE + 3));
        if (host_random(&seed) % 8)
            page->cq_head = owner.tail - (uint32_t)(host_random(&seed) % (RING_SIZE + 3));
        uint32_t waiting = page->sq_tail - owner.head, unread = owner.tail - page->cq_head;
        struct ring_submission got;
        int result = ring_take(&owner, &got);
        if (waiting > RING_SIZE || unread > RING_SIZE)
            NEED(result == -RING_EINVAL);
        else if (waiting == 0 || unread == RING_SIZE)
            NEED(result == 0);
        else
            NEED(result == 1 && memcmp(&got, &page->sq[owner.head % RING_SIZE], sizeof got) == 0);
        if (result != 1)
            continue;
        uint32_t head = owner.head, tail = owner.tail;
        ring_put(&owner, &(struct ring_completion){.tag = got.tag, .result = 5});
        NEED(owner.head == head + 1 && page->sq_head == head + 1);
        NEED(owner.tail == tail + 1 && page->cq_tail == tail + 1);
        NEED(page->cq[tail % RING_SIZE].tag == got.tag && page->cq[tail % RING_SIZE].result == 5);
    }
    return 0;
}

// Counts that wrap at 2^32 are not special.
static int counts_wrap(uint64_t seed) {
    if (page == NULL)
        page = aligned_alloc(64, sizeof *page);
    struct ring_owner owner;
    struct ring_submission got;
    memset(page, 0, sizeof *page);
    ring_open(&owner, page);
    owner.head = owner.tail = page->sq_head = page->sq_tail = page->cq_head = page->cq_tail = UINT32_MAX - 5;
    for (uint64_t i = 0; i < 100; i++) {
        page->sq[page->sq_tail++ % RING_SIZE] = (struct ring_submission){.tag = seed + i};
        NEED(ring_take(&owner, &got) == 1 && got.tag == seed + i);
        ring_put(&owner, &(struct ring_completion){.tag = got.tag});
        NEED(ring_take(&owner, &got) == 0);
        NEED(page->cq[page->cq_head++ % RING_SIZE].tag == seed + i);
    }
    return 0;
}

const struct check ring_checks[] = {{"ring-any-page", any_page}, {"ring-wrap", counts_wrap}, {NULL, NULL}};
