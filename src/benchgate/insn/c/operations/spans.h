// The spans of one thread that make one histogram of the guest: from the entry of a call to the exit of another,
// and from what the guest read last from its clock before to what it read first afterwards.
#ifndef SPANS_H
#define SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// When something began: by the machine, and by the last time that the guest's program had read then.
struct spans_moment {
    uint64_t time, read;
    uint64_t step; // which of the thread's reads that was; 0: it had read none
    uint64_t word; // the first argument of the program's function in which it began; 0: there is none
};

struct spans_lengths;

struct spans {
    bool is_open, has_end, has_read; // has_read: the program has read its clock since the end
    // Without such a read it was none: a thread that a late wake-up reaches sees that nothing is new, and sleeps on.
    bool needs_read;
    bool is_part; // what the program records is the sum of all spans since it recorded the last one
    struct spans_moment begin;
    uint64_t end, read;
    uint64_t inner, outer;         // of the parts so far
    uint64_t ticked;               // and by a clock that goes on at its ticks only
    uint64_t since;                // the last recorded one began then
    uint64_t step;                 // reads up to this one were before the last span's end
    struct spans_lengths *lengths; // NULL: there was none
};

uint64_t spans_length(uint64_t from, uint64_t to); // 0, if it is backwards
// Begins a span, unless one has begun and has no end; ends the one before.
bool spans_begin(struct spans *spans, const struct spans_moment *begin); // false: there is no memory
void spans_end(struct spans *spans, uint64_t time, uint64_t step); // so far; `step`: of the thread's last read
void spans_read(struct spans *spans, uint64_t time);               // the program has read this time from its clock
bool spans_close(struct spans *spans);                             // no end comes any more; false: no memory
size_t spans_room(const struct spans *spans); // the bytes of its lines, at most
// The program has recorded one: what is its length, or that of all its parts. False: there is no memory.
bool spans_record(struct spans *spans, uint64_t length);
bool spans_record_parts(struct spans *spans);
// Writes the lines `spans` and `buckets` of this histogram and thread.
void spans_report(const struct spans *spans, const char *name, unsigned thread);

#endif
