#include "bare.h"

static volatile uint32_t arrived, phase, ticket, serving, turn;

static void worst_of(unsigned me, uint64_t late) {
    seen[me].sum += late;
    if (late > seen[me].worst)
        seen[me].worst = late;
}

// 80 ms of work in all, in equal parts.
static void perfect(unsigned me) {
    (void)me;
    work(40000000 / cpus);
}

// CPU 0 has three times the work of the others.
static void triple(unsigned me) {
    work(40000000 / (cpus + 2) * (me == 0 ? 3 : 1));
}

// In each of 20 phases another CPU has three times the work. In every other phase the waiting CPUs do not
// pause.
static void barrier(unsigned me) {
    for (uint32_t p = 0; p < 20; p++) {
        work(2000000 / (cpus + 2) * (p % cpus == me ? 3 : 1));
        if (__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL) == (p + 1) * cpus)
            __atomic_store_n(&phase, p + 1, __ATOMIC_RELEASE);
        while (__atomic_load_n(&phase, __ATOMIC_ACQUIRE) != p + 1)
            if (p % 2)
                relax();
    }
}

// A fair lock, held for 12,000 instructions, 50 times by each CPU. Waiting CPUs do not pause.
static void lock(unsigned me) {
    for (unsigned i = 0; i < 50; i++) {
        uint32_t mine = __atomic_fetch_add(&ticket, 1, __ATOMIC_ACQUIRE);
        while (__atomic_load_n(&serving, __ATOMIC_ACQUIRE) != mine)
            ;
        work(6000);
        __atomic_store_n(&serving, mine + 1, __ATOMIC_RELEASE);
        seen[me].x++;
    }
}

// A lock that the CPUs take by an exchange, held 50 times for 12,000 instructions.
static void swap(unsigned me) {
    static volatile uint32_t held;
    for (unsigned i = 0; i < 50; i++) {
        while (__atomic_exchange_n(&held, 1, __ATOMIC_ACQUIRE))
            ;
        work(6000);
        seen[me].x++;
        __atomic_store_n(&held, 0, __ATOMIC_RELEASE);
    }
}

// CPU 0 works for 80 ms. The others sleep 20 times for 1 ms.
static void sleeps(unsigned me) {
    if (me == 0 && cpus > 1) {
        work(40000000);
        return;
    }
    for (unsigned i = 1; i <= 20; i++) {
        uint64_t due = now() + 1000000;
        port_timer(1000000);
        while (seen[me].ticks < i)
            port_listen(true);
        worst_of(me, now() - due);
    }
}

// Each CPU works, and its own timer interrupts it each 100 us.
static void alarms(unsigned me) {
    for (unsigned i = 1; i <= 100; i++) {
        uint64_t due = now() + 100000;
        port_timer(100000);
        while (seen[me].ticks < i) {
            work(100);
            port_listen(false);
        }
        worst_of(me, now() - due);
    }
}

// An interrupt goes round: each CPU halts until it arrives and passes it on to the next.
static void relay(unsigned me) {
    for (unsigned round = 1; cpus > 1 && round <= 200; round++) {
        uint64_t began = now();
        if (me == 0)
            port_poke(1);
        while (seen[me].pokes < round)
            port_listen(true);
        if (me)
            port_poke((me + 1) % cpus);
        else
            worst_of(me, now() - began);
    }
}

// CPU 0 interrupts the others, which work, and waits for their answers.
static void shootdown(unsigned me) {
    for (unsigned i = 1; me == 0 && i <= 500; i++) {
        work(1000);
        for (unsigned to = 1; to < cpus; to++)
            port_poke(to);
        for (unsigned to = 1; to < cpus; to++)
            while (seen[to].pokes < i)
                relax();
    }
    seen[me].x = 1;
    while (!seen[0].x) {
        work(100);
        port_listen(false);
    }
}

// Two CPUs work in turn. The waiting CPU does not pause.
static void alternate(unsigned me) {
    for (unsigned i = 0; cpus > 1 && me < 2 && i < 500; i++) {
        while (turn != 2 * i + me)
            ;
        work(500);
        turn++;
    }
}

// Waits for the clock, 20 times for 500 us.
static void spins(unsigned me) {
    for (unsigned i = 0; i < 20; i++) {
        uint64_t until = ticks() + port_hz() / 2000;
        while (ticks() < until)
            ;
        worst_of(me, (ticks() - until) * (1000000000 / port_hz()));
    }
}

// Both counters over 20,000,000 instructions.
static void clocks(unsigned me) {
    if (me)
        return;
    uint64_t began = now(), cycles = port_cycles();
    work(10000000);
    seen[0].sum = now() - began;
    seen[0].x = port_cycles() - cycles;
}

// CPU 0 polls a device.
static void devices(unsigned me) {
    uint64_t began = now();
    if (me == 0)
        poll(100000);
    seen[me].sum = now() - began;
}

static void add(unsigned me, unsigned times) {
    for (unsigned i = 0; i < times; i++)
        __atomic_fetch_add(&seen[me].x, 1, __ATOMIC_RELAXED);
}

// In user mode: a CPU's own number of calls, one that no kernel has, and atomic additions.
void program(unsigned me) {
    for (unsigned i = 0; i < 700 + me; i++)
        make_call(64, 10);
    for (unsigned i = 0; i < 3; i++)
        make_call(5000, 10);
    make_call(0x735049, 0); // as a firmware's call that sends an interrupt
    add(me, 300);
}

// A program, between the same instructions executed by a kernel.
static void programs(unsigned me) {
    for (unsigned i = 0; i < 50; i++)
        make_call(64, 10);
    add(me, 400);
    run_program(me);
    for (unsigned i = 0; i < 7; i++)
        make_call(0x735049, 0); // RISC-V: the firmware shall send interrupts
    for (unsigned i = 0; i < 11; i++)
        port_map();
    for (unsigned i = 0; i < 5; i++) {
        port_poke(me);
        port_listen(true);
    }
}

const struct bare_case cases[] = {
    {"perfect", perfect}, {"triple", triple}, {"barrier", barrier},     {"lock", lock},
    {"swap", swap},       {"sleeps", sleeps}, {"ticks", alarms},        {"relay", relay},
    {"spins", spins},     {"clocks", clocks}, {"shootdown", shootdown}, {"alternate", alternate},
    {"devices", devices}, {"programs", programs},
};
const unsigned case_count = sizeof cases / sizeof cases[0];
