// What a CPU does that has nothing to do. With `idle=scan` it never halts: as the scheduler of xv6 it looks at each
// entry of a table under the entry's lock, over and over.
#include "talker.h"

#define ENTRIES 64

static struct {
    unsigned locked, runnable, looks;
} table[ENTRIES];

static void scan(void) {
    for (unsigned at = 0; at < ENTRIES; at++) {
        while (__atomic_exchange_n(&table[at].locked, 1, __ATOMIC_ACQUIRE))
            bench_relax();
        if (!table[at].runnable)
            table[at].looks++;
        __atomic_store_n(&table[at].locked, 0, __ATOMIC_RELEASE);
    }
}

static bool scans(void) {
    static int known = -1;
    if (known < 0)
        known = word_is("idle", "scan");
    return known;
}

void rest(unsigned me) {
    if (!scans()) {
        machine_rest();
        return;
    }
    machine_release();
    scan();
    lie_while_idle(me);
    machine_hold();
}
