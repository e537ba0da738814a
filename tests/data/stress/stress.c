// A guest without an operating system. Each case does something that Linux seldom does and prints the time it
// took.
//
// Takes `case=NAME cpus=N`, and for some cases `steps=N`, from the kernel's command line. Each case prints lines `stress NAME key=value
// ...`, with times in TSC ticks, and leaves through isa-debug-exit: with status 33, or 35 if its own check
// fails. The guest judges no time; the test knows what it should be.
#include "stress.h"

extern uint32_t start_info;
_Noreturn void cpu_main(unsigned me);

unsigned cpus = 1, steps;
struct seen seen[MOST];
static char name[32];
static volatile unsigned arrived, go, finished;

_Noreturn void leave(bool good) {
    out32(DEBUG_EXIT, good ? 0x10 : 0x11);
    for (;;)
        __asm__ volatile("cli; hlt");
}

void put(const char *text) {
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

void line(const char *what) {
    put("stress ");
    put(what);
}

void item(const char *key, uint64_t value) {
    put(" ");
    put(key);
    put("=");
    put_number(value);
}

void check(bool good, const char *why) {
    if (good)
        return;
    line("failed ");
    put(why);
    put("\n");
    leave(false);
}

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

static unsigned number(const char *at) {
    unsigned value = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        value = 10 * value + (unsigned)(*at - '0');
    return value;
}

static void read_words(void) {
    const char *text = (const char *)*(uint64_t *)((uintptr_t)start_info + 24);
    const char *at = word(text, "case=");
    for (unsigned i = 0; i + 1 < sizeof name && at[i] > ' '; i++)
        name[i] = at[i];
    cpus = number(word(text, "cpus="));
    steps = number(word(text, "steps="));
    check(cpus >= 1 && cpus <= MOST, "cpus= is not 1 to 64");
}

static bool same(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static void start_others(void) {
    for (unsigned to = 1; to < cpus; to++)
        start_cpu(to);
    while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < cpus - 1)
        pause();
}

static void run(unsigned me) {
    for (unsigned i = 0; i < case_count; i++)
        if (same(cases[i].name, name)) {
            cases[i].run(me);
            __atomic_add_fetch(&finished, 1, __ATOMIC_ACQ_REL);
            return;
        }
    check(false, "an unknown case");
}

static void report(uint64_t took) {
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
        out8(0x21, 0xff); // mask all interrupts of the legacy interrupt controllers
        out8(0xa1, 0xff);
        read_words();
        set_gates();
    }
    load_gates(true);
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
    report(tsc() - begin);
    leave(true);
}
