// Accounts for the time of each vCPU by phase: the window, and the boot, which is everything outside it.
//
// Lines of the log, for each phase, and in it for each CPU:
//   memory PHASE CPU KEY COUNT ...    accesses by kind, by the place that served them; other events; `touched` is
//                                     the bytes of the lines of which it was the first to use data in the window
//   stall PHASE CPU CLASS NS ...      what it waited for
//   spent PHASE CPU executed E paused P skipped S halted H stalled X    of an exploration also delayed D
// and order PHASE COUNT WORST_NS WORST_LINE TOTAL_NS CROSSED (memory.h).
#include "access_state.h"

#if INSN_API >= 3

#include "contention.h"
#include "delays.h"
#include "journal.h"

#include <stdio.h>
#include <string.h>

struct spent {
    uint64_t executed, paused, skipped, halted, stalled, delayed;
};

static unsigned vcpus;
static enum memory_phase phase;
static struct spent window[LOCKSTEP_MAX]; // as of the last change of phase: what the window has so far,
static struct spent before[LOCKSTEP_MAX]; // and all
static uint64_t opened_at;                // no vCPU was later when the window opened
static struct {
    uint64_t count, worst, line, total, crossed;
} order[MEMORY_PHASES];
static uint64_t crossed_before[MEMORY_PHASES]; // as the model counts them

void access_books_setup(unsigned count, bool whole) {
    vcpus = count;
    if (whole)
        memory_set_phase(access_memory, phase = MEMORY_WINDOW);
}

bool access_waited(uint64_t time, uint64_t line) {
    return phase == MEMORY_WINDOW && contention_at(line, time, false) && clock_contended(time);
}

// An access in the window that is late only for what others did before it opened is late for the boot.
bool access_out_of_order(uint64_t time, uint64_t late, uint64_t line) {
    bool windows = phase == MEMORY_WINDOW && time + late > opened_at;
    enum memory_phase counts = windows ? MEMORY_WINDOW : MEMORY_BOOT;
    order[counts].count++;
    order[counts].total += late;
    uint64_t crossed = memory_order_of(access_memory, phase).crossed;
    order[counts].crossed += crossed - crossed_before[phase];
    crossed_before[phase] = crossed;
    if (late > order[counts].worst) {
        order[counts].worst = late;
        order[counts].line = line << access_memory->line_bits;
    }
    if (!windows)
        return false;
    return contention_at(line, time, true) ? clock_contended(time) : clock_disordered(time, late);
}

static struct spent all_of(unsigned c, uint64_t now) {
    return (struct spent){clock_executed(c), clock_paused(c), clock_skipped(c), clock_halted(c, now),
                          clock_stalled(c), clock_delayed(c)};
}

static void settle(uint64_t now) {
    for (unsigned c = 0; c < vcpus; c++) {
        struct spent all = all_of(c, now);
        if (phase == MEMORY_WINDOW) {
            window[c].executed += all.executed - before[c].executed;
            window[c].paused += all.paused - before[c].paused;
            window[c].skipped += all.skipped - before[c].skipped;
            window[c].halted += all.halted - before[c].halted;
            window[c].stalled += all.stalled - before[c].stalled;
            window[c].delayed += all.delayed - before[c].delayed;
        }
        before[c] = all;
        if (access_charges())
            access_fetch_count(c);
    }
}

// `now` is the time of the vCPU at the mark, `latest` that of the vCPU that is most ahead.
void access_window(bool open, uint64_t now, uint64_t latest) {
    enum memory_phase next = open ? MEMORY_WINDOW : MEMORY_BOOT;
    if (!access_memory || next == phase)
        return;
    settle(now);
    phase = next;
    if (open)
        opened_at = latest;
    memory_set_phase(access_memory, phase);
    for (unsigned c = 0; c < vcpus; c++)
        access_look_again(c);
}

struct text {
    char line[500];
    size_t length;
};

static void put(struct text *t, const char *key, uint64_t value) {
    t->length += (size_t)snprintf(t->line + t->length, sizeof t->line - t->length, " %s %llu", key,
                                  (unsigned long long)value);
}

static void report_counts(enum memory_phase p, unsigned c, const struct memory_books *b) {
    struct text t = {0};
    put(&t, "reads", b->accesses[MEMORY_READ]);
    put(&t, "writes", b->accesses[MEMORY_WRITE]);
    put(&t, "fetches", b->accesses[MEMORY_FETCH]);
    put(&t, "atomics", b->accesses[MEMORY_ATOMIC]);
    for (unsigned i = 0; i < MEMORY_CLASSES; i++)
        put(&t, memory_class_name[i], b->count[i]);
    put(&t, "invalidations", b->invalidations);
    put(&t, "written_back", b->written_back);
    put(&t, "outside", b->outside);
    put(&t, "touched", b->touched << access_memory->line_bits);
    journal_line("memory %s %u%s", memory_phase_name[p], c, t.line);
}

static void report_stalls(enum memory_phase p, unsigned c, const struct memory_books *b) {
    struct text t = {0};
    for (unsigned i = 0; i < MEMORY_CLASSES; i++)
        put(&t, memory_class_name[i], b->stall_ns[i]);
    journal_line("stall %s %u%s", memory_phase_name[p], c, t.line);
}

static void report_spent(enum memory_phase p, unsigned c) {
    struct spent all = before[c], w = window[c];
    if (p == MEMORY_BOOT)
        w = (struct spent){all.executed - w.executed, all.paused - w.paused, all.skipped - w.skipped,
                           all.halted - w.halted, all.stalled - w.stalled, all.delayed - w.delayed};
    struct text t = {0};
    put(&t, "executed", w.executed);
    put(&t, "paused", w.paused);
    put(&t, "skipped", w.skipped);
    put(&t, "halted", w.halted);
    put(&t, "stalled", w.stalled);
    if (delays_on())
        put(&t, "delayed", w.delayed);
    journal_line("spent %s %u%s", memory_phase_name[p], c, t.line);
}

void access_report(uint64_t now) {
    if (!access_memory)
        return;
    settle(now);
    for (unsigned p = 0; p < MEMORY_PHASES; p++) {
        for (unsigned c = 0; access_charges() && c < vcpus; c++) {
            struct memory_books b = memory_books_of(access_memory, p, c);
            report_counts(p, c, &b);
            report_stalls(p, c, &b);
            report_spent(p, c);
        }
        journal_line("order %s %llu %llu %llx %llu %llu", memory_phase_name[p],
                     (unsigned long long)order[p].count, (unsigned long long)order[p].worst,
                     (unsigned long long)order[p].line, (unsigned long long)order[p].total,
                     (unsigned long long)order[p].crossed);
    }
}

#endif
