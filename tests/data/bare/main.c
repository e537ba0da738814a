// Starts the CPUs, runs one case on all of them, and prints what they saw.
#include "bare.h"

#include "../../../guest/bench.h"

struct seen seen[MOST];
unsigned cpus;
static volatile uint32_t ready, done;

void on_timer(void) {
    seen[port_self()].ticks++;
}

void on_poke(void) {
    seen[port_self()].pokes++;
}

static void put(const char *text) {
    while (*text)
        port_put(*text++);
}

static void item(const char *key, uint64_t value) {
    char digits[21], *at = digits + 20;
    *at = 0;
    do
        *--at = (char)('0' + value % 10);
    while (value /= 10);
    put(" ");
    put(key);
    put("=");
    put(at);
}

static void report(const char *name, uint64_t took) {
    put("bare ");
    put(name);
    item("took", took);
    put("\n");
    for (unsigned c = 0; c < cpus; c++) {
        put("bare");
        item("cpu", c);
        item("ticks", seen[c].ticks);
        item("pokes", seen[c].pokes);
        item("sum", seen[c].sum);
        item("worst", seen[c].worst);
        item("x", seen[c].x);
        put("\n");
    }
}

static void wait_for(volatile uint32_t *count) {
    __atomic_add_fetch(count, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(count, __ATOMIC_ACQUIRE) != cpus)
        relax();
}

void cpu_main(unsigned me) {
    const struct order *order = port_order();
    if (me == 0) {
        if (order->number >= case_count || order->cpus < 1 || order->cpus > MOST) {
            put("bare: there is no such case\n");
            port_leave(35);
        }
        cpus = order->cpus;
        port_start_others();
    }
    port_enable();
    wait_for(&ready);
    uint64_t began = now();
    BENCH_MARK(BENCH_MARK_WORK_BEGIN);
    cases[order->number].run(me);
    BENCH_MARK(BENCH_MARK_WORK_END);
    wait_for(&done);
    if (me == 0) {
        report(cases[order->number].name, now() - began);
        port_leave(33);
    }
    for (;;)
        port_listen(true);
}
