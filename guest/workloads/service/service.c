// service: clients send requests to servers through the system's channels and wait for each reply.
//
// There are as many servers as CPUs, and a client for each. The workers 0 .. CPUs - 1 are the servers. The
// requests are divided equally among the clients. Request i carries random number i; the reply is what its
// turns make of that: `grain`, and up to `spread` - 1 more, by the random number.
//
// route=own: a client asks the server of its own number. route=spread: it asks all in turn, beginning with
// its own; a server then has requests of all clients in its channel. After its last request a client sends a
// message without work to each server that it may have asked; a server ends when it has these of all its
// clients. A latency is from just before a request is sent to when its reply has arrived.
#include "work.h"

#define REQUESTS_MAX 10000000u
#define TURNS_MAX 1000000u

enum { TASK_SERVER = TASK_HI + 1 };
enum { VALUE_CALLS, VALUE_ANSWERS, VALUE_WRONG, VALUE_SERVED, VALUE_SERVED_ANSWERS, VALUE_TURNS };
enum { HIST_LATENCY };

// 64 bytes, a power of two, so that no system has to divide one.
struct message {
    uint64_t client; // the worker; LAST added: no request, but the end of this client
    uint64_t number, argument, answer;
    uint64_t unused[4];
};
#define LAST 1000u

struct shared {
    uint64_t grain, spread;
    uint32_t servers, own;
    int channel[BENCH_MAX_WORKERS]; // the one that each worker receives from
};

static const char *parameters(struct shared *shared) {
    shared->grain = bench_param_u64("grain", 0);
    shared->spread = bench_param_u64("spread", 0);
    shared->own = (uint32_t)bench_param_is("route", "own");
    if (shared->grain > TURNS_MAX)
        return "bench.grain must be 0 to 1000000";
    if (shared->spread < 1 || shared->spread > TURNS_MAX)
        return "bench.spread must be 1 to 1000000";
    if (!shared->own && !bench_param_is("route", "spread"))
        return "bench.route must be own or spread";
    return NULL;
}

static const char *prepare(struct bench_job *job) {
    uint64_t requests = bench_param_u64("requests", 0);
    struct shared *shared = port_shared(sizeof *shared);
    if (shared == NULL)
        return "no memory for the numbers of the channels";
    if (requests < 1 || requests > REQUESTS_MAX)
        return "bench.requests must be 1 to 10000000";
    if (job->cpus > BENCH_MAX_WORKERS / 2)
        return "bench.cpus must be 1 to 32: each has two workers";
    const char *wrong = parameters(shared);
    if (wrong != NULL)
        return wrong;
    shared->servers = job->cpus;
    job->workers = 2 * job->cpus;
    for (unsigned k = 0; k < job->workers; k++) {
        uint64_t client = k < job->cpus ? 0 : k - job->cpus;
        job->task[k][TASK_LO] = requests * client / job->cpus;
        job->task[k][TASK_HI] = k < job->cpus ? 0 : requests * (client + 1) / job->cpus;
        job->task[k][TASK_SERVER] = k < job->cpus;
        if ((shared->channel[k] = port_channel()) < 0)
            return "no channel";
    }
    job->data = shared;
    return NULL;
}

static void must(int error) {
    if (error != 0)
        port_fail("a message could not be moved");
}

static uint64_t cost_of(const struct shared *shared, uint64_t argument) {
    return shared->grain + argument % shared->spread;
}

static uint64_t answer_to(const struct shared *shared, uint64_t argument) {
    return bench_turns(argument, cost_of(shared, argument));
}

static void serve(const struct shared *shared, unsigned worker, struct bench_slot *slot) {
    uint64_t served = 0, sum = 0, turns = 0;
    unsigned clients = shared->own ? 1 : shared->servers;
    while (clients != 0) {
        struct message message;
        must(port_receive(shared->channel[worker], &message, sizeof message));
        if (message.client >= LAST) {
            clients--;
            continue;
        }
        turns += cost_of(shared, message.argument);
        message.answer = answer_to(shared, message.argument);
        served++;
        sum += message.answer;
        must(port_send(shared->channel[message.client], &message, sizeof message));
    }
    slot->value[VALUE_SERVED] = served;
    slot->value[VALUE_SERVED_ANSWERS] = sum;
    slot->value[VALUE_TURNS] = turns;
}

static void end_all(const struct shared *shared, unsigned worker) {
    struct message message = {.client = worker + LAST};
    for (unsigned server = 0; server < shared->servers; server++)
        if (!shared->own || server == worker - shared->servers)
            must(port_send(shared->channel[server], &message, sizeof message));
}

static void call_all(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    const struct shared *shared = job->data;
    struct bench_hist *latency = bench_hist(job, worker, HIST_LATENCY);
    uint64_t calls = 0, sum = 0, wrong = 0;
    for (uint64_t i = job->task[worker][TASK_LO]; i < job->task[worker][TASK_HI]; i++) {
        struct message message = {.client = worker, .number = i, .argument = bench_mix(i)};
        unsigned server = (worker + (shared->own ? 0 : (unsigned)calls)) % shared->servers;
        uint64_t began = port_now();
        must(port_send(shared->channel[server], &message, sizeof message));
        must(port_receive(shared->channel[worker], &message, sizeof message));
        bench_record(latency, port_now() - began);
        wrong += message.client != worker || message.number != i;
        sum += message.answer;
        calls++;
    }
    end_all(shared, worker);
    slot->value[VALUE_CALLS] = calls;
    slot->value[VALUE_ANSWERS] = sum;
    slot->value[VALUE_WRONG] = wrong;
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    const struct shared *shared = job->data;
    if (worker < shared->servers)
        serve(shared, worker, slot);
    else
        call_all(job, worker, slot);
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    uint64_t calls = 0, answers = 0;
    for (unsigned k = 0; k < job->workers; k++) {
        calls += job->slot[k].value[VALUE_CALLS];
        answers += job->slot[k].value[VALUE_ANSWERS];
    }
    fields[0] = (struct bench_field){"calls", calls, 0};
    fields[1] = (struct bench_field){"answers", answers, 1};
    return 2;
}

static const char *const param_names[] = {"requests", "grain", "spread", "route", NULL};
static const char *const task_names[] = {"lo", "hi", "server", NULL};
static const char *const value_names[] = {"calls", "#answers", "wrong", "served", "#served_answers", "turns", NULL};
static const char *const hist_names[] = {"latency", NULL};

const struct bench_workload bench_workload = {
    .name = "service",
    .mode = BENCH_PROCESS,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .hist_names = hist_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
