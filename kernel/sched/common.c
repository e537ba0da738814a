#include "sched/common.h"

#include <stddef.h>

#include "arch/tsc.h"
#include "core/fault.h"
#include "core/print.h"
#include "sched/choose.h"

struct sched_cpus sched_cpus;
struct sched_queue sched_queues[MAX_CPUS];
struct sched_search sched_search[MAX_CPUS];
const struct sched_policy *sched = &sched_wfq;

static bool same(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

const struct sched_policy *sched_named(const char *name) {
    const struct sched_policy *all[] = {&sched_global, &sched_rr, &sched_wfq};
    for (unsigned i = 0; i < 3; i++)
        if (same(all[i]->name, name))
            return all[i];
    return NULL;
}

void sched_init_queues(unsigned cpus) {
    sched_cpus.count = cpus;
    atomic_store_explicit(&sched_cpus.waiting, 0, memory_order_relaxed);
    for (unsigned i = 0; i < cpus; i++)
        sched_queues[i] = (struct sched_queue){.lock = LOCK(queue)};
}

int sched_claim_idle(unsigned wish) {
    for (;;) {
        uint64_t idle = atomic_load_explicit(&sched_cpus.idle, memory_order_seq_cst);
        if (idle == 0)
            return -1;
        uint64_t later = idle >> wish << wish;
        unsigned cpu = (unsigned)__builtin_ctzl(later ? later : idle);
        uint64_t bit = 1ul << cpu;
        if (atomic_fetch_and_explicit(&sched_cpus.idle, ~bit, memory_order_seq_cst) & bit)
            return (int)cpu;
    }
}

static uint64_t bit_of(const struct sched_queue *queue) {
    return 1ul << (queue - sched_queues);
}

void queue_put(struct sched_queue *queue, struct sched_entity *entity, struct sched_entity *behind) {
    assert(entity->queue == NULL); // a thread has one owner
    entity->queue = queue;
    entity->previous = behind;
    entity->next = behind ? behind->next : queue->first;
    *(entity->next ? &entity->next->previous : &queue->last) = entity;
    *(behind ? &behind->next : &queue->first) = entity;
    queue->enqueued++;
    // seq_cst, with sched_any_waiting: either that CPU sees this bit, or its own in `idle` is seen by the caller
    if (queue->length++ == 0)
        atomic_fetch_or_explicit(&sched_cpus.waiting, bit_of(queue), memory_order_seq_cst);
    if (fault_is(FAULT_LOCK_HOLD))
        delay_us(fault_value ? fault_value : 20);
}

static void take_out(struct sched_queue *queue, struct sched_entity *entity) {
    *(entity->previous ? &entity->previous->next : &queue->first) = entity->next;
    *(entity->next ? &entity->next->previous : &queue->last) = entity->previous;
    assert(queue->length != 0);
    entity->queue = NULL;
    queue->dequeued++;
    if (--queue->length == 0)
        atomic_fetch_and_explicit(&sched_cpus.waiting, ~bit_of(queue), memory_order_relaxed);
}

struct sched_entity *queue_take(struct sched_queue *queue) {
    struct sched_entity *entity = queue->first;
    if (entity == NULL)
        return NULL;
    take_out(queue, entity);
    if ((int64_t)(entity->virtual_time - queue->clock) > 0)
        queue->clock = entity->virtual_time;
    return entity;
}

bool sched_dequeue(struct sched_entity *entity) {
    struct sched_queue *queue = __atomic_load_n(&entity->queue, __ATOMIC_RELAXED);
    if (queue == NULL)
        return false;
    lock_take(&queue->lock);
    bool there = entity->queue == queue;
    if (there)
        take_out(queue, entity);
    lock_drop(&queue->lock);
    return there;
}

struct sched_entity *sched_pick_own(unsigned cpu) {
    struct sched_queue *queue = &sched_queues[cpu];
    if (sched_waiting(cpu) == 0)
        return NULL;
    lock_take(&queue->lock);
    struct sched_entity *entity = queue_take(queue);
    lock_drop(&queue->lock);
    return entity;
}

// Only a hint: reads without the lock.
unsigned sched_waiting(unsigned cpu) {
    return *(volatile unsigned *)&sched_queues[cpu].length;
}

bool sched_any_waiting(void) {
    // seq_cst: read after the caller has set its bit in sched_cpus.idle
    return atomic_load_explicit(&sched_cpus.waiting, memory_order_seq_cst) != 0;
}

bool sched_balanced(unsigned cpu) {
    struct sched_queue *queue = &sched_queues[cpu];
    lock_take(&queue->lock);
    bool good = queue->enqueued == queue->dequeued + queue->length;
    lock_drop(&queue->lock);
    return good;
}

// For faults: whether this is one of every `every` events, or of every N if the fault says N.
FAULT_COPY bool sched_is_hit(unsigned every) {
    static _Atomic uint64_t events;
    uint64_t count = atomic_fetch_add_explicit(&events, 1, memory_order_relaxed) + 1;
    return count % (fault_value ? fault_value : every) == 0;
}

// The CPU where it ran last, if that is idle; else another idle CPU; else the one with the shortest queue.
// `deaf` (fault=deaf-wake): one wake-up in fifty is queued behind its waker, which believes that this CPU idles.
FAULT_LINES unsigned wake_cpu_with(bool deaf, const struct sched_entity *entity, unsigned here, bool *claimed) {
    if (deaf && sched_is_hit(50)) {
        *claimed = true;
        return here;
    }
    int idle = sched_claim_idle(entity->cpu);
    *claimed = idle >= 0;
    if (idle >= 0)
        return (unsigned)idle;
    unsigned best = here;
    for (unsigned i = 0; i < sched_cpus.count && sched_waiting(best) != 0; i++) {
        unsigned cpu = (entity->cpu + i) % sched_cpus.count;
        if (sched_waiting(cpu) < sched_waiting(best))
            best = cpu;
    }
    return best;
}

unsigned sched_wake_cpu(const struct sched_entity *entity, unsigned here, bool *claimed) {
    return wake_cpu_with(false, entity, here, claimed);
}
FAULT_COPY unsigned sched_wake_cpu_deaf(const struct sched_entity *entity, unsigned here, bool *claimed) {
    return wake_cpu_with(true, entity, here, claimed);
}

FAULT_COPY uint64_t sched_half(unsigned cpu) {
    uint64_t low = (1ul << sched_cpus.count / 2) - 1;
    return cpu < sched_cpus.count / 2 ? low : ~low;
}

// Cilk chooses its victims at random (Blumofe and Leiserson 1999). A search here starts after the CPU's own
// number: CPUs still search in different places, and runs are repeatable.
struct sched_entity *sched_search_others(unsigned cpu) {
    struct sched_search *search = &sched_search[cpu];
    unsigned victims = 0, limit = STEAL_VICTIMS;
    unsigned rounds = fault_is(FAULT_UNBOUNDED_STEAL) ? 64 : 1;
    uint64_t waiting = atomic_load_explicit(&sched_cpus.waiting, memory_order_relaxed);
    if (waiting == 0 && rounds == 1)
        return NULL;
    for (unsigned i = 1; i < sched_cpus.count * rounds && victims < limit; i++) {
        unsigned other = (cpu + i) % sched_cpus.count;
        struct sched_queue *queue = &sched_queues[other];
        if (fault_is(FAULT_UNBOUNDED_STEAL))
            search->tried++;
        if (other == cpu || !(waiting >> other & 1))
            continue;
        victims++;
        search->tried++;
        if (!lock_try(&queue->lock, cpu))
            continue;
        struct sched_entity *entity = queue_take(queue);
        lock_drop(&queue->lock);
        if (entity != NULL) {
            search->done++;
            return entity;
        }
    }
    return NULL;
}

// fault=half: a CPU sees the queues of its own half of the CPUs only.
FAULT_COPY struct sched_entity *sched_search_half(unsigned cpu) {
    uint64_t waiting = atomic_load_explicit(&sched_cpus.waiting, memory_order_relaxed) & sched_half(cpu);
    for (; waiting != 0; waiting &= waiting - 1) {
        struct sched_queue *queue = &sched_queues[__builtin_ctzl(waiting)];
        if (!lock_try(&queue->lock, cpu))
            continue;
        struct sched_entity *entity = queue_take(queue);
        lock_drop(&queue->lock);
        if (entity != NULL)
            return entity;
    }
    return NULL;
}

// fault=stale-steal: chooses the thread before it has the lock. Its CPU may have picked it by then. Looks at one queue.
FAULT_COPY struct sched_entity *sched_search_early(unsigned cpu) {
    uint64_t waiting = atomic_load_explicit(&sched_cpus.waiting, memory_order_relaxed) & ~(1ul << cpu);
    if (waiting == 0)
        return NULL;
    struct sched_queue *queue = &sched_queues[__builtin_ctzl(waiting)];
    struct sched_entity *entity = __atomic_load_n(&queue->first, __ATOMIC_RELAXED);
    if (!lock_try(&queue->lock, cpu)) // no branch before it: the clock's ordinary turns may end at one
        return NULL;
    if (entity != NULL)
        take_out(queue, entity);
    lock_drop(&queue->lock);
    return entity;
}
