// A Linux workload whose threads sleep, talk, yield, move and compete, and which prints what the kernel itself
// counted of them: /proc/PID/sched, /proc/schedstat and, if the kernel has its tracer, the events of the
// scheduler. tests/guests/test_thread_witness.py compares that with the thread view.
//
// Each worker does a known number of things, too, that the clock counts (counted below).
//
// Each reading has the TSC, which is the guest's time, before and after it: what happens between is in doubt.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../../guest/bench.h"

#define ROUNDS 60
#define WORKERS 16
#define TRACING "/sys/kernel/tracing"

struct reading {
    long thread;
    uint64_t before, after;
    unsigned long long switches, voluntary, wakeups, migrations;
};

static int pipes[WORKERS][2];
static struct reading first[WORKERS], last[WORKERS];
static int is_traced;

static void say(const char *format, ...) {
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    port_line(line, (size_t)n);
}

static size_t contents(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t n = 0;
    while (fd >= 0 && used < size - 1 && (n = read(fd, text + used, size - 1 - used)) > 0)
        used += (size_t)n;
    if (fd >= 0)
        close(fd);
    text[used] = 0;
    return used;
}

// The number behind a name that begins a line.
static unsigned long long number(const char *text, const char *name) {
    size_t length = strlen(name);
    for (const char *at = text; (at = strchr(at, '\n')) != NULL;) {
        unsigned long long value;
        at++;
        if (strncmp(at, name, length) == 0 && at[length] == ' ' &&
            sscanf(at + length, " : %llu", &value) == 1)
            return value;
    }
    port_fail("a line of /proc/PID/sched is missing");
}

static int look(const char *path, long thread, struct reading *to) {
    char text[8192];
    to->thread = thread;
    to->before = __builtin_ia32_rdtsc();
    size_t n = contents(path, text, sizeof text);
    to->after = __builtin_ia32_rdtsc();
    if (n == 0)
        return 0; // it has ended
    to->switches = number(text, "nr_switches");
    to->voluntary = number(text, "nr_voluntary_switches");
    to->wakeups = number(text, "nr_wakeups");
    to->migrations = number(text, "se.nr_migrations");
    return 1;
}

static void print(const char *what, const struct reading *it) {
    say("witness %s %ld %llu %llu %llu %llu %llu %llu\n", what, it->thread, (unsigned long long)it->before,
        (unsigned long long)it->after, it->switches, it->voluntary, it->wakeups, it->migrations);
}

static void look_at_all(void) {
    static struct reading all[1024];
    unsigned count = 0;
    DIR *folder = opendir("/proc");
    for (struct dirent *one; folder != NULL && count < 1024 && (one = readdir(folder)) != NULL;) {
        char path[64];
        long thread;
        if (sscanf(one->d_name, "%ld", &thread) != 1)
            continue;
        snprintf(path, sizeof path, "/proc/%ld/task/%ld/sched", thread, thread);
        count += (unsigned)look(path, thread, &all[count]);
    }
    closedir(folder);
    for (unsigned i = 0; i < count; i++)
        print("whole", &all[i]);
}

// Of each CPU the fields of /proc/schedstat.
static void look_at_cpus(const char *what) {
    static char text[65536];
    uint64_t before = __builtin_ia32_rdtsc();
    contents("/proc/schedstat", text, sizeof text);
    uint64_t after = __builtin_ia32_rdtsc();
    for (const char *at = text; (at = strstr(at, "\ncpu")) != NULL; at++) {
        unsigned cpu;
        unsigned long long woken, local, arrived;
        if (sscanf(at, "\ncpu%u %*u %*u %*u %*u %llu %llu %*u %*u %llu", &cpu, &woken, &local, &arrived) == 4)
            say("witness cpu %s %u %llu %llu %llu %llu\n", what, cpu, (unsigned long long)before,
                (unsigned long long)after, woken, arrived);
    }
}

// ---- the kernel's own trace

static int put(const char *path, const char *value) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : write(fd, value, strlen(value));
    if (fd >= 0)
        close(fd);
    return n > 0;
}

// The kernel's command line switched the events on, so that the trace begins with the boot.
static void trace_begin(void) {
    is_traced = mount("tracefs", TRACING, "tracefs", 0, NULL) == 0;
    if (!is_traced)
        port_fail("this kernel has no tracer");
}

static void print_event(unsigned cpu, const char *line) {
    unsigned long long time = 0;
    char state = 0;
    int one, other;
    const char *at = strstr(line, ": sched_"), *begin = at;
    if (at == NULL)
        return;
    while (begin > line && begin[-1] >= '0' && begin[-1] <= '9')
        begin--;
    const char *pid = strstr(at, " pid="), *place = strstr(line, " [");
    if (sscanf(begin, "%llu", &time) != 1)
        port_fail("an event of the tracer has no time");
    const char *before = strstr(at, " prev_pid="), *then = strstr(at, " prev_state="),
               *after = strstr(at, " next_pid=");
    if (strncmp(at, ": sched_switch:", 15) == 0 && before && then && after &&
        sscanf(before, " prev_pid=%d", &one) == 1 && sscanf(then, " prev_state=%c", &state) == 1 &&
        sscanf(after, " next_pid=%d", &other) == 1)
        say("witness switch %u %llu %d %c %d\n", cpu, time, one, state, other);
    else if (strncmp(at, ": sched_waking:", 15) == 0 && pid && place && sscanf(pid, " pid=%d", &one) == 1) {
        while (place > line && place[-1] == ' ')
            place--;
        while (place > line && place[-1] >= '0' && place[-1] <= '9')
            place--; // COMMAND-PID [CPU]
        if (sscanf(place, "%d", &other) != 1)
            port_fail("an event of the tracer has no thread");
        say("witness waking %u %llu %d %d\n", cpu, time, one, other);
    } else if (strncmp(at, ": sched_wakeup", 14) == 0 && pid && sscanf(pid, " pid=%d", &one) == 1)
        say("witness wake %u %llu %d\n", cpu, time, one);
    else if (strncmp(at, ": sched_migrate_task:", 21) == 0 && pid && sscanf(pid, " pid=%d", &one) == 1)
        say("witness migrate %u %llu %d\n", cpu, time, one);
    else
        port_fail("an event of the tracer is not as expected");
}

static void print_trace(unsigned cpus) {
    static char text[4 << 20];
    for (unsigned cpu = 0; cpu < cpus; cpu++) {
        char path[64];
        snprintf(path, sizeof path, TRACING "/per_cpu/cpu%u/trace", cpu);
        contents(path, text, sizeof text);
        for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = 0;
            if (line[0] != '#')
                print_event(cpu, line);
        }
    }
}

// ---- the workload

static const char *prepare(struct bench_job *job) {
    if (job->workers > WORKERS)
        return "too many workers";
    for (unsigned i = 0; i < job->workers; i++)
        if (pipe(pipes[i]) != 0)
            return "no pipe";
    if (bench_param_u64("trace", 0))
        trace_begin();
    return NULL;
}

static void look_at_myself(struct reading *to) {
    look("/proc/thread-self/sched", syscall(SYS_gettid), to);
}

static void before(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)job, (void)slot;
    look_at_myself(&first[worker]);
}

static void after(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)job, (void)slot;
    look_at_myself(&last[worker]);
}

static void burn(unsigned turns) {
    for (volatile unsigned i = 0; i < turns; i++)
        ;
}

static void talk(unsigned from, unsigned to, int is_first) {
    char byte = 0;
    for (int i = 0; i < 2; i++)
        if (i != is_first && read(pipes[from][0], &byte, 1) != 1)
            port_fail("a pipe is broken");
        else if (i == is_first && write(pipes[to][1], &byte, 1) != 1)
            port_fail("a pipe is broken");
}

static void stay_on(unsigned cpu, unsigned cpus) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (unsigned i = 0; i < cpus; i++)
        if (cpu == i || cpu >= cpus)
            CPU_SET(i, &set);
    sched_setaffinity(0, sizeof set, &set);
}

// 500 calls and one more for each worker before it, 300 writes of 17 bytes, 64 new pages, 20,000 atomic
// additions.
static void counted(unsigned worker) {
    static uint64_t sum;
    for (unsigned i = 0; i < 500 + worker; i++)
        syscall(SYS_getppid);
    for (unsigned i = 0; i < 300; i++)
        if (write(-1, "counted by length", 17) != -1)
            port_fail("a write to no file succeeds");
    volatile char *pages = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        port_fail("no memory");
    for (unsigned i = 0; i < 64; i++)
        pages[4096 * i] = 1;
    for (unsigned i = 0; i < 20000; i++)
        __atomic_fetch_add(&sum, 1, __ATOMIC_RELAXED);
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    const struct timespec nap = {0, 50000};
    (void)slot;
    counted(worker);
    for (unsigned round = 0; round < ROUNDS; round++) {
        burn(2000 + 500 * worker);
        switch (worker % 4) {
        case 0:
            talk(worker, worker + 1, 0);
            break;
        case 1:
            talk(worker, worker - 1, 1);
            break;
        case 2:
            nanosleep(&nap, NULL);
            if (round % 10 == 0)
                stay_on(round / 10 % 2 == 0 ? (worker + round / 10) % job->cpus : job->cpus, job->cpus);
            break;
        default:
            sched_yield();
        }
    }
    burn(3000000);
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    (void)fields;
    if (is_traced)
        put(TRACING "/tracing_on", "0");
    look_at_cpus("end");
    look_at_all();
    for (unsigned i = 0; i < job->workers; i++) {
        print("begin", &first[i]);
        print("end", &last[i]);
    }
    if (is_traced)
        print_trace(job->cpus);
    return 0;
}

static const char *const none[] = {NULL};

const struct bench_workload bench_workload = {
    .name = "witness",
    .mode = BENCH_THREAD,
    .param_names = none,
    .task_names = none,
    .value_names = none,
    .prepare = prepare,
    .before = before,
    .after = after,
    .work = work,
    .result = result,
};
