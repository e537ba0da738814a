// services: each worker uses every service of services.h once and reports what came of it.
#include "services.h"

#define MESSAGE 3000u
#define SHORT_NS 200000u // of one sleep and of one wait that nobody ends

enum { VALUE_TASK, VALUE_CHILD, VALUE_STATUS, VALUE_SUM, VALUE_MEETING, VALUE_PAGES, VALUE_TIMEOUT };

struct shared {
    struct bench_barrier barrier;
    struct bench_lock lock;
    uint64_t meeting; // guarded by lock: the sum of all numbers
    uint64_t answer[BENCH_MAX_WORKERS];
    int channel[BENCH_MAX_WORKERS];
    uint32_t quiet; // nobody changes or wakes it
};

static const char *prepare(struct bench_job *job) {
    struct shared *shared = port_shared(sizeof *shared);
    if (shared == NULL)
        return "no memory";
    shared->barrier.members = job->workers;
    for (unsigned i = 0; i < job->workers; i++)
        if ((shared->channel[i] = port_channel()) < 0)
            return "no channel";
    job->data = shared;
    return NULL;
}

static void square(void *argument) {
    uint64_t *number = argument;
    *number *= *number;
}

// Runs in a process of its own, so `argument` must point to shared memory.
static void triple(uint64_t argument) {
    uint64_t *number = (uint64_t *)argument;
    *number *= 3;
}

static uint64_t pass_on(const struct shared *shared, unsigned worker, unsigned workers) {
    uint8_t message[MESSAGE];
    uint64_t sum = 0;
    for (unsigned i = 0; i < MESSAGE; i++)
        message[i] = (uint8_t)(worker + i);
    if (port_send(shared->channel[(worker + 1) % workers], message, MESSAGE) != 0 ||
        port_receive(shared->channel[worker], message, MESSAGE) != 0)
        port_fail("the channel failed");
    for (unsigned i = 0; i < MESSAGE; i++)
        sum += (uint64_t)message[i] * (i + 1);
    return sum;
}

static uint64_t use_pages(void) {
    uint64_t zeroes = 0;
    uint8_t *pages = port_private(3 * 4096);
    for (unsigned i = 0; pages != NULL && i < 3 * 4096; i++)
        zeroes += pages[i] == 0;
    if (pages == NULL || port_unmap(pages, 3 * 4096) != 0)
        port_fail("memory could not be mapped and unmapped");
    return zeroes;
}

static void wait_for_times(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    struct shared *shared = job->data;
    uint64_t when = port_now() + bench_ticks(SHORT_NS);
    port_sleep_until(when);
    uint64_t woke = port_now();
    if (woke >= when)
        bench_record(bench_hist(job, worker, 0), woke - when);
    woke = port_now();
    slot->value[VALUE_TIMEOUT] = (uint64_t)-port_wait(&shared->quiet, 0, SHORT_NS);
    bench_record(bench_hist(job, worker, 1), port_now() - woke);
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    struct shared *shared = job->data;
    uint64_t number = worker + 2, *answer = &shared->answer[worker];
    int task = port_task(square, &number);
    if (task < 0 || port_task_join(task) != 0)
        port_fail("a task failed");
    slot->value[VALUE_TASK] = number;
    *answer = worker + 2;
    int child = port_child(triple, (uint64_t)answer);
    slot->value[VALUE_STATUS] = child < 0 ? 1 : (uint64_t)port_child_wait(child);
    slot->value[VALUE_CHILD] = *answer;
    slot->value[VALUE_SUM] = pass_on(shared, worker, job->workers);
    slot->value[VALUE_PAGES] = use_pages();
    wait_for_times(job, worker, slot);
    bench_lock(&shared->lock);
    shared->meeting += worker + 2;
    bench_unlock(&shared->lock);
    bench_barrier(&shared->barrier);
    slot->value[VALUE_MEETING] = shared->meeting;
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    fields[0] = (struct bench_field){"meeting", ((struct shared *)job->data)->meeting, 0};
    return 1;
}

static const char *const none[] = {NULL};
static const char *const value_names[] = {"task",    "child", "status",  "sum",
                                          "meeting", "pages", "timeout", NULL};
static const char *const hist_names[] = {"late", "waited", NULL};

const struct bench_workload bench_workload = {
    .name = "services",
    .mode = BENCH_PROCESS,
    .param_names = none,
    .task_names = none,
    .value_names = value_names,
    .hist_names = hist_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
