// What bare machines do and Linux seldom does, case by case, with the times that it took.
//
// Takes `case=NAME cpus=N` from the kernel's command line. Each case prints lines `stress NAME key=value
// ...`, times in TSC ticks, and leaves through isa-debug-exit with status 33; with 35 where its own check
// fails. Nothing here is judged: what a time should be is the test's business.
#include <stdbool.h>
#include <stdint.h>

#define MOST 64
#define SERIAL 0x3f8
#define DEBUG_EXIT 0xf4

enum { VECTOR_TIMER = 0x40, VECTOR_IPI = 0x41 };
enum { APIC_ID = 0x20, APIC_EOI = 0xb0, APIC_SPURIOUS = 0xf0, APIC_COMMAND = 0x300, APIC_TARGET = 0x310 };
enum { APIC_TIMER = 0x320, APIC_INITIAL = 0x380, APIC_CURRENT = 0x390, APIC_DIVIDE = 0x3e0 };

extern uint32_t start_info;
extern char trampoline[], trampoline_end[];
_Noreturn void cpu_main(unsigned me);

static unsigned cpus = 1;
static char name[32];
static volatile unsigned arrived, go, finished;
static struct { _Alignas(64) volatile uint64_t ticks, ipis, nmis, faults, at, sum, worst, x; } seen[MOST];

// ---- the machine

static inline void out8(uint16_t port, uint8_t value) {
    __asm__ volatile("outb %0, %1" ::"a"(value), "Nd"(port));
}

static inline uint8_t in8(uint16_t port) {
    uint8_t value;
    __asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static inline void out32(uint16_t port, uint32_t value) {
    __asm__ volatile("outl %0, %1" ::"a"(value), "Nd"(port));
}

static inline uint32_t in32(uint16_t port) {
    uint32_t value;
    __asm__ volatile("inl %1, %0" : "=a"(value) : "Nd"(port));
    return value;
}

static inline uint64_t tsc(void) {
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high)::"memory");
    return (uint64_t)high << 32 | low;
}

static inline void pause(void) {
    __asm__ volatile("pause" ::: "memory");
}

static volatile uint32_t *apic(unsigned offset) {
    return (volatile uint32_t *)(uintptr_t)(0xfee00000u + offset);
}

static unsigned self(void) {
    return *apic(APIC_ID) >> 24;
}

static void send(unsigned to, uint32_t command) {
    *apic(APIC_TARGET) = to << 24;
    *apic(APIC_COMMAND) = command;
}

static _Noreturn void leave(bool good) {
    out32(DEBUG_EXIT, good ? 0x10 : 0x11);
    for (;;)
        __asm__ volatile("cli; hlt");
}

static void put(const char *text) {
    while (*text)
        out8(SERIAL, (uint8_t)*text++);
}

static void put_number(uint64_t value) {
    char digits[24];
    unsigned count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (count)
        out8(SERIAL, (uint8_t)digits[--count]);
}

static void line(const char *what) {
    put("stress ");
    put(what);
}

static void item(const char *key, uint64_t value) {
    put(" ");
    put(key);
    put("=");
    put_number(value);
}

static void check(bool good, const char *why) {
    if (good)
        return;
    line("failed ");
    put(why);
    put("\n");
    leave(false);
}

static void spin(uint64_t ns) {
    uint64_t until = tsc() + ns;
    while (tsc() < until)
        pause();
}

// Exactly 2 * n instructions.
static void work(uint64_t n) {
    __asm__ volatile("1: dec %0; jnz 1b" : "+r"(n)::"cc");
}

// ---- interrupts

struct frame {
    uint64_t ip, cs, flags, sp, ss;
};
static struct {
    uint16_t low, selector;
    uint8_t ist, kind;
    uint16_t middle;
    uint32_t high, zero;
} gates[256];

static void timer_due(void);

__attribute__((interrupt)) static void on_timer(volatile struct frame *f) {
    (void)f;
    seen[self()].ticks++;
    timer_due();
    *apic(APIC_EOI) = 0;
}

__attribute__((interrupt)) static void on_ipi(volatile struct frame *f) {
    (void)f;
    seen[self()].ipis++;
    *apic(APIC_EOI) = 0;
}

__attribute__((interrupt)) static void on_nmi(volatile struct frame *f) {
    (void)f;
    seen[self()].nmis++;
}

__attribute__((interrupt)) static void on_undefined(volatile struct frame *f) {
    seen[self()].faults++;
    f->ip += 2; // ud2
}

__attribute__((interrupt)) static void on_breakpoint(volatile struct frame *f) {
    (void)f;
    seen[self()].faults++;
}

__attribute__((interrupt)) static void on_page_fault(volatile struct frame *f, uint64_t code) {
    (void)code;
    seen[self()].faults++;
    f->ip += 3; // mov (%rax), %rax
}

__attribute__((interrupt)) static void on_other(volatile struct frame *f) {
    (void)f;
    check(false, "an interrupt that nobody asked for");
}

static void gate(unsigned vector, void *handler) {
    uint64_t at = (uint64_t)handler;
    gates[vector].low = (uint16_t)at;
    gates[vector].selector = 8;
    gates[vector].kind = 0x8e;
    gates[vector].middle = (uint16_t)(at >> 16);
    gates[vector].high = (uint32_t)(at >> 32);
}

static void load_gates(uint16_t limit) {
    struct {
        uint16_t limit;
        uint64_t base;
    } __attribute__((packed)) table = {limit, (uint64_t)gates};
    __asm__ volatile("lidt %0" ::"m"(table));
}

static void set_gates(void) {
    for (unsigned vector = 0; vector < 256; vector++)
        gate(vector, on_other);
    gate(2, on_nmi);
    gate(3, on_breakpoint);
    gate(6, on_undefined);
    gate(14, on_page_fault);
    gate(VECTOR_TIMER, on_timer);
    gate(VECTOR_IPI, on_ipi);
}

// ---- cases: each runs on every CPU that was started, from a common start

#define TIMERS 200
#define PERIOD 20000

// Measures how late each came, then the next one is set: one-shot timers on every CPU.
static void timer_due(void) {
    unsigned me = self();
    uint64_t late = tsc() - seen[me].at;
    seen[me].sum += late;
    if (late > seen[me].worst)
        seen[me].worst = late;
}

static void oneshot(unsigned me) {
    *apic(APIC_DIVIDE) = 11; // by 1: a tick is a ns
    *apic(APIC_TIMER) = VECTOR_TIMER;
    for (unsigned i = 0; i < TIMERS; i++) {
        seen[me].at = tsc() + PERIOD;
        *apic(APIC_INITIAL) = PERIOD;
        uint64_t before = seen[me].ticks;
        while (seen[me].ticks == before)
            if (me % 2) // odd ones work while they wait
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

// Times something short again and again, as whoever measures a system call does.
static void micro(unsigned me) {
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t begin = tsc();
        work(50);
        seen[me].sum += tsc() - begin;
    }
}

// Interrupts go round: each CPU waits, halted, for its own and passes it on.
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

// Halted with interrupts off: only an NMI gets through.
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

// A fair lock that is held for longer than a quantum, and those who wait do not pause.
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

// Each CPU patches a function's constant and calls it.
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

// Locked additions that cross a cache line: QEMU stops all other CPUs for each.
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

// PIT, ACPI PM timer and local APIC over the same million instructions.
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

// Two CPUs hand a number to and fro through memory, with and without pause.
static void handover(unsigned me) {
    if (me > 1 || cpus < 2)
        return;
    for (uint64_t i = 1; i <= 2000; i++) {
        bool polite = i > 1000;
        if (me == 0) {
            left_in_a = i;
            while (left_in_b != i)
                if (polite)
                    pause();
        } else {
            while (left_in_a != i)
                if (polite)
                    pause();
            left_in_b = i;
        }
    }
}

// Each CPU for itself, for 20 ms.
static void compute(unsigned me) {
    (void)me;
    work(10000000);
}

// The same, but the last CPU is interrupted once a millisecond.
static void poke(unsigned me) {
    __asm__ volatile("sti");
    for (unsigned i = 0; i < 20; i++) {
        if (me == 0)
            send(cpus - 1, VECTOR_IPI);
        work(500000);
    }
    __asm__ volatile("cli");
}

// The same, but CPU 0 reads the time once a microsecond.
static void measure(unsigned me) {
    for (unsigned i = 0; i < 20000; i++) {
        work(500);
        if (me == 0)
            seen[me].at = tsc();
    }
}

static void triple(unsigned me) {
    if (me != cpus - 1)
        for (;;)
            __asm__ volatile("cli; hlt");
    spin(100000);
    load_gates(0);
    __asm__ volatile("ud2");
}

static const struct {
    const char *name;
    void (*run)(unsigned me);
} cases[] = {
    {"oneshot", oneshot}, {"tscspin", tscspin},     {"relay", relay},         {"micro", micro},
    {"nmi", nmi},         {"rudelock", rudelock},   {"selfmod", selfmod},     {"copy", copy},
    {"faults", faults},   {"registers", registers}, {"splitlock", splitlock}, {"nothing", nothing},
    {"clocks", clocks},   {"handover", handover},   {"triple", triple},       {"alone", nothing},
    {"compute", compute}, {"poke", poke},           {"measure", measure},
};

// ---- start

static const char *word(const char *text, const char *key) {
    for (; *text; text++) {
        const char *t = text, *k = key;
        while (*k && *t == *k)
            t++, k++;
        if (!*k)
            return t;
    }
    return "";
}

static void read_words(void) {
    const char *text = (const char *)*(uint64_t *)((uintptr_t)start_info + 24);
    const char *at = word(text, "case=");
    for (unsigned i = 0; i + 1 < sizeof name && at[i] > ' '; i++)
        name[i] = at[i];
    at = word(text, "cpus=");
    for (cpus = 0; *at >= '0' && *at <= '9'; at++)
        cpus = 10 * cpus + (unsigned)(*at - '0');
    check(cpus >= 1 && cpus <= MOST, "cpus= is not 1 to 64");
}

static bool same(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static void start_others(void) {
    for (char *s = trampoline, *d = (char *)0x8000; s < trampoline_end; s++, d++)
        *(volatile char *)d = *s;
    for (unsigned to = 1; to < cpus; to++) {
        send(to, 0x4500); // INIT
        spin(10000);
        send(to, 0x4608); // start at 0x8000
    }
    while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < cpus - 1)
        pause();
}

static void run(unsigned me) {
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (same(cases[i].name, name)) {
            cases[i].run(me);
            __atomic_add_fetch(&finished, 1, __ATOMIC_ACQ_REL);
            return;
        }
    check(false, "an unknown case");
}

static void tell(uint64_t took) {
    line(name);
    item("took", took);
    put("\n");
    for (unsigned c = 0; c < cpus; c++) {
        line(name);
        item("cpu", c);
        item("ticks", seen[c].ticks);
        item("ipis", seen[c].ipis);
        item("nmis", seen[c].nmis);
        item("faults", seen[c].faults);
        item("sum", seen[c].sum);
        item("worst", seen[c].worst);
        item("x", seen[c].x);
        put("\n");
    }
}

void cpu_main(unsigned me) {
    if (me == 0) {
        out8(0x21, 0xff); // the old interrupt controllers stay out of it
        out8(0xa1, 0xff);
        read_words();
        set_gates();
    }
    load_gates(sizeof gates - 1);
    *apic(APIC_SPURIOUS) = 0x1ff;
    if (me) {
        __atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL);
        while (!go)
            pause();
        run(me);
        for (;;)
            __asm__ volatile("cli; hlt");
    }
    if (!same(name, "alone"))
        start_others();
    else
        cpus = 1;
    go = 1;
    uint64_t begin = tsc();
    run(0);
    while (__atomic_load_n(&finished, __ATOMIC_ACQUIRE) < cpus)
        pause();
    tell(tsc() - begin);
    leave(true);
}
