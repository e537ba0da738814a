// checksum: hash blocks of 64 bytes, many rounds each; each worker has one contiguous slice of blocks.
//
// split=cost makes slices of equal length, because all blocks cost the same. split=one, a negative control,
// gives all blocks to the first worker and none (lo = hi) to the others: it cannot scale.
//
// Each block has 8 words; word i (counted from 0 over all blocks) is element i of the splitmix64 sequence for
// seed 0. A block's hash is XXH64 of its 64 bytes (words little-endian). The seed is the block's index in
// round 1 and the previous round's hash in each later round. The root folds all hashes in index order,
// starting from 0: root = root * FOLD + hash, modulo 2^64, so it does not depend on the number of workers.
// Each worker folds its own slice in the same way; fold(A then B) = fold(A) * FOLD^|B| + fold(B).
//
// XXH64 is written from its published specification (Yann Collet, "XXH64 algorithm description"),
// for an input of exactly 64 bytes. splitmix64 is by Sebastiano Vigna, after Steele, Lea and Flood.
#include "bench.h"

#define BLOCKS_MAX 4194304u
#define ROUNDS_MAX 65536u
#define BLOCK_WORDS 8
#define FOLD 0x9fb21c651e98df25ull // any large odd number will do

#define P1 0x9e3779b185ebca87ull
#define P2 0xc2b2ae3d27d4eb4full
#define P3 0x165667b19e3779f9ull
#define P4 0x85ebca77c2b2ae63ull

enum { TASK_LO, TASK_HI };
enum { VALUE_BLOCKS, VALUE_FOLD };

static uint64_t blocks, rounds;
static uint64_t *hashes; // after the blocks in job->data

static uint64_t splitmix64(uint64_t index) {
    uint64_t z = (index + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static inline uint64_t rotate(uint64_t x, int bits) {
    return (x << bits) | (x >> (64 - bits));
}

static inline uint64_t lane_round(uint64_t lane, uint64_t word) {
    return rotate(lane + word * P2, 31) * P1;
}

static inline uint64_t merge(uint64_t hash, uint64_t lane) {
    return (hash ^ lane_round(0, lane)) * P1 + P4;
}

static uint64_t xxh64_block(const uint64_t *word, uint64_t seed) {
    uint64_t a = seed + P1 + P2, b = seed + P2, c = seed, d = seed - P1;
    for (int i = 0; i < BLOCK_WORDS; i += 4) {
        a = lane_round(a, word[i]);
        b = lane_round(b, word[i + 1]);
        c = lane_round(c, word[i + 2]);
        d = lane_round(d, word[i + 3]);
    }
    uint64_t hash = rotate(a, 1) + rotate(b, 7) + rotate(c, 12) + rotate(d, 18);
    hash = merge(merge(merge(merge(hash, a), b), c), d);
    hash += BLOCK_WORDS * 8; // the length in bytes; there is no tail
    hash = (hash ^ (hash >> 33)) * P2;
    hash = (hash ^ (hash >> 29)) * P3;
    return hash ^ (hash >> 32);
}

static const char *prepare(struct bench_job *job) {
    blocks = bench_param_u64("blocks", 0);
    rounds = bench_param_u64("rounds", 0);
    if (blocks < BENCH_MAX_WORKERS || blocks > BLOCKS_MAX)
        return "bench.blocks must be 64 to 4194304";
    if (rounds < 1 || rounds > ROUNDS_MAX)
        return "bench.rounds must be 1 to 65536";
    int one = bench_param_is("split", "one");
    if (!one && !bench_param_is("split", "cost"))
        return "bench.split must be cost or one";
    uint64_t *data = port_shared(blocks * (BLOCK_WORDS + 1) * sizeof *data);
    if (data == NULL)
        return "no memory for the blocks";
    for (uint64_t i = 0; i < blocks * BLOCK_WORDS; i++)
        data[i] = splitmix64(i);
    hashes = data + blocks * BLOCK_WORDS;
    for (uint64_t i = 0; i < blocks; i++) // touch the pages, so that work() takes no page fault
        hashes[i] = ~0ull;
    job->data = data;
    for (unsigned k = 0; k < job->workers; k++) {
        job->task[k][TASK_LO] = one && k > 0 ? blocks : blocks * k / job->workers;
        job->task[k][TASK_HI] = one ? blocks : blocks * (k + 1) / job->workers;
    }
    return NULL;
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    const uint64_t *data = job->data;
    uint64_t lo = job->task[worker][TASK_LO], hi = job->task[worker][TASK_HI];
    uint64_t fold = 0, done = 0;
    for (uint64_t block = lo; block < hi; block++) {
        uint64_t hash = block;
        for (uint64_t round = 0; round < rounds; round++)
            hash = xxh64_block(data + block * BLOCK_WORDS, hash);
        hashes[block] = hash;
        fold = fold * FOLD + hash;
        done++;
    }
    slot->value[VALUE_BLOCKS] = done;
    slot->value[VALUE_FOLD] = fold;
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    uint64_t root = 0, done = 0;
    for (uint64_t block = 0; block < blocks; block++)
        root = root * FOLD + hashes[block];
    for (unsigned i = 0; i < job->workers; i++)
        done += job->slot[i].value[VALUE_BLOCKS];
    fields[0] = (struct bench_field){"blocks", done, 0};
    fields[1] = (struct bench_field){"root", root, 1};
    return 2;
}

static const char *const param_names[] = {"blocks", "rounds", "split", "wait", NULL};
static const char *const task_names[] = {"lo", "hi", NULL}; // the slice contains lo, but not hi
static const char *const value_names[] = {"blocks", "#fold", NULL};

const struct bench_workload bench_workload = {
    .name = "checksum",
    .mode = BENCH_THREAD,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
