#include "profile.h"

#include "clock.h"
#include "marks.h"
#include "places.h"
#include "tally.h"

#if INSN_API >= 3

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char file[4096];
static unsigned vcpu_count;
static struct tally tally;
static uint64_t began;
static bool open_window, has_total;
static struct { uint64_t executed, paused, skipped, halted, stalled; } at_begin[LOCKSTEP_MAX];

const char *profile_setup(const char *path, unsigned vcpus) {
    if (strlen(path) >= sizeof file)
        return "the profile's path is too long";
    if (!tally_setup(&tally))
        return "no memory for the profile";
    strcpy(file, path);
    vcpu_count = vcpus;
    return NULL;
}

void profile_block(struct qemu_plugin_tb *tb, size_t instructions) {
    if (!tally.table)
        return;
    pthread_mutex_lock(&mutex);
    size_t n = tally_number(&tally, qemu_plugin_tb_vaddr(tb), 0, (uint32_t)instructions);
    pthread_mutex_unlock(&mutex);
    if (n != SIZE_MAX)
        tally_instrument(&tally, n, tb);
}

static void begin(uint64_t time) {
    for (size_t n = 0; n < tally.count; n++)
        for (unsigned c = 0; c < vcpu_count; c++)
            tally_clear(&tally, n, c);
    for (unsigned c = 0; c < vcpu_count; c++) {
        at_begin[c].executed = clock_executed(c);
        at_begin[c].paused = clock_paused(c);
        at_begin[c].skipped = clock_skipped(c);
        at_begin[c].halted = clock_halted(c, time);
        at_begin[c].stalled = clock_stalled(c);
    }
    began = time;
    open_window = true;
}

static void write_file(uint64_t time) {
    FILE *out = fopen(places_own(file), "we");
    if (!out)
        return;
    fprintf(out, "insn-profile 1\nwindow %llu\n", (unsigned long long)(time - began));
    for (unsigned c = 0; c < vcpu_count; c++)
        fprintf(out, "vcpu %u executed %llu paused %llu skipped %llu halted %llu stalled %llu\n", c,
                (unsigned long long)(clock_executed(c) - at_begin[c].executed),
                (unsigned long long)(clock_paused(c) - at_begin[c].paused),
                (unsigned long long)(clock_skipped(c) - at_begin[c].skipped),
                (unsigned long long)(clock_halted(c, time) - at_begin[c].halted),
                (unsigned long long)(clock_stalled(c) - at_begin[c].stalled));
    for (size_t n = 0; n < tally.count; n++) {
        const struct tally_block *b = tally_block(&tally, n);
        for (unsigned c = 0; c < vcpu_count; c++) {
            uint64_t entered = tally_entered(&tally, n, c);
            if (entered)
                fprintf(out, "block %llx %u %u %llu\n", (unsigned long long)b->address, b->instructions, c,
                        (unsigned long long)entered);
        }
    }
    fprintf(out, "end %zu\n", tally.count);
    fclose(out);
}

void profile_mark(unsigned kind, uint64_t time) {
    if (!tally.table)
        return;
    pthread_mutex_lock(&mutex);
    has_total |= kind == MARKS_TOTAL_BEGIN;
    if (!open_window && (kind == MARKS_WORK_BEGIN || kind == MARKS_TOTAL_BEGIN))
        begin(time);
    if (open_window && (kind == MARKS_TOTAL_END || (kind == MARKS_WORK_END && !has_total)))
        write_file(time);
    pthread_mutex_unlock(&mutex);
}

#else

const char *profile_setup(const char *path, unsigned vcpus) {
    (void)path, (void)vcpus;
    return "the instruction profile needs QEMU 9.1 or newer";
}

void profile_block(struct qemu_plugin_tb *tb, size_t instructions) {
    (void)tb, (void)instructions;
}

void profile_mark(unsigned kind, uint64_t time) {
    (void)kind, (void)time;
}

#endif
