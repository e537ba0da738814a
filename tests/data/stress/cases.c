// The cases. They judge no time; the test knows what it should be.
#include "stress.h"

#define TIMERS 200
#define PERIOD 20000

// One-shot timers on every CPU: records how late each one is. oneshot() sets the next one.
void timer_due(void) {
    unsigned me = self();
    uint64_t late = tsc() - seen[me].at;
    seen[me].sum += late;
    if (late > seen[me].worst)
        seen[me].worst = late;
}

static void oneshot(unsigned me) {
    *apic(APIC_DIVIDE) = 11; // by 1: a tick is a ns
    *apic(APIC_TIMER) = VECTOR_TIMER;
    for (unsigned i = 0; i < (steps ? steps : TIMERS); i++) {
        seen[me].at = tsc() + PERIOD;
        *apic(APIC_INITIAL) = PERIOD;
        uint64_t before = seen[me].ticks;
        while (seen[me].ticks == before)
            if (me % 2) // odd CPUs work while they wait
                __asm__ volatile("sti; nop; cli" ::: "memory");
            else
                __asm__ volatile("sti; hlt; cli" ::: "memory");
    }
}

static void tscspin(unsigned me) {
    for (unsigned i = 0; i < 20; i++) {
        uint64_t begin = tsc(), until = begin + 500000;
        while (tsc() < until)
            ;
        uint64_t over = tsc() - until;
        seen[me].sum += over;
        if (over > seen[me].worst)
            seen[me].worst = over;
    }
}

// Times something short repeatedly, like a benchmark of a system call.
static void micro(unsigned me) {
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t begin = tsc();
        work(50);
        seen[me].sum += tsc() - begin;
    }
}

// An interrupt goes round: each CPU halts until it arrives and passes it on to the next.
static void relay(unsigned me) {
    for (unsigned round = 1; round <= 200; round++) {
        if (me == 0) {
            seen[0].at = tsc();
            send(1 % cpus, VECTOR_IPI);
        }
        while (seen[me].ipis < round)
            __asm__ volatile("sti; hlt; cli" ::: "memory");
        if (me)
            send((me + 1) % cpus, VECTOR_IPI);
        else {
            uint64_t took = tsc() - seen[0].at;
            seen[0].sum += took;
            if (took > seen[0].worst)
                seen[0].worst = took;
        }
    }
}

// The CPUs halt with interrupts disabled: only an NMI wakes them.
static void nmi(unsigned me) {
    for (unsigned i = 1; i <= 100; i++) {
        if (me == 0) {
            spin(3000);
            for (unsigned to = 1; to < cpus; to++) {
                while (seen[to].x != i)
                    pause();
                spin(1000); // it has halted by now
                send(to, 0x400);
            }
        } else {
            seen[me].x = i;
            while (seen[me].nmis < i)
                __asm__ volatile("hlt" ::: "memory");
        }
    }
}

static volatile unsigned next_ticket, now_serving;
static volatile uint64_t guarded;

// A fair lock that is held for longer than a quantum. Waiting CPUs spin without `pause`.
static void rudelock(unsigned me) {
    for (unsigned i = 0; i < 50; i++) {
        unsigned mine = __atomic_fetch_add(&next_ticket, 1, __ATOMIC_ACQUIRE);
        while (__atomic_load_n(&now_serving, __ATOMIC_ACQUIRE) != mine)
            ;
        guarded++;
        work(6000);
        __atomic_store_n(&now_serving, mine + 1, __ATOMIC_RELEASE);
        seen[me].x++;
    }
}

static _Alignas(64) uint8_t code[MOST][64];

// Self-modifying code: each CPU patches a constant in a function and calls it.
static void selfmod(unsigned me) {
    uint8_t *at = code[me];
    at[0] = 0xb8, at[5] = 0xc3; // mov $imm, %eax; ret
    for (uint32_t i = 0; i < 2000; i++) {
        *(volatile uint32_t *)(at + 1) = i;
        uint32_t got = ((uint32_t(*)(void))(uintptr_t)at)();
        check(got == i, "self-modifying code ran in its old form");
    }
}

static uint8_t from[MOST][1 << 16], into[MOST][1 << 16];

static void copy(unsigned me) {
    for (unsigned i = 0; i < 8; i++) {
        from[me][i] = (uint8_t)(i + 1);
        void *d = into[me], *s = from[me];
        uint64_t n = sizeof from[me];
        uint64_t begin = tsc();
        __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory");
        seen[me].sum += tsc() - begin;
        check(into[me][i] == i + 1, "rep movsb did not copy");
    }
}

static void faults(unsigned me) {
    for (unsigned i = 0; i < 2000; i++) {
        __asm__ volatile("ud2" ::: "memory");
        __asm__ volatile("int3" ::: "memory");
        uint64_t far = 1ull << 40;
        __asm__ volatile("mov (%%rax), %%rax" : "+a"(far)::"memory");
    }
    check(seen[me].faults == 6000, "not every fault was seen");
}

static void registers(unsigned me) {
    for (unsigned i = 0; i < 2000; i++) {
        uint32_t a = 0, b, c = 0, d;
        __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
        __asm__ volatile("wrmsr" ::"c"(0xc0000102), "a"(i), "d"(0)); // KERNEL_GS_BASE
        __asm__ volatile("rdmsr" : "=a"(a), "=d"(d) : "c"(0xc0000102));
        check(a == i, "an MSR did not keep its value");
        __asm__ volatile("mov %%cr3, %%rax; mov %%rax, %%cr3" ::: "rax", "memory");
        seen[me].x++;
    }
}

static _Alignas(64) uint8_t crossing[256];

// Locked additions that cross a cache line. QEMU stops all other CPUs for each.
static void splitlock(unsigned me) {
    (void)me;
    for (unsigned i = 0; i < 500; i++)
        __asm__ volatile("lock addq $1, %0" : "+m"(*(volatile uint64_t *)(crossing + 60))::"memory");
}

static void nothing(unsigned me) {
    (void)me;
    work(100000);
}

static uint8_t cmos(uint8_t index) {
    out8(0x70, index);
    return in8(0x71);
}

// PIT, ACPI PM timer and local APIC timer over the same 20 million instructions.
static void clocks(unsigned me) {
    if (me)
        return;
    out8(0x61, (in8(0x61) & 0xfc) | 1);
    out8(0x43, 0xb0);
    out8(0x42, 0xff);
    out8(0x42, 0xff);
    *apic(APIC_DIVIDE) = 11;
    *apic(APIC_TIMER) = 1u << 16;
    *apic(APIC_INITIAL) = 0xffffffff;
    uint64_t t = tsc();
    uint32_t lapic = *apic(APIC_CURRENT), acpi = in32(0x608);
    out8(0x43, 0x80);
    unsigned pit = in8(0x42);
    pit |= (unsigned)in8(0x42) << 8;
    work(10000000);
    lapic -= *apic(APIC_CURRENT);
    acpi = (in32(0x608) - acpi) & 0xffffff;
    out8(0x43, 0x80);
    unsigned left = in8(0x42);
    left |= (unsigned)in8(0x42) << 8;
    t = tsc() - t;
    line("clocks");
    item("tsc", t);
    item("lapic", lapic);
    item("acpi", acpi);
    item("pit", (pit - left) & 0xffff);
    put("\n");
    uint8_t second = cmos(0);
    while (cmos(0) == second)
        spin(50000);
    second = cmos(0);
    t = tsc();
    while (cmos(0) == second)
        spin(50000);
    line("clocks");
    item("rtc_second", tsc() - t);
    put("\n");
}

static volatile uint64_t left_in_a, left_in_b;

// Two CPUs pass a number back and forth through memory, first without `pause`, then with it.
static void handover(unsigned me) {
    if (me > 1 || cpus < 2)
        return;
    for (uint64_t i = 1; i <= 2000; i++) {
        bool pauses = i > 1000;
        if (me == 0) {
            left_in_a = i;
            while (left_in_b != i)
                if (pauses)
                    pause();
        } else {
            while (left_in_a != i)
                if (pauses)
                    pause();
            left_in_b = i;
        }
    }
}

// Each CPU computes independently for 20 ms.
static void compute(unsigned me) {
    (void)me;
    work(10000000);
}

// As compute(), but CPU 0 interrupts the last CPU once a millisecond.
static void poke(unsigned me) {
    __asm__ volatile("sti");
    for (unsigned i = 0; i < 20; i++) {
        if (me == 0)
            send(cpus - 1, VECTOR_IPI);
        work(500000);
    }
    __asm__ volatile("cli");
}

// As compute(), but CPU 0 reads the TSC once a microsecond.
static void measure(unsigned me) {
    for (unsigned i = 0; i < 20000; i++) {
        work(500);
        if (me == 0)
            seen[me].at = tsc();
    }
}

// CPU 0 interrupts all others and waits until each has answered, like a TLB shootdown.
static void shootdown(unsigned me) {
    __asm__ volatile("sti");
    for (unsigned i = 1; me == 0 && i <= 500; i++) {
        work(1000);
        for (unsigned to = 1; to < cpus; to++)
            send(to, VECTOR_IPI);
        for (unsigned to = 1; to < cpus; to++)
            while (seen[to].ipis < i)
                pause();
    }
    seen[me].x = 1;
    while (!seen[0].x)
        work(500);
    __asm__ volatile("cli");
}

static volatile unsigned turn;

// Two CPUs work in turn. The waiting CPU spins without `pause`.
static void alternate(unsigned me) {
    for (unsigned i = 0; me < 2 && i < 500; i++) {
        while (turn != 2 * i + me)
            ;
        work(500);
        turn++;
    }
}

// The same, but the waiting CPU calls its kernel, which does nothing for 200 instructions.
static void yielding(unsigned me) {
    for (unsigned i = 0; me < 2 && i < 500; i++) {
        while (turn != 2 * i + me)
            call_kernel();
        work(500);
        turn++;
    }
}

static void triple(unsigned me) {
    if (me != cpus - 1)
        for (;;)
            __asm__ volatile("cli; hlt");
    spin(100000);
    load_gates(false);
    __asm__ volatile("ud2");
}

const struct stress_case cases[] = {
    {"oneshot", oneshot},
    {"tscspin", tscspin},
    {"relay", relay},
    {"micro", micro},
    {"nmi", nmi},
    {"rudelock", rudelock},
    {"selfmod", selfmod},
    {"copy", copy},
    {"faults", faults},
    {"registers", registers},
    {"splitlock", splitlock},
    {"nothing", nothing},
    {"clocks", clocks},
    {"handover", handover},
    {"triple", triple},
    {"alone", nothing},
    {"compute", compute},
    {"poke", poke},
    {"measure", measure},
    {"shootdown", shootdown},
    {"alternate", alternate},
    {"yielding", yielding},
    {"disk", disk},
    {"increments", increments},
    {"interrupted", interrupted},
};
const unsigned case_count = sizeof cases / sizeof cases[0];
