// The conductor of a mix: /bench of a Linux guest that runs several parts at once (docs/mix.md).
//
// Takes the plan from /mix and the nonce from the kernel's command line. Prepares every part behind one gate,
// opens it, and waits until each part has completed enough runs; then reads what each has used, ends all, and
// prints lines of docs/wire.md. The marks of the instruction clock are here and nowhere else. Exits with 0,
// or with 1 after a `benchfail:` line. What a part does wrong is reported, and is no failure of the
// conductor.
#include "mix.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ull
#define NS_PER_MS 1000000ull
#define READY_NS (20 * NS_PER_S)   // until all parts are at the gate
#define SETTLE_NS (20 * NS_PER_MS) // for what making the parts has left to the kernel's threads

struct part part[PARTS_MOST];
unsigned parts;
uint32_t *gate, *news;
static pid_t conductor;

void port_line(const char *line, size_t length) {
    while (length > 0) {
        ssize_t n = write(STDOUT_FILENO, line, length);
        if (n <= 0)
            _exit(1); // the console is closed, so the error cannot be reported
        line += n;
        length -= (size_t)n;
    }
}

_Noreturn void port_fail(const char *why) {
    char line[256];
    int n = snprintf(line, sizeof line, "benchfail: mix: %s\n", why);
    port_line(line, n < (int)sizeof line ? (size_t)n : sizeof line - 1);
    if (getpid() != conductor && gate != NULL) { // a runner: nothing can be measured any more
        __atomic_store_n(gate, 2, __ATOMIC_RELEASE);
        __atomic_add_fetch(news, 1, __ATOMIC_RELEASE);
        mix_wake(news);
    }
    _exit(1);
}

_Noreturn void mix_fail(const char *what, unsigned id) {
    char why[160];
    snprintf(why, sizeof why, "part %u: %s: %s", id, what, strerror(errno));
    port_fail(why);
}

uint64_t mix_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void mix_wait(uint32_t *word, uint32_t seen, uint64_t timeout_ns) {
    struct timespec limit = {(time_t)(timeout_ns / NS_PER_S), (long)(timeout_ns % NS_PER_S)};
    syscall(SYS_futex, word, FUTEX_WAIT, seen, timeout_ns == 0 ? NULL : &limit, NULL, 0);
}

void mix_wake(uint32_t *word) {
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

// ---- before the gate

static void *shared(size_t bytes) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (at == MAP_FAILED)
        port_fail("no memory for what the parts share");
    return at;
}

// Its pages are the conductor's, so that they do not count as the part's memory. It cannot grow.
static int memory_file(void) {
    int file = memfd_create("output", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0 || fallocate(file, 0, 0, OUTPUT_BYTES) != 0 ||
        fcntl(file, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK) != 0)
        port_fail("no memory for the output of a part");
    return file;
}

static void make_folders(void) {
    mkdir("/dev/shm", 01777);
    mkdir("/tmp", 01777);
    if (mount("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777") != 0 ||
        mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777") != 0)
        port_fail("tmpfs cannot be mounted");
}

// A part starts with the scheduling class of all programs: RESET_ON_FORK.
static void come_first(void) {
    const struct sched_param first = {.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first) != 0)
        port_fail("the conductor cannot have a real-time priority");
}

static void prepare(struct part *one, const struct plan *plan) {
    if (!one->is_dummy) {
        one->record = shared(sizeof *one->record);
        one->output = memory_file();
    }
    if (one->needs_disk)
        disk_make(one);
    group_make(one);
    one->runner = fork();
    if (one->runner < 0)
        mix_fail("fork", one->id);
    if (one->runner == 0)
        runner(one, plan);
}

static void await_all(void) {
    uint64_t until = mix_now() + READY_NS;
    uint32_t seen;
    while ((seen = __atomic_load_n(news, __ATOMIC_ACQUIRE)) < parts) {
        if (mix_now() >= until)
            port_fail("not all parts came to the gate");
        mix_wait(news, seen, READY_NS);
    }
    if (__atomic_load_n(gate, __ATOMIC_ACQUIRE) != 0)
        _exit(1); // the runner has said why
    const struct timespec settle = {0, SETTLE_NS};
    nanosleep(&settle, NULL);
}

// ---- the window

// NULL: it goes on.
static const char *over(const struct plan *plan) {
    unsigned behind = 0;
    for (unsigned i = 0; i < parts; i++) {
        if (part[i].is_dummy)
            continue;
        uint32_t stop = __atomic_load_n(&part[i].record->stop, __ATOMIC_ACQUIRE);
        if (stop != GOES_ON)
            return stop == FULL ? "full" : "stopped";
        behind += __atomic_load_n(&part[i].record->runs, __ATOMIC_ACQUIRE) < plan->least;
    }
    return behind == 0 ? "least" : NULL;
}

static const char *wait_for_end(const struct plan *plan, uint64_t until) {
    for (;;) {
        uint32_t seen = __atomic_load_n(news, __ATOMIC_ACQUIRE);
        const char *ended = over(plan);
        uint64_t now = mix_now();
        if (ended != NULL)
            return ended;
        if (now >= until)
            return "limit";
        mix_wait(news, seen, until - now);
    }
}

static int64_t own_cpu(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * (int64_t)NS_PER_S + used.tv_nsec;
}

static struct window measure(const struct plan *plan) {
    struct window window = {.memory = number_in("/proc/meminfo", "MemAvailable:")};
    int64_t others = others_cpu(conductor);
    for (unsigned i = 0; i < parts; i++)
        uses_read(&part[i], part[i].begin);
    int64_t own = own_cpu();
    BENCH_MARK(BENCH_MARK_TOTAL_BEGIN);
    window.begin = mix_now();
    __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
    mix_wake(gate);
    window.ended = wait_for_end(plan, window.begin + plan->limit_ms * NS_PER_MS);
    // The mark is last: on the instruction clock the other CPUs may run far ahead from there on.
    window.end = mix_now();
    groups_freeze();
    BENCH_MARK(BENCH_MARK_TOTAL_END);
    own = own_cpu() - own; // in the window; what follows disturbs no part
    for (unsigned i = 0; i < parts; i++)
        uses_read(&part[i], part[i].end);
    int64_t now = others_cpu(conductor);
    window.foreign = others == NONE || now == NONE ? NONE : now - others + own;
    return window;
}

int main(void) {
    struct plan plan;
    conductor = getpid();
    plan_read(&plan);
    gate = shared(sizeof *gate);
    news = shared(sizeof *news);
    make_folders();
    groups_make();
    for (unsigned i = 0; i < parts; i++) {
        if (part[i].needs_disk)
            disk_open();
        if (part[i].needs_network)
            network_open();
    }
    come_first();
    for (unsigned i = 0; i < parts; i++)
        prepare(&part[i], &plan);
    await_all();
    struct window window = measure(&plan);
    groups_end();
    report(&plan, &window);
    return 0;
}
