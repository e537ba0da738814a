// Lines of the log, beside those of counts_spans.c:
//   counted returns, counted exchanged
//   saw SPAN VCPU returns VALUE               calls that succeeded
//   returned SPAN VCPU NUMBER TIMES BYTES     of one number; BYTES: what they gave, together
//   saw SPAN VCPU exchanged VALUE             bytes
//   exchanged SPAN VCPU NUMBER BYTES          read by calls of one number, and written by another thread
#include "returns.h"

#include "journal.h"
#include "marks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS 1024 // of system calls; the last one stands for all that are higher
#define LARGEST (UINT64_C(1) << 40) // of a number of bytes; what is larger is an address

struct returned {
    uint64_t times[NUMBERS], bytes[NUMBERS], exchanged[NUMBERS];
};

static struct returned *so_far, *at[MARKS_TOTAL_END + 1]; // by vCPU; by kind of mark
static bool has_mark[MARKS_TOTAL_END + 1], sees_objects;
static unsigned vcpus;

bool returns_setup(unsigned count, bool has_objects) {
    vcpus = count;
    sees_objects = has_objects;
    so_far = calloc(count, sizeof *so_far);
    bool has_memory = so_far;
    for (unsigned kind = MARKS_WORK_BEGIN; kind <= MARKS_TOTAL_END; kind++)
        has_memory = (at[kind] = calloc(count, sizeof *so_far)) && has_memory;
    return has_memory;
}

static unsigned place(uint64_t number) {
    return number < NUMBERS - 1 ? (unsigned)number : NUMBERS - 1;
}

void returns_succeeded(unsigned vcpu, uint64_t number, uint64_t value) {
    so_far[vcpu].times[place(number)]++;
    so_far[vcpu].bytes[place(number)] += value < LARGEST ? value : 0;
}

void returns_exchanged(unsigned vcpu, uint64_t number, uint64_t bytes) {
    so_far[vcpu].exchanged[place(number)] += bytes;
}

void returns_unexchanged(void) {
    sees_objects = false;
}

// The windows are those of counts_spans.c: from the first begin to the last end.
void returns_mark(unsigned kind) {
    bool opens = kind == MARKS_TOTAL_BEGIN || kind == MARKS_WORK_BEGIN;
    if (!so_far || kind < MARKS_WORK_BEGIN || kind > MARKS_TOTAL_END || (opens && has_mark[kind]))
        return;
    has_mark[kind] = true;
    memcpy(at[kind], so_far, vcpus * sizeof *so_far);
}

void returns_announce(void) {
    if (!so_far)
        return;
    journal_line("counted returns");
    if (sees_objects)
        journal_line("counted exchanged");
}

static void say(const char *span, unsigned c, const struct returned *from, const struct returned *to) {
    uint64_t calls = 0, exchanged = 0;
    for (unsigned i = 0; i < NUMBERS; i++) {
        calls += to->times[i] - from->times[i];
        exchanged += to->exchanged[i] - from->exchanged[i];
    }
    if (calls)
        journal_line("saw %s %u returns %" PRIu64, span, c, calls);
    if (exchanged && sees_objects)
        journal_line("saw %s %u exchanged %" PRIu64, span, c, exchanged);
    for (unsigned i = 0; i < NUMBERS; i++) {
        if (to->times[i] != from->times[i])
            journal_line("returned %s %u %u %" PRIu64 " %" PRIu64, span, c, i, to->times[i] - from->times[i],
                         to->bytes[i] - from->bytes[i]);
        if (to->exchanged[i] != from->exchanged[i] && sees_objects)
            journal_line("exchanged %s %u %u %" PRIu64, span, c, i, to->exchanged[i] - from->exchanged[i]);
    }
}

void returns_report(bool is_work) {
    unsigned begin = is_work ? MARKS_WORK_BEGIN : MARKS_TOTAL_BEGIN;
    unsigned end = is_work ? MARKS_WORK_END : MARKS_TOTAL_END;
    for (unsigned c = 0; so_far && has_mark[begin] && has_mark[end] && c < vcpus; c++)
        say(is_work ? "work" : "total", c, &at[begin][c], &at[end][c]);
}
