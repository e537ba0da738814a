// Workers, memory, starting line and clock on Linux.
//
// A process worker is a forked process, a thread worker is a pthread. Shared memory is mapped before any
// fork, so it has the same address everywhere. A worker dies with its coordinator, so that none is left
// behind.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "port.h"

#define TASKS_MAX 1024 // of all workers, not joined yet

static pid_t process[BENCH_MAX_WORKERS];
static pthread_t thread[BENCH_MAX_WORKERS];
static struct bench_job *thread_job;

// ---- placement of workers

static int pin[BENCH_MAX_WORKERS];
static unsigned pins;

static void set_affinity(const cpu_set_t *set) {
    if (sched_setaffinity(0, sizeof *set, set) != 0)
        port_fail("bench.pin names a CPU that this process may not use");
}

static void run_on(int cpu) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)cpu, &one);
    set_affinity(&one);
}

void pin_read(unsigned workers) {
    const char *text = bench_param("pin");
    if (text == NULL)
        return;
    cpu_set_t all;
    CPU_ZERO(&all);
    for (pins = 0; *text != 0; pins++) {
        int cpu = 0, digits = 0;
        for (; *text >= '0' && *text <= '9' && digits < 4; digits++)
            cpu = cpu * 10 + (*text++ - '0');
        if (digits == 0 || cpu >= CPU_SETSIZE || pins == BENCH_MAX_WORKERS || (*text != ',' && *text != 0))
            port_fail("bench.pin must be a list of CPU numbers such as 0,2");
        if (*text == ',')
            text++;
        pin[pins] = cpu;
        CPU_SET((unsigned)cpu, &all);
        run_on(cpu); // fails here, in the coordinator, if the CPU is not allowed
    }
    if (pins != workers)
        port_fail("bench.pin must name one CPU for each worker");
    set_affinity(&all);
}

// A workload that sets its own number of workers leaves them to the scheduler, on all the CPUs of the list.
static void pin_worker(const struct bench_job *job, unsigned worker) {
    if (pins == job->workers)
        run_on(pin[worker]);
}

int port_cpu(void) {
    return sched_getcpu();
}

// The CPUs that the coordinator may use: in a guest all that came up, on a host those that it is pinned to.
unsigned port_online(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        port_fail("sched_getaffinity failed");
    return (unsigned)CPU_COUNT(&set);
}

// ---- memory

static void *map(size_t bytes, int sharing) {
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

void *port_private(size_t bytes) {
    return map(bytes, MAP_PRIVATE);
}

void *port_shared(size_t bytes) {
    return map(bytes, MAP_SHARED);
}

// ---- clock

static uint64_t read_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t port_now(void) {
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t port_thread_time(void) {
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

const char *port_unit(void) {
    return "ns";
}

// ---- workers

static int spawn_process(struct bench_job *job, unsigned worker) {
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid > 0) {
        process[worker] = pid;
        return 0;
    }
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(1);
    pin_worker(job, worker);
    bench_worker(job, worker);
    _exit(0);
}

static void *thread_body(void *argument) {
    unsigned worker = (unsigned)(uintptr_t)argument;
    pin_worker(thread_job, worker);
    bench_worker(thread_job, worker);
    return NULL;
}

int port_spawn(enum bench_mode mode, struct bench_job *job, unsigned worker) {
    if (mode == BENCH_PROCESS)
        return spawn_process(job, worker);
    thread_job = job;
    return -pthread_create(&thread[worker], NULL, thread_body, (void *)(uintptr_t)worker);
}

// Reaps workers as they end, not in order: if one dies before the start, the others wait there forever.
// Its death therefore ends the run immediately, and the others die with this process.
static void reap_until(unsigned worker) {
    while (process[worker] != 0) {
        int status;
        pid_t ended = waitpid(-1, &status, 0);
        if (ended < 0 && errno == EINTR)
            continue;
        if (ended < 0 || status != 0)
            port_fail("a worker did not finish its work");
        for (unsigned i = 0; i < BENCH_MAX_WORKERS; i++)
            if (process[i] == ended)
                process[i] = 0;
    }
}

int port_join(enum bench_mode mode, unsigned worker) {
    if (mode == BENCH_THREAD)
        return pthread_join(thread[worker], NULL);
    reap_until(worker);
    return 0;
}

// ---- tasks: threads that a worker starts in work()

static struct task {
    pthread_t thread;
    void (*body)(void *);
    void *argument;
    uint32_t taken;
} task[TASKS_MAX];
static unsigned tasks;

static void *task_body(void *argument) {
    struct task *me = argument;
    me->body(me->argument);
    return NULL;
}

// A free place, or -1. The next one is free unless a task has lived while 1024 others were started.
static int take_task(void) {
    for (unsigned tries = 0; tries < TASKS_MAX; tries++) {
        unsigned number = __atomic_fetch_add(&tasks, 1, __ATOMIC_RELAXED) % TASKS_MAX;
        if (__atomic_exchange_n(&task[number].taken, 1, __ATOMIC_ACQUIRE) == 0)
            return (int)number;
    }
    return -1;
}

static void free_task(int number) {
    __atomic_store_n(&task[number].taken, 0, __ATOMIC_RELEASE); // pairs with the acquire in take_task
}

int port_task(void (*body)(void *argument), void *argument) {
    int number = take_task();
    if (number < 0)
        return -EAGAIN;
    task[number].body = body;
    task[number].argument = argument;
    int error = pthread_create(&task[number].thread, NULL, task_body, &task[number]);
    if (error == 0)
        return number;
    free_task(number);
    return -error;
}

int port_task_join(int number) {
    int error = pthread_join(task[number].thread, NULL);
    free_task(number);
    return error;
}

void port_yield(void) {
    bench_relax();
    sched_yield();
}

// ---- starting line: a futex, which processes can share as well

void port_gate_wait(uint32_t *word, uint32_t value) {
    for (;;) {
        uint32_t now = __atomic_load_n(word, __ATOMIC_ACQUIRE); // pairs with the release in port_gate_open
        if (now == value)
            return;
        syscall(SYS_futex, word, FUTEX_WAIT, now, NULL, NULL, 0);
    }
}

void port_gate_open(uint32_t *word, uint32_t value) {
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
