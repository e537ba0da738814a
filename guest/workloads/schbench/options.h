// Options of schbench: read from the parameters, checked, and turned into lengths of the port's clock.
#ifndef SCHBENCH_OPTIONS_H
#define SCHBENCH_OPTIONS_H

#include "services.h"

#define SPANS_MAX 1024u // intervals whose requests are counted one by one
#define RPS_MAX 10000000u
#define MS 1000000u // in ns

struct options {
    unsigned cpus, messengers, workers, hogs; // threads of each role
    unsigned side;                            // of the square matrices: three of them fill the footprint
    uint64_t operations;
    int calibrate, locking;
    uint64_t pipe; // bytes; 0: requests, not transfers
    uint64_t rps;  // goal of all message threads together; 0: every worker always has a request
    uint64_t busy; // auto_rps, in percent of all CPUs; 0: the goal stays
    uint64_t sleep_before, sleep_after;
    // Lengths. What is due in the last `measured` of `time` is in the figures, and nothing before it.
    uint64_t time, measured, interval, hog_time;
};

enum number {
    MESSAGE_THREADS,
    THREADS,
    HOGS,
    FOOTPRINT,
    OPERATIONS,
    SLEEP_BEFORE,
    SLEEP_AFTER,
    RPS,
    AUTO_RPS,
    PIPE,
    WARMUP,
    INTERVAL,
    ZERO,
    HOG_TIME,
    NUMBERS
};

static const struct {
    const char *key;
    uint64_t low, high;
    const char *wrong;
} number_option[NUMBERS] = {
    {"message_threads", 1, 63, "bench.message_threads must be 1 to 63"},
    {"threads", 0, 63, "bench.threads must be 0 to 63"},
    {"hogs", 0, 62, "bench.hogs must be 0 to 62"},
    {"footprint_kb", 1, 16384, "bench.footprint_kb must be 1 to 16384"},
    {"operations", 1, 1000000, "bench.operations must be 1 to 1000000"},
    {"sleep_before_us", 0, 1000000, "bench.sleep_before_us must be 0 to 1000000"},
    {"sleep_after_us", 0, 1000000, "bench.sleep_after_us must be 0 to 1000000"},
    {"rps", 0, RPS_MAX, "bench.rps must be 0 to 10000000"},
    {"auto_rps", 0, 100, "bench.auto_rps must be 0 to 100, in percent"},
    {"pipe", 0, 1u << 20, "bench.pipe must be 0 to 1048576 bytes"},
    {"warmup_ms", 0, 3600000, "bench.warmup_ms must be 0 to 3600000"},
    {"interval_ms", 1, 3600000, "bench.interval_ms must be 1 to 3600000"},
    {"zero_ms", 0, 3600000, "bench.zero_ms must be 0 to 3600000"},
    {"hog_ms", 0, 3600000, "bench.hog_ms must be 0 to 3600000"},
};

static unsigned square_root(uint64_t value) {
    unsigned root = 0;
    while ((uint64_t)(root + 1) * (root + 1) <= value)
        root++;
    return root;
}

static const char *take_threads(struct options *to, const uint64_t *given) {
    uint64_t workers = given[THREADS] == 0 ? to->cpus : given[THREADS] * given[MESSAGE_THREADS];
    if (given[MESSAGE_THREADS] + workers + given[HOGS] > BENCH_MAX_WORKERS)
        return "message threads, their workers and hogs are more than 64 threads";
    if ((given[HOGS] == 0) != (given[HOG_TIME] == 0))
        return "bench.hogs and bench.hog_ms need each other";
    to->messengers = (unsigned)given[MESSAGE_THREADS];
    to->workers = (unsigned)workers;
    to->hogs = (unsigned)given[HOGS];
    to->hog_time = bench_ticks(given[HOG_TIME] * MS);
    return NULL;
}

static const char *take_request(struct options *to, const uint64_t *given) {
    to->calibrate = bench_param_is("calibrate", "on");
    if (!to->calibrate && !bench_param_is("calibrate", "off"))
        return "bench.calibrate must be off or on";
    int locking = bench_param_is("locking", "cpu");
    if (!locking && !bench_param_is("locking", "none"))
        return "bench.locking must be cpu or none";
    to->locking = locking && !to->calibrate;
    to->side = square_root(given[FOOTPRINT] * 1024 / (3 * sizeof(uint64_t)));
    to->operations = given[OPERATIONS];
    to->sleep_before = bench_ticks(given[SLEEP_BEFORE] * 1000);
    to->sleep_after = bench_ticks(given[SLEEP_AFTER] * 1000);
    return NULL;
}

static const char *take_load(struct options *to, const uint64_t *given) {
    if (given[PIPE] % sizeof(uint64_t) != 0)
        return "bench.pipe must be a multiple of 8 bytes";
    if (given[PIPE] != 0 && (given[RPS] != 0 || given[AUTO_RPS] != 0 || to->calibrate))
        return "bench.pipe transfers without requests: it excludes rps, auto_rps and calibrate";
    to->pipe = given[PIPE];
    to->busy = given[AUTO_RPS];
    to->rps = to->busy != 0 && given[RPS] == 0 ? 10 : given[RPS]; // 10: where the search begins
    return NULL;
}

// With zero_ms the figures begin anew at every multiple of it after the warm-up: they hold the last period.
static const char *take_times(struct options *to, const uint64_t *given) {
    uint64_t time = bench_param_u64("time_ns", 0), interval = given[INTERVAL] * MS, zero = given[ZERO] * MS;
    if (given[WARMUP] * MS >= time)
        return "bench.warmup_ms must be less than bench.time_ns";
    uint64_t measured = time - given[WARMUP] * MS;
    if (zero != 0)
        measured -= (measured - 1) / zero * zero;
    if (interval > measured || measured / interval > SPANS_MAX)
        return "bench.interval_ms must divide what is measured into 1 to 1024 intervals";
    to->time = bench_ticks(time);
    to->measured = bench_ticks(measured);
    to->interval = bench_ticks(interval);
    return NULL;
}

// Returns NULL, or what is wrong with a parameter.
static const char *read_options(struct options *to, unsigned cpus) {
    uint64_t given[NUMBERS];
    for (unsigned i = 0; i < NUMBERS; i++) {
        given[i] = bench_param_u64(number_option[i].key, UINT64_MAX);
        if (given[i] < number_option[i].low || given[i] > number_option[i].high)
            return number_option[i].wrong;
    }
    to->cpus = cpus;
    const char *wrong = take_threads(to, given);
    if (wrong == NULL)
        wrong = take_request(to, given);
    if (wrong == NULL)
        wrong = take_load(to, given);
    return wrong != NULL ? wrong : take_times(to, given);
}

#endif
