// Who runs where, and how: the settings of threads, the limits of control groups, CPUs that come and go, and
// the time line.
//
// Takes entries of a plan; gives nothing, or ends the run with what could not be set. It needs the service
// `control`, and `placement` for CPUs; a program that is built without them can carry out only plans that set
// nothing.
#ifndef SCENARIO_DIRECTOR_H
#define SCENARIO_DIRECTOR_H

#include "plan.h"

#define NICE_ZERO 20

static inline int plan_sets(const struct plan_entry *entry) {
    return plan_has(entry, 'n') || plan_has(entry, 's') || plan_has(entry, 'm') || plan_has(entry, 'c');
}

#ifdef BENCH_NEEDS_CONTROL
static void set_thread(const struct plan_entry *to, uint64_t process) {
    if (plan_has(to, 'c') && port_enter(process, (unsigned)plan_of(to, 'c')) != 0)
        port_fail("a thread could not be moved to its control group");
    if (plan_has(to, 'm') && port_allow_other(process, plan_of(to, 'm')) != 0)
        port_fail("a thread could not be bound to its CPUs");
    if (plan_has(to, 'n') && port_nice(process, (int)to->of['n' - 'a'] - NICE_ZERO) != 0)
        port_fail("a thread could not be given its nice value");
    if (plan_has(to, 's') &&
        port_policy(process, (enum port_policy)plan_of(to, 's'), (unsigned)plan_of(to, 'y')) != 0)
        port_fail("a thread could not be given its policy");
}

static void set_limits(unsigned number, const struct plan_entry *to) {
    const struct port_limits limits = {
        .weight = plan_of(to, 'w'),
        .has_quota = plan_has(to, 'q'),
        .quota_us = plan_of(to, 'q'),
        .period_us = plan_of(to, 'd'),
        .cpus = plan_of(to, 'm'),
    };
    if (port_limits(number, &limits) != 0)
        port_fail("the limits of a control group could not be set");
}

static inline void set_cpu(const struct plan_entry *to) {
    int online = plan_has(to, 'u');
    if (port_cpu_online((unsigned)plan_of(to, online ? 'u' : 'x'), online) != 0)
        port_fail(online ? "a CPU could not be given back" : "a CPU could not be taken away");
}

// Makes the changes at their times. It goes before all others, so that the time line does not depend on the
// scheduler that is tried.
static void direct(const struct plan *plan, uint64_t start, const uint64_t *process, const unsigned *first) {
    for (unsigned i = 0; i < plan->changes; i++) {
        const struct plan_entry *to = &plan->change[i];
        uint64_t due = start + plan_ticks(to, 't');
        if (port_now() < due)
            port_sleep_until(due);
        unsigned group = (unsigned)plan_of(to, 'g');
        if (plan_moves_cpu(to))
            set_cpu(to);
        else if (plan_has(to, 'l'))
            set_limits((unsigned)plan_of(to, 'l'), to);
        else
            for (unsigned k = first[group]; k < first[group + 1]; k++)
                set_thread(to, process[k]);
    }
}

static void lead(void) {
    if (port_policy(port_process(), PORT_FIFO, 90) != 0)
        port_fail("the director could not be put before all others");
}
#else
static void set_thread(const struct plan_entry *to, uint64_t process) {
    (void)to, (void)process;
}

static void set_limits(unsigned number, const struct plan_entry *to) {
    (void)number, (void)to;
}

static void direct(const struct plan *plan, uint64_t start, const uint64_t *process, const unsigned *first) {
    (void)plan, (void)start, (void)process, (void)first;
}

static void lead(void) {}
#endif

// Whether the program can do what the plan asks for.
static const char *director_can(const struct plan *plan) {
#ifdef BENCH_NEEDS_CONTROL
    (void)plan;
#else
    unsigned settings = plan->limits + plan->changes;
    for (unsigned i = 0; i < plan->groups; i++)
        settings += (unsigned)plan_sets(&plan->group[i]);
    if (settings != 0)
        return "the plan sets what needs the service `control`, and this program is built without it";
#endif
    return NULL;
}

#endif
