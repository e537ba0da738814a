#include "blocks.h"

#include "clock.h"
#include "counter.h"
#include "mmio.h"
#include "outer.h"

#include <pthread.h>

#define BLOCK_MOST 512 // instructions: QEMU's own limit

static bool look_at(const struct qemu_plugin_insn *insn, struct arch_insn *seen) {
    *seen = (struct arch_insn){.length = qemu_plugin_insn_size(insn)};
    return counter_bytes(insn, seen->bytes, sizeof seen->bytes);
}

static struct blocks_tail tail_of(const struct qemu_plugin_tb *tb, size_t total) {
    struct blocks_tail tail = {.begin = qemu_plugin_tb_vaddr(tb), .total = total};
    uint64_t at = tail.begin;
    for (size_t i = 0; i < total; i++) {
        struct arch_insn seen;
        bool is_known = look_at(qemu_plugin_tb_get_insn(tb, i), &seen);
        if (is_known && i + SPIN_MOST >= total) {
            tail.at[tail.count] = at;
            tail.insns[tail.count++] = seen;
        }
        at += seen.length;
    }
    tail.end = at;
    return tail;
}

// Finds the block before this one by its end address, because another vCPU may have translated it. The guest may come
// to the same jump by a block that begins later, in the loop's middle: what it counts is then as before.
struct spin blocks_spin(const struct blocks_tail *tail) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static struct spin_trail trails[1024];
    static struct closed {
        uint64_t end;
        int counted;
    } closed[1024];
    const size_t many = sizeof trails / sizeof trails[0];
    struct closed *known = &closed[tail->end % many];
    pthread_mutex_lock(&mutex);
    struct spin_trail trail = trails[tail->begin % many];
    for (size_t i = 0; i < tail->count; i++)
        spin_add(&trail, tail->at[i], &tail->insns[i]);
    struct spin found = tail->count ? spin_closed(arch_guest, &trail) : (struct spin){0};
    if (found.on) {
        *known = (struct closed){tail->end, found.counted};
    } else if (found.begins_before && known->end == tail->end) {
        found.counted = known->counted;
        trail.counted[trail.count - 1] = (int8_t)found.counted;
    }
    trails[tail->end % many] = trail;
    pthread_mutex_unlock(&mutex);
    return found;
}

// The guest reads its clock, and QEMU will ask for the time. The host's TSC is trapped instead (tsc.c).
static void reads_clock(unsigned vcpu, void *unused) {
    (void)unused;
    outer_clock_read(vcpu, clock_spin_read());
}

void blocks_count(struct qemu_plugin_insn *insn, enum arch_kind kind) {
    switch (kind) {
    case ARCH_PAUSE:
        counter_charge_pause(insn);
        break;
    case ARCH_READS_CLOCK:
        counter_count_clock_read(insn);
        if (!arch_guest->clock_is_host_tsc)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, reads_clock, QEMU_NO_REGS, NULL);
        break;
    case ARCH_CALLS:
        counter_count_call(insn);
        break;
    case ARCH_OTHER:
        break;
    }
}

void blocks_translated(struct qemu_plugin_tb *tb) {
    uint8_t lengths[BLOCK_MOST];
    size_t total = qemu_plugin_tb_n_insns(tb);
    struct blocks_tail tail = tail_of(tb, total);
    struct spin spin = outer_spin(&tail);
    counter_instrument(tb, total, spin);
    outer_block(tb, total, spin);
    uint64_t at = tail.begin;
    for (size_t i = 0; i < total; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        struct arch_insn seen;
        if (look_at(insn, &seen))
            outer_instruction(insn, &seen, at, total - i);
        at += seen.length;
        if (i < BLOCK_MOST)
            lengths[i] = (uint8_t)seen.length;
    }
    if (arch_guest->devices_in_memory && total <= BLOCK_MOST)
        mmio_block(tb, lengths, total);
}
