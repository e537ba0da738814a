// A guest without an operating system, with a self-test of its own: one sum, shared by all CPUs. It prints
// how many CPUs it has, how long the work took, and the sum.
//
// Takes `case=NAME` from the kernel's command line. `honest`, `summary` and `lines` measure what they say;
// each other case misreports, or ends, in one wrong way. Those that begin with `lines` print BENCH lines. The
// guest asks QEMU for the number of CPUs.
#include "../stress/stress.h"

#define STEPS 10000000 // each takes two instructions

extern uint32_t start_info;
_Noreturn void cpu_main(unsigned me);

static unsigned count = 1;
static volatile unsigned arrived, go, finished;
static const char *words;

static void text(const char *at) {
    while (*at)
        out8(SERIAL, (uint8_t)*at++);
}

static void digits(uint64_t value) {
    if (value >= 10)
        digits(value / 10);
    out8(SERIAL, (uint8_t)('0' + value % 10));
}

static void say(const char *before, uint64_t value, const char *after) {
    text(before);
    digits(value);
    text(after);
}

static bool is(const char *name) {
    const char *at = words;
    while (*name && *at == *name)
        at++, name++;
    return !*name && *at <= ' ';
}

// QEMU's fw_cfg, item 5: the number of CPUs.
static unsigned cpu_count(void) {
    __asm__ volatile("outw %0, %1" ::"a"((uint16_t)5), "Nd"((uint16_t)0x510));
    return in8(0x511);
}

static void start_others(void) {
    for (unsigned to = 1; to < count; to++)
        start_cpu(to);
    while (arrived < count - 1)
        pause();
}

// How many of the steps each CPU takes. `divides`: all of them, and the figure is divided instead.
static unsigned share(void) {
    return is("divides") ? STEPS : STEPS / count;
}

static uint64_t shared(void) {
    uint64_t begin = tsc();
    go = 1;
    work(share());
    while (finished < count - 1)
        pause();
    return tsc() - begin;
}

static uint64_t alone(void) {
    uint64_t begin = tsc();
    work(STEPS);
    return tsc() - begin;
}

static void other(void) {
    __atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL);
    while (is("spins"))
        __asm__ volatile("1: jmp 1b");
    while (is("pauses"))
        __asm__ volatile("1: pause; jmp 1b");
    while (!go)
        pause();
    work(share());
    __atomic_add_fetch(&finished, 1, __ATOMIC_ACQ_REL);
    for (;;)
        __asm__ volatile("cli; hlt");
}

static void triple_fault(void) {
    static const struct {
        uint16_t size;
        uint64_t at;
    } __attribute__((packed)) nothing = {0, 0};
    __asm__ volatile("lidt %0; ud2" ::"m"(nothing));
}

static uint64_t measured(void) {
    if (is("absent") || is("spins") || is("pauses")) // one CPU does all of the work
        return alone();
    uint64_t took = shared();
    if (is("divides"))
        return took / count;
    return is("long") ? took + took / 2 : took;
}

// One operation measured, one skipped.
static void bench_lines(void) {
    uint64_t iters = STEPS / 10;
    text("BENCH_START selftest\n");
    uint64_t begin = tsc();
    work((unsigned)iters);
    uint64_t took = tsc() - begin;
    if (is("lines-long"))
        took *= 2;
    if (is("lines-short"))
        took /= 20;
    say("BENCH step ", iters, " ");
    say("", took, " ");
    say("", took / iters, "\n");
    text("BENCH_SKIP pipe (no pipes)\n");
    if (!is("lines-open"))
        text("BENCH_END\n");
}

void cpu_main(unsigned me) {
    *apic(APIC_SPURIOUS) = 0x1ff;
    if (me)
        other();
    const char *line = (const char *)*(uint64_t *)((uintptr_t)start_info + 24);
    while (*line != '=')
        line++;
    words = line + 1;
    count = cpu_count();
    text("selftest up\n");
    while (is("halts"))
        __asm__ volatile("cli; hlt");
    while (is("loops")) {
    }
    if (!is("absent"))
        start_others();
    if (is("lines") || is("lines-long") || is("lines-short") || is("lines-open")) {
        say("", count, " CPUs up\n");
        bench_lines();
        out32(DEBUG_EXIT, 0x10);
    }
    bool summary = is("summary"), early = is("early");
    if (!summary)
        say("", count, " CPUs up\n");
    text("work begins\n");
    if (early)
        say("work: ", 2 * STEPS / count, " ns\n");
    uint64_t took = measured();
    if (summary)
        say("", count, " CPUs up\n");
    if (!early)
        say("work: ", took, " ns\n");
    say("sum=", STEPS, "\n");
    if (is("reset"))
        triple_fault();
    if (is("power-off")) // q35's PM1a control register: sleep type 0, sleep enable
        __asm__ volatile("outw %0, %1" ::"a"((uint16_t)0x2000), "Nd"((uint16_t)0x604));
    out32(DEBUG_EXIT, 0x10);
    for (;;)
        __asm__ volatile("cli; hlt");
}
