// Lines of the log, of each histogram that the machine measures and each thread at work, twice: by the calls
// (inner), and by the reads of the clock around them (outer); the same where one of these reads is missing:
//   spans NAME THREAD inner|outer COUNT SUM MIN MAX      in ns
//   buckets NAME THREAD inner|outer BUCKET:COUNT ...     as in guest/hist.c; those that are not empty
#include "spans.h"

#include "arch.h"
#include "journal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define BUCKETS (58 * 128)
#define ON_LINE 20
#define LONGEST 200 // a line `spans`, or the begin of a line `buckets`
#define PLACE 16    // a bucket with its count

struct lengths {
    uint64_t count, sum, min, max;
    uint32_t bucket[BUCKETS];
};

struct spans_lengths {
    struct lengths inner, outer;
};

static unsigned bucket_of(uint64_t value) {
    if (value < 128)
        return (unsigned)value;
    unsigned power = 63 - (unsigned)__builtin_clzll(value);
    return (power - 6) * 128 + (unsigned)(value >> (power - 7) & 127);
}

static void add(struct lengths *lengths, uint64_t value) {
    if (!lengths->count || value < lengths->min)
        lengths->min = value;
    if (value > lengths->max)
        lengths->max = value;
    lengths->count++;
    lengths->sum += value;
    lengths->bucket[bucket_of(value)]++;
}

uint64_t spans_length(uint64_t from, uint64_t to) {
    return to > from ? to - from : 0;
}

static bool add_both(struct spans *s, uint64_t inner, uint64_t outer) {
    if (!s->lengths)
        s->lengths = calloc(1, sizeof *s->lengths);
    if (!s->lengths)
        return false;
    add(&s->lengths->inner, inner);
    add(&s->lengths->outer, outer);
    return true;
}

static uint64_t last_tick(uint64_t time) {
    return time - time % arch_guest->clock_step;
}

bool spans_close(struct spans *s) {
    bool is_span = s->is_open && s->has_end && (s->has_read || !s->needs_read);
    s->is_open = s->has_end = false;
    if (!is_span)
        return true;
    bool has_reads = s->begin.step && s->has_read;
    uint64_t inner = spans_length(s->begin.time, s->end), outer = inner;
    if (has_reads)
        outer = spans_length(s->begin.read, s->read);
    if (outer < inner)
        outer = inner;
    if (!s->is_part)
        return add_both(s, inner, outer);
    s->inner += inner;
    s->outer += outer;
    s->ticked += has_reads ? spans_length(last_tick(s->begin.read), last_tick(s->read)) : outer;
    return true;
}

bool spans_record(struct spans *s, uint64_t length) {
    return add_both(s, length, length);
}

// A program that adds up its parts adds up their errors, each of nearly a tick. The CPU's clock may be finer than its
// architecture's coarsest one, so both lengths are possible.
bool spans_record_parts(struct spans *s) {
    bool has_memory = spans_close(s);
    uint64_t inner = s->ticked < s->inner ? s->ticked : s->inner;
    uint64_t outer = s->ticked > s->outer ? s->ticked : s->outer;
    has_memory = has_memory && add_both(s, inner, outer);
    s->inner = s->outer = s->ticked = 0;
    return has_memory;
}

bool spans_begin(struct spans *s, const struct spans_moment *begin) {
    if (s->is_open && !s->has_end)
        return true;
    uint64_t before = s->step;
    bool has_memory = spans_close(s);
    s->is_open = true;
    s->begin = *begin;
    if (begin->step <= before)
        s->begin.step = 0;
    return has_memory;
}

void spans_end(struct spans *s, uint64_t time, uint64_t step) {
    if (!s->is_open)
        return;
    s->has_end = true;
    s->has_read = false;
    s->end = time;
    s->step = step;
}

void spans_read(struct spans *s, uint64_t time) {
    if (!s->has_end || s->has_read)
        return;
    s->has_read = true;
    s->read = time;
}

static size_t room(const struct lengths *lengths) {
    size_t used = 0;
    for (unsigned i = 0; i < BUCKETS; i++)
        used += lengths->bucket[i] != 0;
    return LONGEST + used * PLACE + (used / ON_LINE + 1) * LONGEST;
}

size_t spans_room(const struct spans *s) {
    return s->lengths ? room(&s->lengths->inner) + room(&s->lengths->outer) : 2 * LONGEST;
}

static void say(const struct lengths *l, const char *name, unsigned thread, const char *kind) {
    char places[ON_LINE * PLACE + 8];
    size_t used = 0;
    unsigned count = 0;
    journal_line("spans %s %u %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, name, thread, kind, l->count,
                 l->sum, l->min, l->max);
    for (unsigned i = 0; i < BUCKETS; i++) {
        if (l->bucket[i])
            used += (size_t)snprintf(places + used, sizeof places - used, " %u:%" PRIu32, i, l->bucket[i]);
        count += l->bucket[i] != 0;
        if (used && (count == ON_LINE || i + 1 == BUCKETS)) {
            journal_line("buckets %s %u %s%s", name, thread, kind, places);
            used = count = 0;
        }
    }
}

void spans_report(const struct spans *s, const char *name, unsigned thread) {
    static const struct lengths none;
    say(s->lengths ? &s->lengths->inner : &none, name, thread, "inner");
    say(s->lengths ? &s->lengths->outer : &none, name, thread, "outer");
}
