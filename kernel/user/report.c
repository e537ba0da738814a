#include "user/report.h"

#include "bench.h"
#include "config.h"
#include "measure/counters.h"
#include "user/runtime.h"

static const char *const counter_names[] = {
#define X(name) #name,
    COUNTER_LIST(X)
#undef X
#define X(name) "lock_" #name "_takes",
        LOCK_LIST(X)
#undef X
#define X(name) "lock_" #name "_wait_cycles",
            LOCK_LIST(X)
#undef X
#define X(name) "lock_" #name "_hold_cycles",
                LOCK_LIST(X)
#undef X
};
static const char *const phase_names[] = {"spawn_ready", "work", "shutdown", "final_total"};
static const char *const book_names[] = {"id", "cpu", "_running", "_runnable", "_blocked", "_lifetime"};

static int64_t read_number(enum ring_number which, uint64_t index, uint64_t further) {
    return kernel_call(RING_CALL_READ, which, index, further);
}

static void begin_measure(const char *phase, uint64_t cpu, const char *name) {
    bench_line_begin("measure");
    bench_line_word("phase", phase);
    if (cpu == UINT64_MAX)
        bench_line_word("cpu", "na");
    else
        bench_line_u64("cpu", cpu);
    bench_line_word("name", name);
}

static void put_measure(const char *phase, uint64_t cpu, const char *name, uint64_t value) {
    begin_measure(phase, cpu, name);
    bench_line_u64("value", value);
    bench_line_end();
}

// The counters of each CPU. Locks only as sums over all CPUs, to keep the console short.
static void report_phase(unsigned phase) {
    for (unsigned counter = 0; counter < COUNTERS; counter++) {
        uint64_t sum = 0;
        for (unsigned cpu = 0; cpu < info()->online; cpu++) {
            uint64_t value = (uint64_t)read_number(RING_READ_COUNTER, phase * MAX_CPUS + cpu, counter);
            if (counter < PLAIN_COUNTERS)
                put_measure(phase_names[phase], cpu, counter_names[counter], value);
            sum += value;
        }
        if (counter >= PLAIN_COUNTERS)
            put_measure(phase_names[phase], UINT64_MAX, counter_names[counter], sum);
    }
    begin_measure(phase_names[phase], UINT64_MAX, "network_polls");
    bench_line_word("value", "na"); // there is no network here
    bench_line_end();
}

// Joins a name, a number and a suffix.
static const char *numbered(const char *name, uint64_t number, const char *after) {
    static char text[64];
    char digits[21];
    unsigned used = 0, n = sizeof digits;
    do
        digits[--n] = (char)('0' + number % 10);
    while (number /= 10);
    while (*name)
        text[used++] = *name++;
    while (n < sizeof digits)
        text[used++] = digits[n++];
    while (*after)
        text[used++] = *after++;
    text[used] = 0;
    return text;
}

static uint64_t book(uint64_t thread, enum ring_book field) {
    return (uint64_t)read_number(RING_READ_THREAD, thread, field);
}

static void report_threads(void) {
    for (uint64_t i = 0; read_number(RING_READ_THREAD, i, RING_BOOK_ID) >= 0; i++)
        for (unsigned field = RING_BOOK_RUNNING; field < RING_BOOK_FIELDS; field++)
            put_measure("final_total", book(i, RING_BOOK_CPU), numbered("thread_", i, book_names[field]),
                        book(i, field));
}

// The address of user code at each timer tick; the host resolves it with the program's symbols.
static void report_samples(void) {
    for (uint64_t cpu = 0; cpu < info()->online; cpu++) {
        int64_t ip;
        for (uint64_t i = 0; (ip = read_number(RING_READ_SAMPLE, cpu, i)) >= 0; i++) {
            begin_measure("final_total", cpu, "sample_pc");
            bench_line_hex("value", (uint64_t)ip);
            bench_line_end();
        }
    }
}

static void put_balance(const char *name, uint64_t left, uint64_t right) {
    bench_line_begin("balance");
    bench_line_word("name", name);
    bench_line_u64("left", left);
    bench_line_u64("right", right);
    bench_line_end();
}

static uint64_t counted(uint64_t cpu, uint64_t counter) {
    return (uint64_t)read_number(RING_READ_COUNTER, RING_PHASES * MAX_CPUS + cpu, counter);
}
#define COUNTER(name) (__builtin_offsetof(struct counters, name) / sizeof(uint64_t))

// A thread's running, runnable and blocked times add up to its lifetime; what was enqueued was dequeued or is
// still queued; a CPU is either busy or idle.
static void report_balances(void) {
    for (uint64_t i = 0; read_number(RING_READ_THREAD, i, RING_BOOK_ID) >= 0; i++)
        put_balance(numbered("thread_", i, ""),
                    book(i, RING_BOOK_RUNNING) + book(i, RING_BOOK_RUNNABLE) + book(i, RING_BOOK_BLOCKED),
                    book(i, RING_BOOK_LIFETIME));
    for (uint64_t cpu = 0; cpu < info()->online; cpu++)
        put_balance(numbered("queue_", cpu, ""), (uint64_t)read_number(RING_READ_QUEUE, cpu, 0),
                    (uint64_t)read_number(RING_READ_QUEUE, cpu, 1));
    for (uint64_t cpu = 0; cpu < info()->online; cpu++)
        put_balance(numbered("cpu_", cpu, ""),
                    counted(cpu, COUNTER(busy_cycles)) + counted(cpu, COUNTER(idle_cycles)),
                    (uint64_t)read_number(RING_READ_ELAPSED, RING_PHASES * MAX_CPUS + cpu, 0));
}

void report_books(void) {
    for (unsigned phase = 0; phase <= RING_PHASES; phase++)
        report_phase(phase);
    report_threads();
    report_samples();
    report_balances();
}
