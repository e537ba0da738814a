// Lines of the log:
//   counted NAME                    what is counted, before the first count
//   counting SPAN BEGIN END         SPAN: total (the window), work (from the first worker's begin to the last
//                                   one's end) or whole (from the program's start to the end); times in ns. Its
//                                   counts follow:
//   saw SPAN VCPU NAME VALUE        those that are not 0
//   called SPAN VCPU NUMBER TIMES BYTES    a system call; BYTES: how many it was asked to move, or `-`
//   uncounted                       the lines before those of the console have no room any more
// Before a line of the console of a system without marks, SPAN is `so_far`, since the guest's start, and only
// what changed is written.
//
// Only one vCPU runs at a time, so any of them can read the counts of all.
#include "counts_state.h"

#if INSN_API >= 3 && !defined INSN_UNCOUNTED

#include "clock.h"
#include "journal.h"
#include "marks.h"
#include "returns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LONGEST 96 // a line, with its largest numbers

// Of all vCPUs at one moment.
struct moment {
    bool is_known;
    uint64_t time;
    struct at {
        uint64_t values[COUNTS_MOST];
        struct counts_calls calls;
    } *vcpus;
};

static bool is_announced, is_full;
static struct moment total_begin, work_begin, work_end, total_end, said, now, whole_begin, whole_end;

static bool make(struct moment *moment) {
    moment->vcpus = calloc(counts.vcpus, sizeof *moment->vcpus);
    return moment->vcpus;
}

bool counts_spans_make(void) {
    whole_begin.is_known = true; // all its counts are 0
    return make(&total_begin) && make(&work_begin) && make(&work_end) && make(&total_end) && make(&said) &&
           make(&now) && make(&whole_begin) && make(&whole_end);
}

// ---- moments

// Of those that it has executed. It never becomes less: a loop that waits is counted as a whole where it ends, and so
// may be counted before it is executed.
static uint64_t worked(unsigned c, uint64_t executed) {
    static uint64_t most[LOCKSTEP_MAX];
    uint64_t idled = clock_idled(c), done = executed > idled ? executed - idled : 0;
    most[c] = done > most[c] ? done : most[c];
    return most[c] < executed ? most[c] : executed;
}

// `vcpu` has counted `left` instructions that it has not executed yet.
static void take(struct moment *moment, unsigned vcpu, uint64_t left, bool is_program, uint64_t time) {
    for (unsigned c = 0; c < counts.vcpus; c++) {
        struct at *at = &moment->vcpus[c];
        bool calls = false;
        for (unsigned i = 0; i < counts.slots; i++) {
            uint64_t value = qemu_plugin_u64_get(counts_counter(i), c);
            calls |= i == COUNTS_SYSCALLS && value != at->values[i];
            at->values[i] = value;
        }
        at->values[COUNTS_INSTRUCTIONS] = clock_executed(c) - (c == vcpu ? left : 0);
        at->values[COUNTS_WORKED] = worked(c, at->values[COUNTS_INSTRUCTIONS]);
        at->values[COUNTS_PROGRAMS] -= c == vcpu && is_program ? left : 0;
        if (calls)
            at->calls = counts.made[c];
    }
    moment->is_known = true;
    moment->time = time;
}

void counts_mark(unsigned kind, unsigned vcpu, uint64_t left, bool is_program, uint64_t time) {
    if (!counts.score || counts.is_blind)
        return;
    if (kind == MARKS_TOTAL_BEGIN && !total_begin.is_known)
        take(&total_begin, vcpu, left, is_program, time);
    else if (kind == MARKS_WORK_BEGIN && !work_begin.is_known)
        take(&work_begin, vcpu, left, is_program, time);
    else if (kind == MARKS_WORK_END)
        take(&work_end, vcpu, left, is_program, time);
    else if (kind == MARKS_TOTAL_END)
        take(&total_end, vcpu, left, is_program, time);
}

void counts_spans_start(unsigned vcpu) {
    if (!total_begin.is_known)
        take(&whole_begin, vcpu, 0, true, clock_own(vcpu));
}

// ---- lines

// That no interrupt was sent may mean that it is done in another way, by a store to a device.
static void announce(void) {
    for (unsigned c = 0; c < counts.vcpus && !is_announced; c++)
        counts.is_counted[COUNTS_IPIS] |= qemu_plugin_u64_get(counts_counter(COUNTS_IPIS), c) != 0;
    for (unsigned i = 0; i < counts.slots && !is_announced; i++)
        if (counts.is_counted[i])
            journal_line("counted %s", counts.names[i]);
    returns_announce();
    is_announced = true;
}

static bool has_called(const struct at *before, const struct at *to) {
    return to->values[COUNTS_SYSCALLS] != before->values[COUNTS_SYSCALLS];
}

// What one vCPU did since `base`, if it is more than at `before`.
static size_t say(const char *span, unsigned c, const struct at *base, const struct at *before,
                  const struct at *to) {
    size_t length = 0;
    for (unsigned i = 0; i < counts.slots; i++)
        if (counts.is_counted[i] && to->values[i] != before->values[i])
            length += journal_line("saw %s %u %s %" PRIu64, span, c, counts.names[i],
                                   to->values[i] - base->values[i]);
    for (unsigned i = 0; i < COUNTS_NUMBERS && has_called(before, to); i++) {
        char bytes[24] = "-";
        if (to->calls.times[i] == before->calls.times[i])
            continue;
        if (counts_tells_bytes(i))
            snprintf(bytes, sizeof bytes, "%" PRIu64, to->calls.bytes[i] - base->calls.bytes[i]);
        length += journal_line("called %s %u %u %" PRIu64 " %s", span, c, i,
                               to->calls.times[i] - base->calls.times[i], bytes);
    }
    return length;
}

static size_t most_lines(const struct at *before, const struct at *to) {
    size_t lines = counts.slots;
    for (unsigned i = 0; i < COUNTS_NUMBERS && has_called(before, to); i++)
        lines += to->calls.times[i] != before->calls.times[i];
    return lines;
}

size_t counts_line(size_t most) {
    static const struct at nothing;
    size_t length = 0;
    if (!counts.score || counts.is_blind || is_full)
        return 0;
    announce();
    take(&now, counts.vcpus, 0, false, 0);
    for (unsigned c = 0; c < counts.vcpus && !is_full; c++) {
        if (length + most_lines(&said.vcpus[c], &now.vcpus[c]) * LONGEST > most) {
            is_full = true;
            length += journal_line("uncounted");
        } else {
            length += say("so_far", c, &nothing, &said.vcpus[c], &now.vcpus[c]);
            said.vcpus[c] = now.vcpus[c];
        }
    }
    return length;
}

static void report(const char *span, const struct moment *begin, const struct moment *end) {
    if (!begin->is_known || !end->is_known)
        return;
    journal_line("counting %s %" PRIu64 " %" PRIu64, span, begin->time, end->time);
    for (unsigned c = 0; c < counts.vcpus; c++)
        say(span, c, &begin->vcpus[c], &begin->vcpus[c], &end->vcpus[c]);
    if (begin != &whole_begin)
        returns_report(begin == &work_begin);
}

void counts_report(uint64_t time) {
    if (!counts.score || counts.is_blind)
        return;
    announce();
    report("total", &total_begin, &total_end);
    report("work", &work_begin, &work_end);
    take(&whole_end, counts.vcpus, 0, false, time);
    report("whole", &whole_begin, &whole_end);
}

#else

void counts_mark(unsigned kind, unsigned vcpu, uint64_t left, bool is_program, uint64_t time) {
    (void)kind, (void)vcpu, (void)left, (void)is_program, (void)time;
}

size_t counts_line(size_t most) {
    (void)most;
    return 0;
}

void counts_report(uint64_t time) {
    (void)time;
}

#endif
