#include "profile.h"

#include "clock.h"
#include "marks.h"

#if INSN_API >= 3

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 4096 // blocks that share one of QEMU's scoreboards
#define CHUNKS 128
#define TABLE (2 * CHUNK * CHUNKS) // slots of the hash table, a power of two

struct block {
    uint64_t address;
    uint32_t instructions;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char file[4096];
static unsigned vcpu_count;
static struct qemu_plugin_scoreboard *boards[CHUNKS];
static struct block *blocks[CHUNKS];
static uint32_t *table; // block number + 1, or 0
static size_t block_count;
static uint64_t began;
static bool open_window, has_total;
static struct { uint64_t executed, paused, skipped, halted, stalled; } at_begin[LOCKSTEP_MAX];

const char *profile_setup(const char *path, unsigned vcpus) {
    if (strlen(path) >= sizeof file)
        return "the profile's path is too long";
    table = calloc(TABLE, sizeof *table);
    if (!table)
        return "no memory for the profile";
    strcpy(file, path);
    vcpu_count = vcpus;
    return NULL;
}

static struct qemu_counter counter_of(size_t block) {
    return (struct qemu_counter){boards[block / CHUNK], block % CHUNK * sizeof(uint64_t)};
}

static bool add_chunk(size_t chunk) {
    if (chunk >= CHUNKS)
        return false;
    blocks[chunk] = calloc(CHUNK, sizeof *blocks[chunk]);
    boards[chunk] = blocks[chunk] ? qemu_plugin_scoreboard_new(CHUNK * sizeof(uint64_t)) : NULL;
    return boards[chunk] != NULL;
}

// The block's number; a block keeps it when it is translated again. SIZE_MAX when the table is full.
static size_t number_of(uint64_t address, uint32_t instructions) {
    size_t slot = (size_t)((address * 0x9e3779b97f4a7c15u) >> 20) % TABLE;
    for (; table[slot]; slot = (slot + 1) % TABLE) {
        size_t n = table[slot] - 1;
        const struct block *b = &blocks[n / CHUNK][n % CHUNK];
        if (b->address == address && b->instructions == instructions)
            return n;
    }
    if (block_count % CHUNK == 0 && !add_chunk(block_count / CHUNK))
        return SIZE_MAX;
    size_t n = block_count++;
    blocks[n / CHUNK][n % CHUNK] = (struct block){address, instructions};
    table[slot] = (uint32_t)n + 1;
    return n;
}

void profile_block(struct qemu_plugin_tb *tb, size_t instructions) {
    if (!table)
        return;
    pthread_mutex_lock(&mutex);
    size_t n = number_of(qemu_plugin_tb_vaddr(tb), (uint32_t)instructions);
    pthread_mutex_unlock(&mutex);
    if (n != SIZE_MAX)
        qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(tb, QEMU_INLINE_ADD, counter_of(n), 1);
}

static void begin(uint64_t time) {
    for (size_t n = 0; n < block_count; n++)
        for (unsigned c = 0; c < vcpu_count; c++)
            qemu_plugin_u64_set(counter_of(n), c, 0);
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
    FILE *out = fopen(file, "we");
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
    for (size_t n = 0; n < block_count; n++) {
        const struct block *b = &blocks[n / CHUNK][n % CHUNK];
        for (unsigned c = 0; c < vcpu_count; c++) {
            uint64_t entered = qemu_plugin_u64_get(counter_of(n), c);
            if (entered)
                fprintf(out, "block %llx %u %u %llu\n", (unsigned long long)b->address, b->instructions, c,
                        (unsigned long long)entered);
        }
    }
    fprintf(out, "end %zu\n", block_count);
    fclose(out);
}

void profile_mark(unsigned kind, uint64_t time) {
    if (!table)
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
