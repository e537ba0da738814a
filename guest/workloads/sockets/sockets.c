// sockets: clients send requests to servers over TCP, and wait for each reply.
//
// There are as many servers as CPUs, and as many clients. The workers 0 .. CPUs - 1 are the servers. Each
// accepts one client before the window, which says its number: whichever comes first. The requests are
// divided equally among the clients. A request has
// its number and a payload of `bytes`: word w is what w turns make of the number's random number. Word w of
// the reply folds the number and the words 0 to w of the request, so none can be sent before the request
// has come. A client folds each reply, and adds up these folds. A latency is from just before a request is
// sent to when its reply has arrived.
#include "work.h"

#define REQUESTS_MAX 10000000u
#define BYTES_MAX 65536u
#define WORDS_MAX (BYTES_MAX / sizeof(uint64_t))

enum { TASK_SERVER = TASK_HI + 1 };
enum { VALUE_CALLS, VALUE_ANSWERS, VALUE_WRONG, VALUE_CLIENT, VALUE_SERVED, VALUE_SERVED_ANSWERS };
enum { HIST_LATENCY };

struct shared {
    uint64_t words; // of a payload
    uint32_t servers;
    int listener;
};

// What each worker has for itself.
static int channel;
static struct message {
    uint64_t number;
    uint64_t word[WORDS_MAX];
} message;

static const char *prepare(struct bench_job *job) {
    uint64_t requests = bench_param_u64("requests", 0), bytes = bench_param_u64("bytes", 0);
    struct shared *shared = port_shared(sizeof *shared);
    if (shared == NULL)
        return "no memory for the numbers of the ports";
    if (requests < 1 || requests > REQUESTS_MAX)
        return "bench.requests must be 1 to 10000000";
    if (bytes < sizeof(uint64_t) || bytes > BYTES_MAX || bytes % sizeof(uint64_t) != 0)
        return "bench.bytes must be 8 to 65536, in steps of 8";
    if (job->cpus > BENCH_MAX_WORKERS / 2)
        return "bench.cpus must be 1 to 32: each has two workers";
    shared->words = bytes / sizeof(uint64_t);
    shared->servers = job->cpus;
    job->workers = 2 * job->cpus;
    for (unsigned k = 0; k < job->cpus; k++) {
        uint64_t *client = job->task[k + job->cpus];
        client[TASK_LO] = requests * k / job->cpus;
        client[TASK_HI] = requests * (k + 1) / job->cpus;
        job->task[k][TASK_SERVER] = 1;
    }
    job->data = shared;
    shared->listener = port_listen();
    return shared->listener < 0 ? "the servers cannot listen" : NULL;
}

static void must(int error) {
    if (error != 0)
        port_fail("a message could not be moved");
}

static void welcome(const struct shared *shared, struct bench_slot *slot) {
    uint64_t client;
    if ((channel = port_accept(shared->listener)) < 0)
        port_fail("a server cannot accept a client");
    must(port_receive(channel, &client, sizeof client));
    if (client < shared->servers || client >= 2 * shared->servers)
        port_fail("a server was called by something else than a client");
    slot->value[VALUE_CLIENT] = client;
}

static void introduce(const struct shared *shared, uint64_t client) {
    if ((channel = port_connect(shared->listener)) < 0)
        port_fail("a client cannot connect");
    must(port_send(channel, &client, sizeof client));
}

static void before(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    const struct shared *shared = job->data;
    if (worker < shared->servers)
        welcome(shared, slot);
    else
        introduce(shared, worker);
    for (uint64_t w = 0; w < WORDS_MAX; w++) // the page faults
        message.word[w] = w;
}

static size_t length(const struct shared *shared) {
    return (shared->words + 1) * sizeof(uint64_t);
}

// Makes the reply of a request, in its place.
static uint64_t answer(const struct shared *shared) {
    uint64_t fold = message.number;
    for (uint64_t w = 0; w < shared->words; w++)
        message.word[w] = fold = bench_fold(fold, message.word[w]);
    return fold;
}

static void serve(struct bench_job *job, struct bench_slot *slot) {
    const struct shared *shared = job->data;
    const uint64_t *client = job->task[slot->value[VALUE_CLIENT]];
    for (uint64_t left = client[TASK_HI] - client[TASK_LO]; left > 0; left--) {
        must(port_receive(channel, &message, length(shared)));
        slot->value[VALUE_SERVED_ANSWERS] += answer(shared);
        slot->value[VALUE_SERVED]++;
        must(port_send(channel, &message, length(shared)));
    }
}

static void make_request(const struct shared *shared, uint64_t number) {
    message.number = number;
    uint64_t word = bench_mix(number);
    for (uint64_t w = 0; w < shared->words; w++, word = bench_turns(word, 1))
        message.word[w] = word;
}

static uint64_t fold_of_reply(const struct shared *shared) {
    uint64_t fold = 0;
    for (uint64_t w = 0; w < shared->words; w++)
        fold = bench_fold(fold, message.word[w]);
    return fold;
}

static void call_all(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    const struct shared *shared = job->data;
    struct bench_hist *latency = bench_hist(job, worker, HIST_LATENCY);
    for (uint64_t i = job->task[worker][TASK_LO]; i < job->task[worker][TASK_HI]; i++) {
        make_request(shared, i);
        uint64_t began = port_now();
        must(port_send(channel, &message, length(shared)));
        must(port_receive(channel, &message, length(shared)));
        bench_record(latency, port_now() - began);
        slot->value[VALUE_WRONG] += message.number != i;
        slot->value[VALUE_ANSWERS] += fold_of_reply(shared);
        slot->value[VALUE_CALLS]++;
    }
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    const struct shared *shared = job->data;
    if (worker < shared->servers)
        serve(job, slot);
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

static const char *const param_names[] = {"requests", "bytes", NULL};
static const char *const task_names[] = {"lo", "hi", "server", NULL};
static const char *const value_names[] = {"calls", "#answers", "wrong", "client", "served", "#served_answers", NULL};
static const char *const hist_names[] = {"latency", NULL};

const struct bench_workload bench_workload = {
    .name = "sockets",
    .mode = BENCH_PROCESS,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .hist_names = hist_names,
    .prepare = prepare,
    .before = before,
    .work = work,
    .result = result,
};
