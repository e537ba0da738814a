#include "polls.h"

#if INSN_API >= 3

#include "counter.h"
#include "lockstep.h"
#include "tally.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct tally tally;
static unsigned vcpu_count;

// How often the blocks had been entered when the silence began, by block and vCPU; later blocks: never.
static uint64_t *quiet;
static size_t quiet_count;
static bool silent;

// The blocks of the last silence that ended, and how often they had been entered when it began.
static size_t *loop;
static uint64_t *loop_began;
static size_t loop_length;
static int64_t earlier[LOCKSTEP_MAX]; // what was polled before that
static uint64_t most[LOCKSTEP_MAX];   // so far: within an iteration the sum may be smaller

const char *polls_setup(unsigned vcpus) {
    vcpu_count = vcpus;
    return tally_setup(&tally) ? NULL : "no memory for the blocks in which the guest polls";
}

#define PRIME 0x100000001b3u

// FNV-1a: programs with an address in common are told apart by their code. So are translations of one block with another
// worth: whether it closes a loop that waits depends on what was translated before it (spin.h).
static uint64_t code_of(struct qemu_plugin_tb *tb, size_t instructions) {
    uint64_t code = 0xcbf29ce484222325u;
    for (size_t i = 0; i < instructions; i++) {
        uint8_t bytes[16];
        const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        size_t size = counter_bytes(insn, bytes, sizeof bytes) ? qemu_plugin_insn_size(insn) : 0;
        for (size_t at = 0; at < size; at++)
            code = (code ^ bytes[at]) * PRIME;
    }
    return code;
}

void polls_block(struct qemu_plugin_tb *tb, size_t instructions, struct spin spin) {
    if (!tally.table)
        return;
    int32_t worth = (int32_t)instructions - spin.counted;
    uint64_t code = (code_of(tb, instructions) ^ (uint32_t)worth) * PRIME;
    pthread_mutex_lock(&mutex);
    size_t n = tally_number(&tally, qemu_plugin_tb_vaddr(tb), code, (uint32_t)instructions);
    if (n != SIZE_MAX)
        tally_block(&tally, n)->worth = worth;
    pthread_mutex_unlock(&mutex);
    if (n != SIZE_MAX)
        tally_instrument(&tally, n, tb);
}

// The instructions of the loop's blocks that the vCPU has executed since its silence began, until `to`: by block
// and vCPU; NULL: until now.
static int64_t in_loop(unsigned c, const uint64_t *to) {
    int64_t sum = 0;
    for (size_t i = 0; i < loop_length; i++) {
        size_t n = loop[i];
        uint64_t until = to ? to[n * vcpu_count + c] : tally_entered(&tally, n, c);
        sum += (int64_t)(until - loop_began[i * vcpu_count + c]) * tally_block(&tally, n)->worth;
    }
    return sum;
}

void polls_silence(void) {
    uint64_t *now = tally.table ? calloc(tally.count * vcpu_count + 1, sizeof *now) : NULL;
    if (!now)
        return;
    free(quiet);
    quiet = now;
    quiet_count = tally.count;
    silent = true;
    for (size_t n = 0; n < quiet_count; n++)
        for (unsigned c = 0; c < vcpu_count; c++)
            quiet[n * vcpu_count + c] = tally_entered(&tally, n, c);
}

static uint64_t before_silence(size_t n, unsigned c) {
    return n < quiet_count ? quiet[n * vcpu_count + c] : 0;
}

static bool was_entered(size_t n) {
    for (unsigned c = 0; c < vcpu_count; c++)
        if (tally_entered(&tally, n, c) != before_silence(n, c))
            return true;
    return false;
}

void polls_typed(void) {
    if (!silent)
        return;
    silent = false;
    for (unsigned c = 0; c < vcpu_count; c++)
        earlier[c] += in_loop(c, quiet);
    free(loop);
    free(loop_began);
    loop_length = 0;
    loop = calloc(tally.count + 1, sizeof *loop);
    loop_began = calloc(tally.count * vcpu_count + 1, sizeof *loop_began);
    for (size_t n = 0; loop && loop_began && n < tally.count; n++) {
        if (!was_entered(n))
            continue;
        for (unsigned c = 0; c < vcpu_count; c++)
            loop_began[loop_length * vcpu_count + c] = before_silence(n, c);
        loop[loop_length++] = n;
    }
}

uint64_t polls_of(unsigned c) {
    int64_t sum = earlier[c] + in_loop(c, NULL);
    if (sum > 0 && (uint64_t)sum > most[c])
        most[c] = (uint64_t)sum;
    return most[c];
}

#else

const char *polls_setup(unsigned vcpus) {
    (void)vcpus;
    return NULL;
}

void polls_block(struct qemu_plugin_tb *tb, size_t instructions, struct spin spin) {
    (void)tb, (void)instructions, (void)spin;
}

void polls_silence(void) {
}

void polls_typed(void) {
}

uint64_t polls_of(unsigned vcpu) {
    (void)vcpu;
    return 0;
}

#endif
