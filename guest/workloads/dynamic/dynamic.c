// dynamic: items of very different cost, which the workers take one by one from a shared queue.
//
// Item i costs `grain` turns, doubled as often as random number `seed` + i ends in zero bits, at most `skew`
// times. Half of the items therefore cost `grain`, a quarter twice that, and so on: each size contributes the
// same to the whole. Nobody knows the cost of an item before it is taken, so equal shares of items would not
// be equal work. The answer of an item is its random number after its turns.
#include "work.h"

#define ITEMS_MAX 1000000u
#define GRAIN_MAX 1000000u
#define SKEW_MAX 16u

enum { VALUE_ITEMS, VALUE_TURNS, VALUE_SUM };

struct queue {
    _Alignas(128) uint64_t next; // the first item that nobody has taken
    _Alignas(128) uint64_t items;
    uint64_t grain, skew, seed;
    uint64_t *answer; // of each item
    uint32_t *done;   // how often each item was done
};

static const char *prepare(struct bench_job *job) {
    uint64_t items = bench_param_u64("items", 0), grain = bench_param_u64("grain", 0);
    uint64_t skew = bench_param_u64("skew", 0), seed = bench_param_u64("seed", 0);
    if (items < 1 || items > ITEMS_MAX)
        return "bench.items must be 1 to 1000000";
    if (grain < 1 || grain > GRAIN_MAX)
        return "bench.grain must be 1 to 1000000";
    if (skew > SKEW_MAX)
        return "bench.skew must be 0 to 16";
    struct queue *queue = port_shared(sizeof *queue);
    uint64_t *answer = port_shared(items * sizeof *answer);
    uint32_t *done = port_shared(items * sizeof *done);
    if (queue == NULL || answer == NULL || done == NULL)
        return "no memory for the items";
    *queue = (struct queue){.items = items, .grain = grain, .skew = skew, .seed = seed};
    queue->answer = answer;
    queue->done = done;
    for (uint64_t i = 0; i < items; i++) { // touch the pages, so that work() takes no page fault
        answer[i] = ~0ull;
        done[i] = 0;
    }
    job->data = queue;
    return NULL;
}

static uint64_t cost_of(const struct queue *queue, uint64_t random) {
    unsigned zeros = random == 0 ? 64 : (unsigned)__builtin_ctzll(random);
    return queue->grain << (zeros < queue->skew ? zeros : queue->skew);
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    struct queue *queue = job->data;
    uint64_t item, items = 0, turns = 0, sum = 0;
    (void)worker; // all take from the same queue
    while ((item = bench_next(&queue->next)) < queue->items) {
        uint64_t random = bench_mix(queue->seed + item);
        uint64_t cost = cost_of(queue, random);
        uint64_t answer = bench_turns(random, cost);
        queue->answer[item] = answer;
        __atomic_fetch_add(&queue->done[item], 1, __ATOMIC_RELAXED);
        items++;
        turns += cost;
        sum += answer;
    }
    slot->value[VALUE_ITEMS] = items;
    slot->value[VALUE_TURNS] = turns;
    slot->value[VALUE_SUM] = sum;
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    const struct queue *queue = job->data;
    uint64_t lost = 0, twice = 0, fold = 0;
    for (uint64_t i = 0; i < queue->items; i++) {
        lost += queue->done[i] == 0;
        twice += queue->done[i] > 1;
        fold = bench_fold(fold, queue->answer[i]);
    }
    fields[0] = (struct bench_field){"lost", lost, 0};
    fields[1] = (struct bench_field){"twice", twice, 0};
    fields[2] = (struct bench_field){"fold", fold, 1};
    return 3;
}

static const char *const param_names[] = {"items", "grain", "skew", "seed", NULL};
static const char *const task_names[] = {NULL};
static const char *const value_names[] = {"items", "turns", "#sum", NULL};

const struct bench_workload bench_workload = {
    .name = "dynamic",
    .mode = BENCH_PROCESS,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
