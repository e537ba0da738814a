// Lines of the log:
//   columns COUNT WIDTH BEGIN END     ns; the last column ends at END
//   worked VCPU HEX, spun VCPU HEX    two digits a column: its share in 255ths; the rest is halted
//   woke VCPU BY WAKES INTERRUPTS     BY: a vCPU
//   host wakes_of_VCPU WAKES, host interrupts_of_VCPU INTERRUPTS    by a timer or device, and for jobs of
//                                     QEMU's own, whose number depends on the host
// How long the window will be is not known, so columns begin short, and double when they are full.
#include "activity.h"

#include "events.h"
#include "journal.h"
#include "lockstep.h"

#include <stdio.h>

#define COLUMNS 200 // at most; at least half as many in a window of more than FIRST_WIDTH * COLUMNS
#define FIRST_WIDTH 1024
#define MOST_PAIRS 4096 // lines `woke`: all pairs of 63 vCPUs

static struct {
    uint64_t worked[COLUMNS], spun[COLUMNS];
} did[LOCKSTEP_MAX];
static struct {
    uint32_t wakes, interrupts;
} pairs[LOCKSTEP_MAX][LOCKSTEP_MAX + 1]; // target, sender + 1
static unsigned vcpus;
static bool opened;
static uint64_t begin, end = LOCKSTEP_NEVER, width = FIRST_WIDTH;

void activity_setup(unsigned count, bool whole, uint64_t now) {
    vcpus = count;
    opened = whole;
    begin = now;
}

void activity_window(bool open, uint64_t time) {
    if (open && !opened)
        begin = time;
    else if (!open && opened && end == LOCKSTEP_NEVER)
        end = time;
    opened |= open;
    events_window(open, time);
}

static void widen(void) {
    for (unsigned c = 0; c < vcpus; c++)
        for (unsigned i = 0; i < COLUMNS; i++) {
            bool both = 2 * i + 1 < COLUMNS;
            did[c].worked[i] = both ? did[c].worked[2 * i] + did[c].worked[2 * i + 1] : 0;
            did[c].spun[i] = both ? did[c].spun[2 * i] + did[c].spun[2 * i + 1] : 0;
        }
    width *= 2;
}

static void spread(unsigned c, uint64_t from, uint64_t to, uint64_t worked) {
    uint64_t length = to - from;
    for (uint64_t at = from; at < to;) {
        uint64_t column = (at - begin) / width, edge = begin + (column + 1) * width;
        uint64_t part = (edge < to ? edge : to) - at, work = worked * part / length;
        did[c].worked[column] += work;
        did[c].spun[column] += part - work;
        at += part;
    }
}

// `worked` is an amount of all of it: of a part that is inside the window, its share.
void activity_ran(unsigned c, uint64_t from, uint64_t to, uint64_t worked) {
    if (to <= from)
        return;
    uint64_t length = to - from, first = from > begin ? from : begin, last = to < end ? to : end;
    worked = worked < length ? worked : length;
    events_ran(c, from, to, worked);
    if (!opened || first >= last)
        return;
    while (last - begin > COLUMNS * width)
        widen();
    spread(c, first, last, worked * (last - first) / length);
}

static bool inside(uint64_t time) {
    return opened && time >= begin && time < end;
}

void activity_slept(unsigned c, uint64_t from, uint64_t to, int waker) {
    if (inside(to))
        pairs[c][waker + 1].wakes++;
    events_slept(c, from, to, waker);
}

void activity_runs(unsigned c, uint64_t from, uint64_t to, uint64_t worked) {
    if (to > from)
        events_ran(c, from, to, worked);
}

void activity_rests(unsigned c, uint64_t from, uint64_t to) {
    events_rests(c, from, to);
}

void activity_interrupted(unsigned c, uint64_t time, int sender) {
    if (inside(time))
        pairs[c][sender + 1].interrupts++;
    events_interrupted(c, time, sender);
}

static unsigned in_255ths(uint64_t part) {
    uint64_t share = (part * 255 + width / 2) / width;
    return share < 255 ? (unsigned)share : 255;
}

static void report_columns(const char *what, unsigned c, const uint64_t *parts, unsigned count) {
    char text[2 * COLUMNS + 1];
    for (unsigned i = 0; i < count; i++)
        snprintf(text + 2 * i, 3, "%02x", in_255ths(parts[i]));
    journal_line("%s %u %s", what, c, text);
}

static void report_pairs(void) {
    unsigned left = MOST_PAIRS;
    for (unsigned c = 0; c < vcpus; c++)
        for (unsigned by = 0; by <= vcpus; by++) {
            if ((!pairs[c][by].wakes && !pairs[c][by].interrupts) || left == 0)
                continue;
            left--;
            if (by == 0) {
                journal_line("host wakes_of_%u %u", c, pairs[c][by].wakes);
                journal_line("host interrupts_of_%u %u", c, pairs[c][by].interrupts);
            } else {
                journal_line("woke %u %u %u %u", c, by - 1, pairs[c][by].wakes, pairs[c][by].interrupts);
            }
        }
}

void activity_report(uint64_t now) {
    uint64_t last = end < now ? end : now;
    events_report(last);
    if (!opened || last <= begin)
        return;
    while (last - begin > COLUMNS * width)
        widen();
    unsigned count = (unsigned)((last - begin + width - 1) / width);
    journal_line("columns %u %llu %llu %llu", count, (unsigned long long)width, (unsigned long long)begin,
                 (unsigned long long)last);
    for (unsigned c = 0; c < vcpus; c++) {
        report_columns("worked", c, did[c].worked, count);
        report_columns("spun", c, did[c].spun, count);
    }
    report_pairs();
}
