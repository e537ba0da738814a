// PID 1 of the Linux guest: mounts file systems, waits until nothing else runs, starts /bench, leaves.
//
// Takes bench.* words from the kernel's command line. Prints the log line `benchready` as soon as the console
// works, and `benchquiet ...` and `benchexit ...` with the program's status after the run. Leaves on x86 through
// isa-debug-exit (QEMU exits with 33 after success, 35 after failure); without that device it powers off. On
// other processors it powers off after success, and restarts the machine after a failure.
//
// bench.busy=1 starts a task that burns CPU time beside the benchmark; a verifier must refuse such a run.
// bench.set=PATH:VALUE, any number of times, writes the value into a file of /proc, /sys or debugfs first.
#define _GNU_SOURCE
#include "port/linux/written.h"
#ifdef BENCH_TUNED
#include "init/tuned.h"
#endif
#ifdef BENCH_STARTS_WARM
#include "start.h"
#endif

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <sys/io.h>

#define EXIT_PORT 0xf4
#define EXIT_GOOD 0x10
#define EXIT_BAD 0x11
#define END_IN_FAILURE RB_POWER_OFF // the device is missing: the console has the reason
#else
#define END_IN_FAILURE RB_AUTOBOOT // QEMU reports a reset, which is no success
#endif

// The guest is quiet if, in each of QUIET_STEPS consecutive steps, tasks other than this one ran for less
// than QUIET_SHARE percent of the step, on all CPUs together.
#define STEP_MS 20
#define QUIET_STEPS 3
#define QUIET_SHARE 2
#define DEADLINE_MS 20000

static void say(const char *format, ...) {
    char line[200];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (n > (int)sizeof line - 1)
        n = (int)sizeof line - 1;
    if (write(STDOUT_FILENO, line, (size_t)n) < 0)
        return; // without a console nothing can be reported; the host's deadline ends the run
}

static _Noreturn void leave(int good) {
    tcdrain(STDOUT_FILENO);
#if defined(__x86_64__)
    if (ioperm(EXIT_PORT, 4, 1) == 0)
        outl(good ? EXIT_GOOD : EXIT_BAD, EXIT_PORT);
#endif
    if (!good)
        say("benchfail: the guest ends in failure\n");
    tcdrain(STDOUT_FILENO);
    reboot(good ? RB_POWER_OFF : END_IN_FAILURE);
    for (;;)
        pause();
}

static _Noreturn void fail(const char *why) {
    say("benchfail: init: %s: %m\n", why);
    leave(0);
}

static void mount_on(const char *type, const char *where) {
    mkdir(where, 0755);
    if (mount(type, where, type, 0, NULL) != 0)
        fail(where);
}

// The kernel opens /dev/console for PID 1 only if the archive contains that node; devtmpfs always has it.
static void open_console(void) {
    int fd = open("/dev/console", O_RDWR | O_NOCTTY);
    if (fd < 0)
        leave(0);
    for (int i = 0; i < 3; i++)
        if (fd != i && dup2(fd, i) < 0)
            leave(0);
    if (fd > 2)
        close(fd);
}

// A file that this kernel does not have needs no value.
static void set(const char *path, const char *value) {
    if (!written(path, value) && errno != ENOENT)
        say("benchinit: %s: %m\n", path);
}

// Reads a small file of /proc or /sys; returns an empty text if it does not exist.
static const char *contents(const char *path) {
    static char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    if (fd >= 0)
        close(fd);
    return text;
}

// True if this word is on the kernel's command line.
static int asked(const char *word) {
    const char *line = contents("/proc/cmdline");
    size_t length = strlen(word);
    for (const char *at = line; (at = strstr(at, word)) != NULL; at += length)
        if ((at == line || at[-1] == ' ') && strchr(" \n", at[length]) != NULL) // also the terminating 0
            return 1;
    return 0;
}

static long long now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

// The CPU time of this task when it last went to sleep. The run queues count a task's time when it stops
// running, so this is the part that they include. The time since then, which is long if there are many CPUs
// to read about, must not be attributed to other tasks.
static long long own_counted;

static void sleep_ms(long ms) {
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    own_counted = now_ns(CLOCK_PROCESS_CPUTIME_ID);
    nanosleep(&time, NULL);
}

// Nanoseconds for which tasks ran on all CPUs since boot; -1 if the kernel does not report it.
static long long all_ran(void) {
    FILE *file = fopen("/proc/schedstat", "re");
    if (file == NULL)
        return -1;
    char line[512];
    long long sum = -1, ran;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "cpu%*u %*u %*u %*u %*u %*u %*u %lld", &ran) == 1)
            sum = (sum < 0 ? 0 : sum) + ran;
    fclose(file);
    return sum;
}

// How many tasks are running or runnable now, including this one: 3 in `0.00 0.01 0.05 3/80 123`.
static int runnable(void) {
    int count = 0;
    return sscanf(contents("/proc/loadavg"), "%*s %*s %*s %d/", &count) == 1 ? count : -1;
}

// One step: true if hardly anything else ran in it and nothing else is runnable now. Both are checked,
// because the run queues do not count a task that runs without a pause until it stops.
static int quiet_step(void) {
    long long all = all_ran(), mine = own_counted, from = now_ns(CLOCK_MONOTONIC);
    sleep_ms(STEP_MS);
    int alone = runnable() == 1;
    long long others = all_ran() - all - (own_counted - mine);
    return alone && others * 100 < (now_ns(CLOCK_MONOTONIC) - from) * QUIET_SHARE;
}

// About a second after boot Linux calibrates its TSC again, stops all CPUs and switches to the new clock.
// That must not happen inside the window.
static int clock_settled(void) {
    return strstr(contents("/sys/devices/system/clocksource/clocksource0/current_clocksource"), "early") ==
           NULL;
}

static char quiet_line[64]; // printed after the run: output now would wake the serial port's power management

static void wait_until_quiet(void) {
    long long begin = now_ns(CLOCK_MONOTONIC), waited = 0;
    const char *quiet = all_ran() < 0 ? "unknown" : "no";
    int steps = 0;
    sleep_ms(1);
    while (*quiet == 'n' && waited < DEADLINE_MS * 1000000ll) {
        steps = quiet_step() && clock_settled() ? steps + 1 : 0;
        quiet = steps == QUIET_STEPS ? "yes" : "no";
        waited = now_ns(CLOCK_MONOTONIC) - begin;
    }
    snprintf(quiet_line, sizeof quiet_line, "benchquiet quiet=%s waited_ms=%lld\n", quiet, waited / 1000000);
}

// Turns off periodic work of the kernel, because none of it belongs to a benchmark: folding of statistics,
// proactive compaction, the lock-up watchdog.
static void stop_housekeeping(void) {
    set("/proc/sys/vm/compaction_proactiveness", "0");
    set("/proc/sys/vm/stat_interval", "3600");
    set("/proc/sys/kernel/watchdog", "0");
}

// The run is made in the name of these settings, so each of them must be taken.
static void set_as_asked(void) {
    static const char key[] = "bench.set=", debugfs[] = "/sys/kernel/debug";
    char line[4096], *place;
    snprintf(line, sizeof line, "%s", contents("/proc/cmdline"));
    for (char *word = strtok_r(line, " \n", &place); word != NULL; word = strtok_r(NULL, " \n", &place)) {
        if (strncmp(word, key, sizeof key - 1) != 0)
            continue;
        char *path = word + sizeof key - 1, *value = strrchr(path, ':');
        if (value == NULL)
            fail("bench.set must be PATH:VALUE");
        *value++ = 0;
        if (strncmp(path, debugfs, sizeof debugfs - 1) == 0 &&
            mount("debugfs", debugfs, "debugfs", 0, NULL) != 0 && errno != EBUSY)
            fail(debugfs);
        if (!written(path, value))
            fail(path);
    }
}

static void start_busy_task(void) {
    if (fork() != 0)
        return;
    for (volatile unsigned i = 0;; i++)
        ;
}

static int run_bench(void) {
    pid_t pid = fork();
    if (pid < 0)
        fail("fork");
    if (pid == 0) {
        char *const argument[] = {"/bench", NULL}, *const environment[] = {NULL};
        execve("/bench", argument, environment);
        say("benchfail: init: /bench: %m\n");
        _exit(127);
    }
    int status;
    while (waitpid(pid, &status, 0) != pid)
        ;
    return status;
}

int main(void) {
    mkdir("/dev", 0755);
    if (mount("devtmpfs", "/dev", "devtmpfs", 0, NULL) != 0)
        leave(0);
    open_console();
    mount_on("proc", "/proc");
    mount_on("sysfs", "/sys");
    say("\nbenchready\n"); // firmware may have left an unfinished line
    stop_housekeeping();
#ifdef BENCH_STARTS_WARM
    wait_until_quiet();
    const char *why = start_await();
    if (why != NULL)
        fail(why);
#endif
    set_as_asked();
#ifdef BENCH_TUNED
    if (!tuned_start())
        leave(0);
#endif
    wait_until_quiet();
    if (asked("bench.busy=1"))
        start_busy_task();
#ifdef BENCH_TUNED
    tuned_before();
#endif
    int status = run_bench();
#ifdef BENCH_TUNED
    tuned_after();
#endif
    say("%sbenchexit status=%d\n", quiet_line, status);
    leave(status == 0);
}
