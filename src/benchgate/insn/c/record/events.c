// Lines of the file, in the order in which the clock saw them:
//   insn-events 1, vcpus N, open TIME, close TIME
//   work VCPU FROM TO, spin VCPU FROM TO    turns, joined while a vCPU goes on with the same
//   halt VCPU FROM TO BY                    BY woke it: a vCPU, or `-` for a timer or device
//   rest VCPU FROM TO                       halted, and still so when the window closes
//   kick VCPU TIME BY                       BY interrupted it while it ran
//   full TIME                               the file is full, nothing after TIME is in it
//   end TIME
#define _GNU_SOURCE
#include "events.h"

#include "lockstep.h"

#include <stdarg.h>
#include <stdio.h>

#define MOST_EVENTS 250000 // of at most 70 bytes; insn/events.py reads at most 24 MiB

static struct {
    uint64_t from, to;
    bool works;
} turns[LOCKSTEP_MAX];
static FILE *file;
static unsigned vcpus, written;
static bool opened, closed;

const char *events_setup(const char *path, unsigned count, bool whole) {
    file = fopen(path, "we");
    if (!file)
        return "the events cannot be written (option events=FILE)";
    vcpus = count;
    opened = whole;
    fprintf(file, "insn-events 1\nvcpus %u\n", count);
    return NULL;
}

__attribute__((format(printf, 2, 3))) static void event(uint64_t time, const char *format, ...) {
    if (written > MOST_EVENTS)
        return;
    if (written++ == MOST_EVENTS) {
        fprintf(file, "full %llu\n", (unsigned long long)time);
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
}

static void flush(unsigned c) {
    if (turns[c].to > turns[c].from)
        event(turns[c].to, "%s %u %llu %llu\n", turns[c].works ? "work" : "spin", c,
              (unsigned long long)turns[c].from, (unsigned long long)turns[c].to);
    turns[c].from = turns[c].to = 0;
}

static bool watches(void) {
    return file && opened && !closed;
}

void events_window(bool open, uint64_t time) {
    if (!file || (open ? opened : !watches()))
        return;
    for (unsigned c = 0; c < vcpus && !open; c++)
        flush(c);
    fprintf(file, "%s %llu\n", open ? "open" : "close", (unsigned long long)time);
    opened = true;
    closed = !open;
}

void events_ran(unsigned c, uint64_t from, uint64_t to, uint64_t worked) {
    if (!watches())
        return;
    bool works = 2 * worked >= to - from;
    if (turns[c].to != from || turns[c].works != works) {
        flush(c);
        turns[c].from = from;
    }
    turns[c].to = to;
    turns[c].works = works;
}

static void with_sender(char *into, size_t size, int sender) {
    if (sender == EVENTS_MACHINE)
        snprintf(into, size, "-");
    else
        snprintf(into, size, "%d", sender);
}

void events_slept(unsigned c, uint64_t from, uint64_t to, int waker) {
    char by[12];
    if (!watches())
        return;
    flush(c);
    with_sender(by, sizeof by, waker);
    event(to, "halt %u %llu %llu %s\n", c, (unsigned long long)from, (unsigned long long)to, by);
}

void events_rests(unsigned c, uint64_t from, uint64_t to) {
    if (!watches())
        return;
    flush(c);
    event(to, "rest %u %llu %llu\n", c, (unsigned long long)from, (unsigned long long)to);
}

void events_interrupted(unsigned c, uint64_t time, int sender) {
    char by[12];
    if (!watches())
        return;
    with_sender(by, sizeof by, sender);
    event(time, "kick %u %llu %s\n", c, (unsigned long long)time, by);
}

void events_report(uint64_t end) {
    if (!file)
        return;
    for (unsigned c = 0; c < vcpus; c++)
        flush(c);
    fprintf(file, "end %llu\n", (unsigned long long)end);
    fclose(file);
    file = NULL;
}
