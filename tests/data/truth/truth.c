// Workloads whose duration follows from arithmetic, to check the instruction clock against.
//
// bench.case selects one; bench.work is its total work in instructions (ns). burn(n) executes n instructions.
// Unlike a real workload it makes system calls in the timed window, because some cases measure sleeps. The
// values `first` and `last` are the worker's own CLOCK_MONOTONIC; `extra` is the time that it slept or
// waited.
#define _GNU_SOURCE
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../../guest/bench.h"

enum { VALUE_FIRST, VALUE_LAST, VALUE_EXTRA };

#define PHASES 20
#define TIMES 3 // the work of one worker in a phase, over that of each other one
#define SLEEPS 20
#define SLEEP_NS 10000000
#define HOLD 64000 // instructions for which the lock is held each time, unless bench.hold says otherwise

struct shared {
    _Alignas(128) uint32_t phase;
    _Alignas(128) uint32_t arrived;
    _Alignas(128) uint32_t next_ticket;
    _Alignas(128) uint32_t serving;
};

static uint64_t whole, hold, phases, times;

static void burn(uint64_t instructions) {
    uint64_t n = instructions / 2;
#if defined(__x86_64__)
    __asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(n)::"cc");
#elif defined(__riscv)
    __asm__ volatile("1: addi %0, %0, -1\n\tbnez %0, 1b" : "+r"(n));
#elif defined(__aarch64__)
    __asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n)::"cc");
#endif
}

static uint64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// ---- cases; every worker runs the same function

static void perfect(struct bench_job *job, unsigned w) {
    (void)w;
    burn(whole / job->workers);
}

// Worker 0 has three times the work of the others.
static void triple(struct bench_job *job, unsigned w) {
    burn(whole / (job->workers + 2) * (w == 0 ? 3 : 1));
}

// Worker 0 does a part of the work alone while the others block.
static void serial(struct bench_job *job, unsigned w, unsigned percent) {
    struct shared *s = job->data;
    if (w == 0) {
        burn(whole / 100 * percent);
        port_gate_open(&s->phase, 1);
    } else
        port_gate_wait(&s->phase, 1);
    burn(whole / 100 * (100 - percent) / job->workers);
}

static void block(uint32_t *word, uint32_t value) {
    port_gate_wait(word, value);
}

static void spin(uint32_t *word, uint32_t value) {
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
        bench_relax();
}

// Without `pause`, so the clock sees a loop of system calls.
static void yield(uint32_t *word, uint32_t value) {
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
        sched_yield();
}

// Without `pause`, and with a counter, so that the clock takes it for work.
static void look(uint32_t *word, uint32_t value) {
    volatile uint32_t looks = 0;
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
        looks++;
}

// In each phase a different worker has three times the work.
static void barrier(struct bench_job *job, unsigned w, void (*wait)(uint32_t *, uint32_t)) {
    struct shared *s = job->data;
    uint64_t unit = whole / phases / (job->workers + 2);
    for (uint32_t p = 0; p < phases; p++) {
        burn(unit * (p % job->workers == w ? 3 : 1));
        if (__atomic_add_fetch(&s->arrived, 1, __ATOMIC_ACQ_REL) == (p + 1) * job->workers)
            port_gate_open(&s->phase, p + 1);
        else
            wait(&s->phase, p + 1);
    }
}

// The same by plain loads and stores alone, and with `times` the work. The phase before the first one is not timed:
// it brings the pages.
static void look_barrier(struct bench_job *job, unsigned w, struct bench_slot *slot) {
    struct shared *s = job->data;
    uint64_t unit = whole / phases / (job->workers + times - 1);
    for (uint32_t p = 0; p <= phases; p++) {
        if (p > 0)
            burn(unit * (p % job->workers == w ? times : 1));
        if (__atomic_add_fetch(&s->arrived, 1, __ATOMIC_ACQ_REL) == (p + 1) * job->workers)
            __atomic_store_n(&s->phase, p + 1, __ATOMIC_RELEASE);
        else
            look(&s->phase, p + 1);
        if (p == 0)
            slot->value[VALUE_FIRST] = now();
    }
}

// All work is done while holding one fair lock.
static void locked(struct bench_job *job, unsigned w) {
    struct shared *s = job->data;
    (void)w;
    uint64_t holds = whole / job->workers / hold;
    for (uint64_t i = 0; i < holds; i++) {
        uint32_t ticket = __atomic_fetch_add(&s->next_ticket, 1, __ATOMIC_RELAXED);
        while (__atomic_load_n(&s->serving, __ATOMIC_ACQUIRE) != ticket)
            bench_relax();
        burn(hold);
        __atomic_store_n(&s->serving, ticket + 1, __ATOMIC_RELEASE);
    }
}

// Worker 0 computes; the others sleep 20 times for 10 ms.
static void sleepers(struct bench_job *job, unsigned w, struct bench_slot *slot) {
    (void)job;
    if (w == 0) {
        burn(whole);
        return;
    }
    const struct timespec span = {0, SLEEP_NS};
    uint64_t begin = now();
    for (int i = 0; i < SLEEPS; i++)
        clock_nanosleep(CLOCK_MONOTONIC, 0, &span, NULL);
    slot->value[VALUE_EXTRA] = now() - begin;
}

// Every worker wakes every 10 ms, by absolute time, and computes for 3 ms of each period.
static void periodic(struct bench_job *job, unsigned w, struct bench_slot *slot) {
    (void)job, (void)w;
    uint64_t begin = now();
    for (uint64_t i = 1; i <= SLEEPS; i++) {
        burn(3000000);
        uint64_t at = begin + i * SLEEP_NS;
        const struct timespec until = {(time_t)(at / 1000000000u), (long)(at % 1000000000u)};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
    slot->value[VALUE_EXTRA] = now() - begin;
}

static void work(struct bench_job *job, unsigned w, struct bench_slot *slot) {
    slot->value[VALUE_FIRST] = now();
    if (bench_param_is("case", "perfect") || bench_param_is("case", "background"))
        perfect(job, w);
    else if (bench_param_is("case", "triple"))
        triple(job, w);
    else if (bench_param_is("case", "serial10"))
        serial(job, w, 10);
    else if (bench_param_is("case", "serial50"))
        serial(job, w, 50);
    else if (bench_param_is("case", "barrier"))
        barrier(job, w, block);
    else if (bench_param_is("case", "spinbarrier"))
        barrier(job, w, spin);
    else if (bench_param_is("case", "yieldbarrier"))
        barrier(job, w, yield);
    else if (bench_param_is("case", "lookbarrier"))
        look_barrier(job, w, slot);
    else if (bench_param_is("case", "lock"))
        locked(job, w);
    else if (bench_param_is("case", "sleepers"))
        sleepers(job, w, slot);
    else if (bench_param_is("case", "periodic"))
        periodic(job, w, slot);
    slot->value[VALUE_LAST] = now();
}

// A process on CPU 0 that computes until it is killed or the guest ends.
static const char *start_background(void) {
    pid_t child = fork();
    if (child < 0)
        return "fork failed";
    if (child > 0)
        return NULL;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    cpu_set_t zero;
    CPU_ZERO(&zero);
    CPU_SET(0, &zero);
    sched_setaffinity(0, sizeof zero, &zero);
    for (;;)
        burn(1000000);
}

static const char *prepare(struct bench_job *job) {
    static const char *const cases[] = {"perfect",     "triple", "serial10", "serial50", "barrier",
                                        "spinbarrier", "lock",   "sleepers", "periodic", "background",
                                        "yieldbarrier", "lookbarrier"};
    whole = bench_param_u64("work", 0);
    hold = bench_param_u64("hold", HOLD);
    phases = bench_param_u64("phases", PHASES);
    times = bench_param_u64("times", TIMES);
    job->data = port_shared(sizeof(struct shared));
    if (whole < 1000000 || hold == 0 || phases == 0 || times == 0 || job->data == NULL)
        return "bench.work must be at least 1000000";
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (bench_param_is("case", cases[i]))
            return bench_param_is("case", "background") ? start_background() : NULL;
    return "bench.case is unknown";
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    (void)job;
    fields[0] = (struct bench_field){"whole", whole, 0};
    return 1;
}

static const char *const param_names[] = {"case", "work", NULL};
static const char *const task_names[] = {NULL};
static const char *const value_names[] = {"first", "last", "extra", NULL};

const struct bench_workload bench_workload = {
    .name = "truth",
    .mode = BENCH_THREAD,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
