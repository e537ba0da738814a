// Histograms: one value more, the memory of all, and their lines on the wire.
//
// Takes values below 2^64. The buckets are those of struct bench_hist (bench.h). Each worker touches its
// pages before the window opens, so that bench_record() never faults. Fails by port_fail() without memory.
#include "harness.h"

#define PAGE_BYTES 4096

// Any line with this many buckets is shorter than 512 bytes, also with a name of 64 characters.
#define BUCKETS_PER_LINE 20

static unsigned bucket_of(uint64_t value) {
    if (value < 128)
        return (unsigned)value;
    unsigned power = 63 - (unsigned)__builtin_clzll(value); // of the largest power of two in it
    return (power - 6) * 128 + (unsigned)((value >> (power - 7)) & 127);
}

void bench_record(struct bench_hist *hist, uint64_t value) {
    unsigned bucket = bucket_of(value);
    if (hist->count == 0 || value < hist->min)
        hist->min = value;
    if (value > hist->max)
        hist->max = value;
    hist->count++;
    hist->sum += value;
    hist->places += bucket;
    hist->squares += (uint64_t)bucket * bucket;
    hist->bucket[bucket]++;
}

static unsigned names(void) {
    unsigned count = 0;
    while (bench_workload.hist_names != NULL && bench_workload.hist_names[count] != NULL)
        count++;
    if (count > BENCH_HISTS)
        port_fail("the workload names more than 4 histograms");
    return count;
}

// Room for as many workers as a job can have, because prepare() may still change their number.
void hist_make(struct bench_job *job) {
    if (names() == 0)
        return;
    job->hist = port_shared(sizeof *job->hist * BENCH_HISTS * BENCH_MAX_WORKERS);
    if (job->hist == NULL)
        port_fail("no memory for the histograms");
}

void hist_touch(struct bench_job *job, unsigned worker) {
    if (job->hist == NULL)
        return;
    volatile char *at = (volatile char *)bench_hist(job, worker, 0);
    for (size_t byte = 0; byte < names() * sizeof *job->hist; byte += PAGE_BYTES)
        at[byte] = 0;
}

// ---- the report

static unsigned buckets_used(const struct bench_hist *hist) {
    unsigned used = 0;
    for (unsigned i = 0; i < BENCH_HIST_BUCKETS; i++)
        used += hist->bucket[i] != 0;
    return used;
}

static void report_bucket(unsigned bucket, uint32_t count) {
    char key[6] = "b", digits[4];
    unsigned n = 0, used = 1;
    do {
        digits[n++] = (char)('0' + bucket % 10);
        bucket /= 10;
    } while (bucket != 0);
    while (n != 0)
        key[used++] = digits[--n];
    bench_line_u64(key, count);
}

static void report_buckets(const struct bench_hist *hist, unsigned worker, const char *name) {
    unsigned on_line = 0;
    for (unsigned i = 0; i < BENCH_HIST_BUCKETS; i++) {
        if (hist->bucket[i] == 0)
            continue;
        if (on_line == 0) {
            bench_line_begin("bucket");
            bench_line_u64("worker", worker);
            bench_line_word("name", name);
        }
        report_bucket(i, hist->bucket[i]);
        if (++on_line == BUCKETS_PER_LINE) {
            bench_line_end();
            on_line = 0;
        }
    }
    if (on_line != 0)
        bench_line_end();
}

static void report_one(const struct bench_hist *hist, unsigned worker, const char *name) {
    bench_line_begin("hist");
    bench_line_u64("worker", worker);
    bench_line_word("name", name);
    bench_line_u64("count", hist->count);
    bench_line_u64("sum", hist->sum);
    bench_line_u64("min", hist->min);
    bench_line_u64("max", hist->max);
    bench_line_u64("places", hist->places);
    bench_line_u64("squares", hist->squares);
    bench_line_u64("lines", (buckets_used(hist) + BUCKETS_PER_LINE - 1) / BUCKETS_PER_LINE);
    bench_line_end();
    report_buckets(hist, worker, name);
}

void hist_report(struct bench_job *job) {
    for (unsigned worker = 0; worker < job->workers; worker++)
        for (unsigned i = 0; i < names(); i++)
            report_one(bench_hist(job, worker, i), worker, bench_workload.hist_names[i]);
}
