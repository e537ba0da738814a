// The three policies against a simple model: which thread is queued where, and in which order threads may
// come out.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/fault.h"
#include "host/host.h"
#include "sched/choose.h"
#include "sched/common.h"

#define CPUS 4
#define ENTITIES 40
#define STEPS 4000

static const struct sched_policy *const policies[] = {&sched_global, &sched_rr, &sched_wfq};

static void reset(const struct sched_policy *policy, struct sched_entity *entity, unsigned count) {
    policy->init(CPUS);
    sched_cpus.cycles_per_us = 1000;
    atomic_store(&sched_cpus.idle, 0);
    memset(entity, 0, count * sizeof *entity);
    for (unsigned i = 0; i < count; i++)
        entity[i].weight = 512 << i % 3;
}

// The model: for each entity the CPU whose queue it is in, -1 for none, and when it was enqueued.
struct model {
    int where[ENTITIES];
    unsigned long since[ENTITIES], clock;
};

static unsigned in_queue(const struct model *model, unsigned cpu, bool global) {
    unsigned n = 0;
    for (unsigned i = 0; i < ENTITIES; i++)
        n += model->where[i] >= 0 && (global || model->where[i] == (int)cpu);
    return n;
}

// Whether the policy may return entity i next from its queue.
static int may_come(const struct sched_policy *policy, const struct model *model,
                    const struct sched_entity *entity, unsigned i) {
    for (unsigned j = 0; j < ENTITIES; j++) {
        if (j == i || model->where[j] < 0 || (policy != &sched_global && model->where[j] != model->where[i]))
            continue;
        if (policy == &sched_wfq ? (int64_t)(entity[j].finish - entity[i].finish) < 0
                                 : model->since[j] < model->since[i])
            return 0;
    }
    return 1;
}

static int take_out(const struct sched_policy *policy, struct model *model, struct sched_entity *entity,
                    struct sched_entity *taken) {
    unsigned i = (unsigned)(taken - entity);
    NEED(i < ENTITIES && model->where[i] >= 0 && taken->queue == NULL);
    NEED(may_come(policy, model, entity, i));
    model->where[i] = -1;
    taken->ran += 1000 * (i + 1);
    return 0;
}

static int one_step(const struct sched_policy *policy, struct model *model, struct sched_entity *entity,
                    uint64_t *random) {
    unsigned i = (unsigned)(host_random(random) % ENTITIES), cpu = (unsigned)(host_random(random) % CPUS);
    bool global = policy == &sched_global;
    struct sched_entity *taken = NULL;
    switch (host_random(random) % 5) {
    case 0:
    case 1:
        if (model->where[i] >= 0)
            return 0;
        policy->enqueue(cpu, &entity[i], (enum sched_why)(host_random(random) % 3));
        model->where[i] = (int)cpu;
        model->since[i] = ++model->clock;
        return 0;
    case 2:
        taken = policy->pick(cpu);
        NEED((taken != NULL) == (in_queue(model, cpu, global) != 0));
        NEED(taken == NULL || global || model->where[taken - entity] == (int)cpu);
        break;
    case 3:
        taken = policy->steal(cpu);
        NEED(taken == NULL || model->where[taken - entity] != (int)cpu);
        NEED(taken != NULL || global || in_queue(model, cpu, false) == in_queue(model, 0, true));
        break;
    default:
        NEED(policy->dequeue(&entity[i]) == (model->where[i] >= 0));
        NEED(entity[i].queue == NULL);
        model->where[i] = -1;
        return 0;
    }
    return taken != NULL ? take_out(policy, model, entity, taken) : 0;
}

static int agrees_with_model(uint64_t seed) {
    for (unsigned p = 0; p < 3; p++) {
        struct sched_entity entity[ENTITIES];
        struct model model = {.clock = 0};
        reset(policies[p], entity, ENTITIES);
        for (unsigned i = 0; i < ENTITIES; i++)
            model.where[i] = -1;
        for (unsigned step = 0; step < STEPS; step++) {
            int failed = one_step(policies[p], &model, entity, &seed);
            if (failed)
                return failed;
        }
        for (unsigned cpu = 0; cpu < CPUS; cpu++)
            NEED(policies[p]->balanced(cpu));
    }
    return 0;
}

// Runs one CPU's queue for a second of simulated time; returns whether shares follow weights within 2%.
static int shares_are_fair(void) {
    static const uint32_t weight[] = {1024, 2048, 3072, 512};
    struct sched_entity entity[4];
    reset(&sched_wfq, entity, 4);
    for (unsigned i = 0; i < 4; i++) {
        entity[i].weight = weight[i];
        sched_wfq.enqueue(0, &entity[i], SCHED_NEW);
    }
    struct sched_entity *running = sched_wfq.pick(0);
    for (unsigned slice = 0; slice < 1000000 / SLICE_SHARED_US; slice++) {
        running->ran += SLICE_SHARED_US * sched_cpus.cycles_per_us;
        if (!sched_wfq.tick(0, running))
            continue;
        struct sched_entity *next = sched_wfq.pick(0);
        sched_wfq.enqueue(0, running, SCHED_PREEMPTED);
        running = next;
    }
    uint64_t sum = 0;
    for (unsigned i = 0; i < 4; i++)
        sum += entity[i].ran;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t due = sum * weight[i] / 6656;
        if (entity[i].ran * 100 < due * 98 || entity[i].ran * 100 > due * 102)
            return 0;
    }
    return 1;
}

static int fairness(uint64_t seed) {
    (void)seed;
    NEED(shares_are_fair());
    fault_chosen = FAULT_UNFAIR_WEIGHT; // shows that the check can fail
    int fair = shares_are_fair();
    fault_chosen = FAULT_NONE;
    NEED(!fair);
    return 0;
}

// However long a thread slept, it gets no more credit than its class allows.
static int sleepers_do_not_save_up(uint64_t seed) {
    (void)seed;
    struct sched_entity entity[3];
    reset(&sched_wfq, entity, 3);
    for (unsigned i = 0; i < 3; i++)
        entity[i].weight = SCHED_WEIGHT;
    sched_wfq.enqueue(0, &entity[0], SCHED_NEW);
    entity[0].ran = 1000000000; // ran alone for a long time
    NEED(sched_wfq.pick(0) == &entity[0]);
    sched_wfq.tick(0, &entity[0]);
    sched_wfq.enqueue(0, &entity[1], SCHED_WAKE);
    entity[2].latency = 1;
    sched_wfq.enqueue(0, &entity[2], SCHED_WAKE);
    uint64_t clock = sched_queues[0].clock, slice = SLICE_SHARED_US * sched_cpus.cycles_per_us;
    NEED(entity[1].virtual_time == clock);
    NEED(entity[2].virtual_time == clock - slice);
    NEED(sched_wfq.pick(0) == &entity[2]);
    return 0;
}

static int search_is_bounded(uint64_t seed) {
    (void)seed;
    struct sched_entity entity[4];
    reset(&sched_rr, entity, 4);
    memset(sched_search, 0, sizeof sched_search);
    sched_rr.init(16);
    for (unsigned cpu = 1; cpu <= 8; cpu++)
        sched_cpus.waiting |= 1ul << cpu; // a wrong hint: the queues are empty
    NEED(sched_rr.steal(0) == NULL);
    NEED(sched_search[0].tried == STEAL_VICTIMS && sched_search[0].done == 0);
    return 0;
}

// Four CPUs at once on shared queues: no entity is lost, none comes out twice.
static struct sched_entity shared_entity[ENTITIES];
static const struct sched_policy *shared_policy;
static _Atomic int owners[ENTITIES];
static _Atomic int wrong;

static void *play_cpu(void *argument) {
    uint64_t random = host_cpu = (unsigned)(uintptr_t)argument;
    for (unsigned step = 0; step < 20000; step++) {
        struct sched_entity *taken = shared_policy->pick(host_cpu);
        if (taken == NULL)
            taken = shared_policy->steal(host_cpu);
        if (taken == NULL)
            continue;
        if (atomic_fetch_add(&owners[taken - shared_entity], 1) != 0)
            atomic_store(&wrong, 1);
        taken->ran += host_random(&random) % 1000;
        atomic_fetch_sub(&owners[taken - shared_entity], 1);
        shared_policy->enqueue((unsigned)(host_random(&random) % CPUS), taken, SCHED_PREEMPTED);
    }
    return NULL;
}

static int one_owner(uint64_t seed) {
    pthread_t cpu[CPUS];
    shared_policy = policies[seed % 3];
    reset(shared_policy, shared_entity, ENTITIES);
    for (unsigned i = 0; i < ENTITIES; i++)
        shared_policy->enqueue(i % CPUS, &shared_entity[i], SCHED_NEW);
    for (uintptr_t i = 0; i < CPUS; i++)
        NEED(pthread_create(&cpu[i], NULL, play_cpu, (void *)i) == 0);
    for (unsigned i = 0; i < CPUS; i++)
        pthread_join(cpu[i], NULL);
    NEED(!atomic_load(&wrong));
    unsigned left = 0;
    for (unsigned i = 0; i < CPUS; i++)
        while (shared_policy->pick(i) != NULL)
            left++;
    NEED(left == ENTITIES);
    for (unsigned i = 0; i < CPUS; i++)
        NEED(shared_policy->balanced(i));
    return 0;
}

// A CPU picks its first thread just before a thief has the lock of its queue.
static struct sched_entity *picked;

static void owner_picks(void) {
    picked = sched_wfq.pick(1);
}

static struct sched_entity *stolen_meanwhile(struct sched_entity *(*search)(unsigned cpu)) {
    static struct sched_entity entity[2];
    reset(&sched_wfq, entity, 2);
    sched_wfq.enqueue(1, &entity[0], SCHED_NEW);
    sched_wfq.enqueue(1, &entity[1], SCHED_NEW);
    host_hook = owner_picks;
    return search(0);
}

static int steals_what_is_there(uint64_t seed) {
    (void)seed;
    struct sched_entity *stolen = stolen_meanwhile(sched_search_others);
    NEED(picked != NULL && stolen != NULL && stolen != picked);
    stolen = stolen_meanwhile(sched_search_early); // the wrong copy: two CPUs have one thread
    NEED(picked != NULL && stolen == picked);
    return 0;
}

// fault=crowd: idle CPUs take nothing, and what is woken anywhere is queued on one CPU.
static int a_crowd_has_one_cpu(uint64_t seed) {
    for (unsigned p = 0; p < 3; p++) {
        struct sched_entity entity[2];
        bool claimed = true;
        const struct sched_policy *crowd = sched_crowded(policies[p], 1);
        reset(crowd, entity, 2);
        NEED(crowd->wake_cpu(&entity[0], (unsigned)(seed % CPUS), &claimed) == 1 && !claimed);
        crowd->enqueue(1, &entity[0], SCHED_NEW);
        for (unsigned cpu = 0; cpu < CPUS; cpu++)
            NEED(cpu == 1 || (crowd->pick(cpu) == NULL && crowd->steal(cpu) == NULL));
        NEED(crowd->pick(1) == &entity[0]);
        atomic_store(&sched_cpus.idle, 3);
        NEED(crowd->wake_cpu(&entity[1], 0, &claimed) == 1 && claimed);
        NEED(atomic_load(&sched_cpus.idle) == 1);
        atomic_store(&sched_cpus.idle, 0);
    }
    return 0;
}

// fault=deaf-wake:3: of nine wake-ups while another CPU idles, three stay with the waker.
static int a_deaf_wake_up_stays(uint64_t seed) {
    struct sched_entity entity = {.cpu = 2};
    unsigned stayed = 0, here = (unsigned)(seed % 2);
    sched_init_queues(CPUS);
    fault_value = 3;
    for (unsigned i = 0; i < 9; i++) {
        bool claimed = false;
        atomic_store(&sched_cpus.idle, 1ul << 2);
        unsigned to = sched_wake_cpu_deaf(&entity, here, &claimed);
        stayed += to == here;
        NEED(claimed && (to == here || to == 2));
        NEED((atomic_load(&sched_cpus.idle) != 0) == (to == here));
    }
    atomic_store(&sched_cpus.idle, 0);
    fault_value = 0;
    NEED(stayed == 3);
    return 0;
}

// fault=half: CPUs 0 and 1 see nothing of what waits for CPUs 2 and 3.
static int half_of_the_cpus_are_searched(uint64_t seed) {
    struct sched_entity entity[2];
    unsigned cpu = (unsigned)(seed % CPUS), near = cpu ^ 1, far = cpu ^ 2;
    reset(&sched_wfq, entity, 2);
    sched_wfq.enqueue(far, &entity[0], SCHED_WAKE);
    NEED(sched_search_half(cpu) == NULL);
    sched_wfq.enqueue(near, &entity[1], SCHED_WAKE);
    NEED(sched_search_half(cpu) == &entity[1] && sched_search_half(cpu) == NULL);
    NEED(sched_search_others(cpu) == &entity[0]);
    return 0;
}

// fault=behind:2: of two woken threads one is due a hundred slices late, and those that come later go before it.
static int one_thread_is_behind(uint64_t seed) {
    struct sched_entity entity[3];
    (void)seed;
    reset(&sched_wfq, entity, 3);
    fault_value = 2;
    for (unsigned i = 0; i < 2; i++) {
        entity[i].weight = SCHED_WEIGHT;
        wfq_enqueue_behind(0, &entity[i], SCHED_WAKE);
    }
    fault_value = 0;
    unsigned behind = entity[1].finish > entity[0].finish;
    sched_wfq.enqueue(0, &entity[2], SCHED_NEW);
    NEED(sched_queues[0].last == &entity[behind]);
    NEED(entity[behind].finish == 100 * entity[1 - behind].finish);
    return 0;
}

const struct check sched_checks[] = {
    {"sched-model", agrees_with_model},
    {"sched-fair", fairness},
    {"sched-sleepers", sleepers_do_not_save_up},
    {"sched-bounded", search_is_bounded},
    {"sched-steal", steals_what_is_there},
    {"sched-owner", one_owner},
    {"sched-crowd", a_crowd_has_one_cpu},
    {"sched-deaf", a_deaf_wake_up_stays},
    {"sched-half", half_of_the_cpus_are_searched},
    {"sched-behind", one_thread_is_behind},
    {NULL, NULL},
};
