// The conductor of a mix on tern: the first process of a kernel whose image has the programs of the parts
// (docs/mix.md). guest/port/linux/mix/ is the same for Linux.
//
// Takes the plan from the kernel's command line. A runner, which is a thread, starts each part's program again
// and again; its own time counts as the part's. The thread that waits for the end is of the short class, so
// that no part delays the stop. The marks of the instruction clock are here and nowhere else.
#include "user/mix.h"


struct part part[PARTS_MOST];
unsigned parts;
static struct plan plan;
static struct window window;
static uint32_t gate, news, over; // gate: 1 open; news: raised when the conductor should look; over: 1

void port_line(const char *line, size_t length) {
    write_text(line, length);
}

static size_t length_of(const char *text) {
    size_t n = 0;
    while (text[n] != 0)
        n++;
    return n;
}

void port_fail(const char *why) {
    write_text("benchfail: ", 11);
    write_text(why, length_of(why));
    write_text("\n", 1);
    kernel_call(RING_CALL_EXIT, 1, 1, 0); // ends the whole run
    __builtin_unreachable();
}

static uint64_t cycles_now(void) {
    uint32_t lo, hi;
    __asm__ volatile("lfence; rdtsc" : "=a"(lo), "=d"(hi)::"memory");
    return (uint64_t)hi << 32 | lo;
}

// In the same way as the host does it for the times that a part reports.
uint64_t mix_ns(uint64_t cycles) {
    return cycles * 1000 / info()->cycles_per_us;
}

uint64_t mix_cycles(const struct part *one) {
    return (uint64_t)kernel_call(RING_CALL_READ, RING_READ_PROGRAM, one->id, 0);
}

void mix_stop(struct part *one, int stop) {
    if (one->stopped == stop)
        return;
    one->stopped = RING_DO(RING_STOP, one->id, (uint64_t)stop) == 0 ? stop : 0;
}

static uint64_t my_cycles(void) {
    return (uint64_t)kernel_call(RING_CALL_READ, RING_READ_MY_CYCLES, 0, 0);
}

static void tell(void) {
    __atomic_add_fetch(&news, 1, __ATOMIC_RELEASE);
    wake(&news, 1);
}

// ---- a part's runner

static void append(struct part_run *run, size_t *used, const char *text) {
    for (; *text != 0; text++) {
        if (*used == PART_MANIFEST_BYTES - 1)
            port_fail("mix: a part has too many parameters");
        run->manifest[(*used)++] = *text;
    }
}

static void append_number(struct part_run *run, size_t *used, uint64_t value) {
    char digits[21];
    unsigned n = sizeof digits - 1;
    digits[n] = 0;
    do
        digits[--n] = (char)('0' + value % 10);
    while (value /= 10);
    append(run, used, digits + n);
}

// The nonce of a run is NONCE.pID.rRUN.
static void write_manifest(struct part *one) {
    size_t used = 0;
    for (const char *const *word = one->manifest; *word != NULL; word++) {
        if ((*word)[0] != 'b') // the next part: every word of a manifest begins with `bench.`
            break;
        append(one->shared, &used, *word);
        append(one->shared, &used, " ");
    }
    append(one->shared, &used, "bench.nonce=");
    append(one->shared, &used, plan.nonce);
    append(one->shared, &used, ".p");
    append_number(one->shared, &used, one->id);
    append(one->shared, &used, ".r");
    append_number(one->shared, &used, one->runs);
    one->shared->manifest[used] = 0;
}

static int64_t run_once(struct part *one, const char *name, struct run *run) {
    one->shared->bytes = 0;
    write_manifest(one);
    run->start = mix_ns(cycles_now());
    int64_t process = RING_DO(RING_PROGRAM, one->id, (uint64_t)name, (uint64_t)one->shared, PART_RUN);
    if (process < 0)
        port_fail("mix: a program of a part cannot be started");
    run->status = join(RING_SPAWN_PROCESS, process);
    run->from = one->printed;
    run->bytes = one->shared->bytes;
    for (uint64_t i = 0; i < run->bytes && i < PART_OUTPUT_BYTES; i++)
        one->output[one->printed++] = one->shared->output[i];
    run->end = mix_ns(cycles_now());
    return run->status;
}

static enum stop repeat(struct part *one) {
    char name[RING_NAME_BYTES] = {0};
    for (unsigned i = 0; i < sizeof name - 1 && one->program[i] != 0; i++)
        name[i] = one->program[i];
    uint64_t before = my_cycles();
    for (uint32_t number = 0; number < RUNS_MOST && one->printed <= OUTPUT_BYTES - PART_OUTPUT_BYTES; number++) {
        if (__atomic_load_n(&over, __ATOMIC_ACQUIRE))
            return GOES_ON;
        if (run_once(one, name, &one->run[number]) != 0)
            return FAILED;
        one->runner_cycles = my_cycles() - before;
        __atomic_store_n(&one->runs, number + 1, __ATOMIC_RELEASE); // pairs with the acquire in ended
        if (number + 1 == plan.least)
            tell();
    }
    return FULL;
}

static void runner(uint64_t id) {
    struct part *one = &part[id];
    tell(); // ready
    wait_while(&gate, 0);
    if (!one->is_dummy) {
        enum stop stop = repeat(one);
        __atomic_store_n(&one->stop, stop, __ATOMIC_RELEASE); // pairs with the acquire in ended
        tell();
    }
    wait_while(&gate, 1); // it is never closed
}

// ---- the window

static const char *ended(void) { // NULL: it goes on
    unsigned behind = 0;
    for (unsigned i = 0; i < parts; i++) {
        if (part[i].is_dummy)
            continue;
        uint32_t stop = __atomic_load_n(&part[i].stop, __ATOMIC_ACQUIRE);
        if (stop != GOES_ON)
            return stop == FULL ? "full" : "stopped";
        behind += __atomic_load_n(&part[i].runs, __ATOMIC_ACQUIRE) < plan.least;
    }
    return behind == 0 ? "least" : NULL;
}

static uint64_t hold_limits(uint64_t now) {
    uint64_t next = UINT64_MAX;
    for (unsigned i = 0; i < parts; i++) {
        uint64_t look = part[i].is_dummy ? UINT64_MAX : limit_hold(&part[i], now);
        next = look < next ? look : next;
    }
    return next;
}

static const char *wait_for_end(uint64_t until) {
    for (;;) {
        uint32_t seen = __atomic_load_n(&news, __ATOMIC_ACQUIRE);
        const char *why = ended();
        uint64_t now = cycles_now();
        if (why != NULL)
            return why;
        if (now >= until)
            return "limit";
        uint64_t next = hold_limits(now);
        RING_DO(RING_PARK, (uint64_t)&news, seen, next < until ? next : until);
    }
}

static void measure(void) {
    uint64_t own = my_cycles();
    window.memory = (uint64_t)kernel_call(RING_CALL_READ, RING_READ_FREE_PAGES, 0, 0) * 4096;
    BENCH_MARK(BENCH_MARK_TOTAL_BEGIN);
    uint64_t start = cycles_now();
    window.start = mix_ns(start);
    for (unsigned i = 0; i < parts; i++)
        limit_begin(&part[i], start);
    __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
    wake(&gate, UINT32_MAX);
    window.ended = wait_for_end(start + plan.limit_ms * 1000 * info()->cycles_per_us);
    // The mark is last: on the instruction clock the other CPUs may run far ahead from there on.
    window.end = mix_ns(cycles_now());
    __atomic_store_n(&over, 1, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < parts; i++)
        if (!part[i].is_dummy)
            mix_stop(&part[i], 1);
    BENCH_MARK(BENCH_MARK_TOTAL_END);
    window.foreign = mix_ns(my_cycles() - own);
    for (unsigned i = 0; i < parts; i++)
        part[i].cycles = part[i].is_dummy ? 0 : mix_cycles(&part[i]);
}

// ---- the whole

static void *map(uint64_t bytes, uint64_t shared) {
    int64_t where = RING_DO(RING_MAP, bytes, shared);
    if (where < 0)
        port_fail("mix: no memory for the output of a part");
    return (void *)where;
}

static void prepare(struct part *one) {
    if (!one->is_dummy) {
        one->shared = map(sizeof *one->shared, 1);
        one->output = map(OUTPUT_BYTES, 0);
    }
    if (spawn(RING_SPAWN_THREAD, (uint64_t)runner, one->id) < 0)
        port_fail("mix: a part's runner cannot be started");
}

static void conduct(uint64_t unused) {
    (void)unused;
    uint32_t seen;
    for (unsigned i = 0; i < parts; i++)
        prepare(&part[i]);
    while ((seen = __atomic_load_n(&news, __ATOMIC_ACQUIRE)) < parts)
        wait_while(&news, seen);
    measure();
    report(&plan, &window);
}

int program(uint64_t first, uint64_t second) {
    if (first != 0) { // a thread: its body and its argument
        ((void (*)(uint64_t))first)(second);
        return 0;
    }
    plan_read(&plan, info()->command_line);
    int64_t thread = RING_DO(RING_SPAWN, RING_SPAWN_THREAD, (uint64_t)conduct, 0, 0, RING_LATENCY_SHORT);
    if (thread < 0 || join(RING_SPAWN_THREAD, thread) != 0)
        port_fail("mix: the conductor's thread failed");
    kernel_call(RING_CALL_EXIT, 0, 1, 0); // ends the whole run, whatever the parts wait for
    return 0;
}
