// Detects a stuck machine, and writes the totals at the end.
#define _GNU_SOURCE
#include "activity.h"
#include "clock_state.h"
#include "journal.h"
#include "outer.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

static const char *state_word(unsigned c) {
    if (clock_errand_active(c))
        return "halted; its thread runs a job for QEMU itself";
    switch (clock_machine.vcpu[c].state) {
    case LOCKSTEP_ABSENT:
        return "absent: its thread has not started";
    case LOCKSTEP_RUN:
        return "running: it was granted a turn and has not come back";
    case LOCKSTEP_READY:
        return "ready: it waits for its turn";
    default:
        return "halted: it waits for a wake-up";
    }
}

static const char *main_word(void) {
    static const char *const words[] = {"not tracked, or waits for vCPUs", "works; all vCPUs wait for it",
                                        "has work; waits until all vCPUs are stopped", "sleeps"};
    return words[clock_machine.main];
}

static _Atomic(const char *) host_job;

void clock_host_waits(const char *for_what) {
    atomic_store(&host_job, for_what);
}

// What QEMU waits for although every vCPU has stopped, so that the guest can do nothing about it; NULL:
// nothing.
static const char *host_side(void) {
    const char *job = atomic_load(&host_job);
    if (job)
        return job;
    bool is_ready = false;
    for (unsigned c = 0; c < clock_machine.count; c++) {
        if (clock_machine.vcpu[c].state == LOCKSTEP_RUN)
            return NULL;
        is_ready |= clock_machine.vcpu[c].state == LOCKSTEP_READY;
    }
    if (clock_machine.main == LOCKSTEP_MAIN_BUSY)
        return "its main loop, which works and does not come back";
    bool blocks = clock_machine.main == LOCKSTEP_MAIN_NONE && !is_ready;
    return blocks ? "its main thread, which waits for another one" : NULL;
}

static void die_stuck(void) {
    char line[200];
    journal_line("stuck no progress for %u s at time %llu", clock_options.patience,
                 (unsigned long long)clock_machine.now);
    journal_line("stuck main loop: %s", main_word());
    for (unsigned c = 0; c < clock_machine.count; c++) {
        const struct lockstep_vcpu *v = &clock_machine.vcpu[c];
        snprintf(line, sizeof line, "stuck vcpu %u at %llu limit %llu: %s", c, (unsigned long long)v->time,
                 (unsigned long long)v->until, state_word(c));
        journal_line("%s", line);
        dprintf(STDERR_FILENO, "instruction clock: %s\n", line);
    }
    const char *host = host_side();
    if (host)
        journal_refuse("the host side of QEMU is stuck, not the guest: for %u s it has waited for %s",
                       clock_options.patience, host);
    dprintf(STDERR_FILENO, "instruction clock: stuck; main loop: %s\n", main_word());
    _exit(JOURNAL_EXIT_STUCK);
}

// A guest that has halted with no timer set is not stuck: only an event from outside can wake it.
static bool halted_for_good(void) {
    return clock_machine.main == LOCKSTEP_MAIN_IDLE && clock_machine.deadline == LOCKSTEP_NEVER &&
           clock_is_halted();
}

#define BEAT_NS 10000000 // later a thousandth of the guest's time, so that no log is too long

// Writes the guest time to the log. Programs that watch the run measure its deadlines by it.
void clock_beat(void) {
    static uint64_t next;
    uint64_t now = clock_machine.now;
    if (now < next)
        return;
    journal_line("beat %llu", (unsigned long long)now);
    outer_places();
    next = now + (now / 1000 > BEAT_NS ? now / 1000 : BEAT_NS);
}

static void say_halted(void) {
    static uint64_t said = LOCKSTEP_NEVER;
    if (said == clock_machine.now)
        return;
    said = clock_machine.now;
    journal_line("halted %llu", (unsigned long long)said);
    outer_places();
}

static uint64_t host_ns(clockid_t id) {
    struct timespec now;
    syscall(SYS_clock_gettime, id, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

// The state of one of QEMU's threads, as in /proc/PID/stat: R runs or wants a CPU, D waits for the kernel.
static char state_of(const char *thread) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/self/task/%.20s/stat", thread);
    int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0; // it has ended
    long size = syscall(SYS_read, file, text, sizeof text - 1);
    syscall(SYS_close, file);
    text[size > 0 ? size : 0] = 0;
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] ? name_end[2] : 0;
}

// True if a thread that the machine may be waiting for wants a CPU: then the host is slow, and nothing waits
// for something that will not happen.
static bool host_is_slow(void) {
    DIR *threads = opendir("/proc/self/task");
    long self = syscall(SYS_gettid);
    bool slow = false;
    for (struct dirent *entry; threads && !slow && (entry = readdir(threads));) {
        long thread = strtol(entry->d_name, NULL, 10);
        char state = thread && thread != self ? state_of(entry->d_name) : 0;
        slow = state == 'R' || state == 'D';
    }
    if (threads)
        closedir(threads);
    return slow;
}

// Once a second. Without progress the machine is stuck after `patience` seconds in which nothing that it waits for wanted a
// CPU, or if it has used so much CPU time. Seconds in which the host gave no CPU do not count. A look that
// comes late, because the host stopped the process, counts as one second.
void clock_watch_look(void) {
    static uint64_t last, looked, used, idle;
    clock_lock();
    uint64_t now = host_ns(CLOCK_MONOTONIC), own = host_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t progress = clock_machine.grants + clock_machine.main_turns + clock_machine.jumps;
    if (clock_guest_started && halted_for_good())
        say_halted();
    bool may_wait =
        !atomic_load(&host_job) && (!clock_guest_started || clock_main_asked || halted_for_good());
    if (progress != last || looked == 0 || may_wait) {
        last = progress;
        looked = now;
        used = own;
        idle = 0;
    } else if (now - looked >= SECOND) {
        looked = now;
        idle += host_is_slow() ? 0 : SECOND;
    }
    if (idle >= clock_options.patience * SECOND || own - used >= clock_options.patience * SECOND)
        die_stuck();
    clock_unlock();
}

static void *watch(void *unused) {
    static const struct timespec second = {1, 0};
    for (;;) {
        syscall(SYS_nanosleep, &second, NULL);
        clock_watch_look();
    }
    return unused;
}

// QEMU's signals are for its own threads, but for that of a trapped instruction.
bool clock_watch_begin(void) {
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGILL); // it stops when the process is forked (parking.h)
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool begun = pthread_create(&thread, NULL, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return begun;
}

// ---- totals

static uint64_t latest_time(void) {
    uint64_t latest = clock_machine.now;
    for (unsigned c = 0; c < clock_machine.count; c++)
        if (clock_machine.vcpu[c].time > latest)
            latest = clock_machine.vcpu[c].time;
    return latest;
}

// On a machine with a memory system a halt counts up to the end of the run, because books by phase split it.
static void report_vcpu(unsigned c) {
    const struct lockstep_vcpu *v = &clock_machine.vcpu[c];
    uint64_t own = clock_own(c); // lower than v->time if its thread has not taken its last grant yet
    uint64_t time = v->state == LOCKSTEP_RUN && own > v->time ? own : v->time, halted = v->halted;
    char stalled[40] = "", delayed[40] = "";
    if (outer_charges() || clock_has_capacities())
        snprintf(stalled, sizeof stalled, " stalled %llu", (unsigned long long)clock_stalled(c));
    if (outer_charges()) {
        halted = clock_halted(c, latest_time());
        time += halted - v->halted;
    }
    if (outer_delays())
        snprintf(delayed, sizeof delayed, " delayed %llu", (unsigned long long)clock_delayed(c));
    journal_line("vcpu %u time %llu executed %llu paused %llu skipped %llu halted %llu%s%s", c,
                 (unsigned long long)time, (unsigned long long)clock_executed(c),
                 (unsigned long long)clock_paused(c), (unsigned long long)clock_vcpus[c].skipped,
                 (unsigned long long)halted, stalled, delayed);
}

static void report_activity(void) {
    uint64_t now = clock_machine.now;
    for (unsigned c = 0; c < clock_machine.count; c++)
        if (clock_machine.vcpu[c].state != LOCKSTEP_HALT && clock_machine.vcpu[c].time > now)
            now = clock_machine.vcpu[c].time;
    activity_report(now);
}

// The `check` lines repeat with the run. The `host` lines also depend on how the host woke
// threads before the guest started, and on QEMU's background threads.
void clock_report(void) {
    clock_lock();
    clock_guest_started = false; // a vCPU that QEMU has woken may still halt, beside this thread
    for (unsigned c = 0; c < clock_machine.count; c++)
        report_vcpu(c);
    outer_report(latest_time());
    const struct {
        const char *kind, *name;
        uint64_t value;
    } lines[] = {
        {"check", "jumps", clock_machine.jumps},
        {"check", "vcpu_clock", clock_checks.vcpu_clock},
        {"check", "tsc_traps", clock_checks.tsc_traps},
        {"check", "notes", clock_checks.notes},
        {"check", "longest", clock_machine.longest},
        {"check", "handovers", clock_machine.handovers},
        {"check", "late", clock_machine.late},
        {"host", "grants", clock_machine.grants},
        {"host", "main_turns", clock_machine.main_turns},
        {"host", "main_clock", clock_checks.main_clock},
        {"host", "main_polls", clock_checks.main_polls},
        {"host", "halts", clock_checks.halts},
        {"host", "waits", clock_checks.waits},
        {"host", "signals", clock_checks.signals},
        {"host", "pendings", clock_checks.pendings},
        {"host", "errands", clock_checks.errands},
        {"host", "tsc_thunks", clock_checks.tsc_thunks},
        {"host", "tsc_signals", clock_checks.tsc_traps - clock_checks.tsc_thunks},
    };
    for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++)
        journal_line("%s %s %llu", lines[i].kind, lines[i].name, (unsigned long long)lines[i].value);
    report_activity();
    journal_line("end %llu", (unsigned long long)clock_machine.now);
    clock_unlock();
}
