// Is the machine stuck? Whoever waits asks about once a second. And what is said at the end.
#define _GNU_SOURCE
#include "clock_state.h"
#include "journal.h"

#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *state_word(unsigned c) {
    if (on_errand(c))
        return "halted, and off on QEMU's own business";
    switch (machine.vcpu[c].state) {
    case LOCKSTEP_ABSENT:
        return "absent: its thread has not been seen";
    case LOCKSTEP_RUN:
        return "let go, and has not come back";
    case LOCKSTEP_READY:
        return "waits for its turn";
    default:
        return "halted: waits to be woken";
    }
}

static const char *main_word(void) {
    static const char *const words[] = {"not tracked, or waits for vCPUs", "works; all vCPUs wait for it",
                                        "has work; waits until all vCPUs stand still", "sleeps"};
    return words[machine.main];
}

static void die_stuck(void) {
    char line[200];
    journal_line("stuck no progress for %u s at time %llu", options.patience,
                 (unsigned long long)machine.now);
    journal_line("stuck main loop: %s", main_word());
    for (unsigned c = 0; c < machine.count; c++) {
        const struct lockstep_vcpu *v = &machine.vcpu[c];
        snprintf(line, sizeof line, "stuck vcpu %u at %llu limit %llu: %s", c, (unsigned long long)v->time,
                 (unsigned long long)v->until, state_word(c));
        journal_line("%s", line);
        dprintf(STDERR_FILENO, "instruction clock: %s\n", line);
    }
    dprintf(STDERR_FILENO, "instruction clock: stuck; main loop: %s\n", main_word());
    _exit(EXIT_STUCK);
}

// A guest that sleeps for good is not stuck: nothing is due, and only somebody outside can wake it.
static bool asleep_for_good(void) {
    if (machine.main != LOCKSTEP_MAIN_IDLE || machine.deadline != LOCKSTEP_NEVER)
        return false;
    for (unsigned c = 0; c < machine.count; c++)
        if (machine.vcpu[c].state != LOCKSTEP_HALT)
            return false;
    return true;
}

void clock_watch(void) {
    static uint64_t last;
    static time_t since;
    lock();
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    uint64_t progress = machine.grants + machine.main_turns + machine.jumps;
    if (progress != last || since == 0 || !started || asleep_for_good()) {
        last = progress;
        since = now.tv_sec;
    }
    if (now.tv_sec - since >= (time_t)options.patience)
        die_stuck();
    unlock();
}

// ---- totals

static void report_vcpu(unsigned c) {
    const struct lockstep_vcpu *v = &machine.vcpu[c];
    uint64_t own = clock_own(c); // behind, where it was granted a turn that its thread has not taken yet
    uint64_t time = v->state == LOCKSTEP_RUN && own > v->time ? own : v->time;
    journal_line("vcpu %u time %llu executed %llu paused %llu skipped %llu halted %llu", c,
                 (unsigned long long)time, (unsigned long long)clock_executed(c),
                 (unsigned long long)clock_paused(c), (unsigned long long)vcpus[c].skipped,
                 (unsigned long long)v->halted);
}

// In serial mode the lines `check` repeat with the run. The lines `host` count what also depends on how
// the host woke threads before the guest began, or on QEMU's own background threads.
void clock_report(void) {
    lock();
    for (unsigned c = 0; c < machine.count; c++)
        report_vcpu(c);
    const struct {
        const char *kind, *name;
        uint64_t value;
    } lines[] = {
        {"check", "jumps", machine.jumps},
        {"check", "vcpu_clock", clock_checks.vcpu_clock},
        {"check", "tsc_traps", clock_checks.tsc_traps},
        {"check", "notes", clock_checks.notes},
        {"check", "longest", machine.longest},
        {"host", "grants", machine.grants},
        {"host", "main_turns", machine.main_turns},
        {"host", "main_clock", clock_checks.main_clock},
        {"host", "main_polls", clock_checks.main_polls},
        {"host", "halts", clock_checks.halts},
        {"host", "waits", clock_checks.waits},
        {"host", "signals", clock_checks.signals},
        {"host", "pendings", clock_checks.pendings},
        {"host", "errands", clock_checks.errands},
        {"host", "creeps", clock_checks.creeps},
    };
    for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++)
        journal_line("%s %s %llu", lines[i].kind, lines[i].name, (unsigned long long)lines[i].value);
    journal_line("end %llu", (unsigned long long)machine.now);
    unlock();
}
