// primes: count and sum the primes in 2..hi by trial division; each worker has one contiguous range.
//
// A number n is divided by 2, then by 3, 5, 7 ... while d * d <= n, until a division leaves no remainder.
// Each division is counted where it is done. Each one, also by 2, is a real 32-bit division, so that the
// number of divisions is a measure of work on every machine.
//
// split=cost makes ranges with equal numbers of divisions, except for the cost of one number, by a sieve of
// smallest prime factors. The other splits are negative controls, as is wait=spin. split=width makes ranges
// of equal width, of which the later ones contain more work. split=one gives the whole range to the first
// worker and nothing (lo = hi) to the others: it cannot scale.
#include "bench.h"

#define HI_MAX 20000000u
#define ROOT_MAX 4472u // the largest d with d * d <= HI_MAX
#define SEGMENT 32768u

enum { TASK_LO, TASK_HI };
enum { VALUE_COUNT, VALUE_SUM, VALUE_DIVS };

static uint16_t small_factor[ROOT_MAX + 1]; // smallest prime factor of an odd number; 0: prime
static uint16_t factor[SEGMENT];            // the same for the numbers of one segment
static uint32_t segment_first;

static void sieve_small(void) {
    for (uint32_t p = 3; p * p <= ROOT_MAX; p += 2)
        if (small_factor[p] == 0)
            for (uint32_t m = p * p; m <= ROOT_MAX; m += 2 * p)
                if (small_factor[m] == 0)
                    small_factor[m] = (uint16_t)p;
}

// Finds the smallest odd prime factors of first .. first + SEGMENT - 1; even numbers need none.
static void sieve_segment(uint32_t first) {
    segment_first = first;
    uint32_t end = first + SEGMENT;
    for (uint32_t i = 0; i < SEGMENT; i++)
        factor[i] = 0;
    for (uint32_t p = 3; p <= ROOT_MAX && p * p < end; p += 2) {
        if (small_factor[p] != 0)
            continue;
        uint32_t m = p * p;
        if (m < first)
            m = (first + p - 1) / p * p;
        if (m % 2 == 0)
            m += p;
        for (; m < end; m += 2 * p)
            if (factor[m - first] == 0)
                factor[m - first] = (uint16_t)p;
    }
}

// How many divisions work() makes for n. `root` is the integer square root of n.
static uint32_t divisions(uint32_t n, uint32_t root) {
    if (n < 4)
        return 0;
    if (n % 2 == 0)
        return 1;
    uint32_t p = factor[n - segment_first];
    return p != 0 ? 1 + (p - 1) / 2 : 1 + (root - 1) / 2;
}

// Walks 2..hi and returns the number of all divisions. If `total` is not 0 it also sets the ranges: that of
// worker k ends before the first number at which k + 1 shares of the total are reached.
static uint64_t walk(struct bench_job *job, uint32_t hi, uint64_t total) {
    uint64_t sum = 0;
    uint32_t root = 1;
    unsigned k = 0;
    for (uint32_t n = 2; n <= hi; n++) {
        if (n == 2 || n % SEGMENT == 0)
            sieve_segment(n / SEGMENT * SEGMENT);
        while ((root + 1) * (root + 1) <= n)
            root++;
        while (total != 0 && k + 1 < job->workers && sum * job->workers >= total * (k + 1)) {
            job->task[k][TASK_HI] = n;
            job->task[++k][TASK_LO] = n;
        }
        sum += divisions(n, root);
    }
    return sum;
}

static const char *prepare(struct bench_job *job) {
    uint64_t hi = bench_param_u64("hi", 0);
    if (hi < 1000 || hi > HI_MAX)
        return "bench.hi must be 1000 to 20000000";
    job->task[0][TASK_LO] = 2;
    if (bench_param_is("split", "cost")) {
        sieve_small();
        walk(job, (uint32_t)hi, walk(job, (uint32_t)hi, 0));
    } else if (bench_param_is("split", "width")) {
        for (unsigned k = 1; k < job->workers; k++)
            job->task[k - 1][TASK_HI] = job->task[k][TASK_LO] = 2 + (hi - 1) * k / job->workers;
    } else if (bench_param_is("split", "one")) {
        for (unsigned k = 1; k < job->workers; k++)
            job->task[k - 1][TASK_HI] = job->task[k][TASK_LO] = hi + 1;
    } else {
        return "bench.split must be cost, width or one";
    }
    job->task[job->workers - 1][TASK_HI] = hi + 1;
    return NULL;
}

// Hides a value from the compiler, so that it does not replace a division by 2 with a shift.
static uint32_t opaque(uint32_t value) {
    __asm__ volatile("" : "+r"(value));
    return value;
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    uint32_t lo = (uint32_t)job->task[worker][TASK_LO], hi = (uint32_t)job->task[worker][TASK_HI];
    uint64_t count = 0, sum = 0, divs = 0;
    for (uint32_t n = lo; n < hi; n++) {
        uint32_t d = opaque(2), step = 1;
        int prime = 1;
        while (d * d <= n) {
            divs++;
            if (n % d == 0) {
                prime = 0;
                break;
            }
            d += step;
            step = 2;
        }
        count += (unsigned)prime;
        sum += prime ? n : 0;
    }
    slot->value[VALUE_COUNT] = count;
    slot->value[VALUE_SUM] = sum;
    slot->value[VALUE_DIVS] = divs;
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    uint64_t total[3] = {0, 0, 0};
    for (unsigned i = 0; i < job->workers; i++)
        for (unsigned v = 0; v < 3; v++)
            total[v] += job->slot[i].value[v];
    fields[0] = (struct bench_field){"count", total[VALUE_COUNT], 0};
    fields[1] = (struct bench_field){"sum", total[VALUE_SUM], 0};
    fields[2] = (struct bench_field){"divs", total[VALUE_DIVS], 0};
    return 3;
}

static const char *const param_names[] = {"hi", "split", "wait", NULL};
static const char *const task_names[] = {"lo", "hi", NULL}; // the range contains lo, but not hi
static const char *const value_names[] = {"count", "sum", "divs", NULL};

const struct bench_workload bench_workload = {
    .name = "primes",
    .mode = BENCH_PROCESS,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
