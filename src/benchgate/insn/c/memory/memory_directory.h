// The directory has, for each line of the machine's memory, who holds it and who used it last.
//
// One array, indexed by the line; the host maps a page of it when one of its lines is used first. An entry is
// 64 bytes for up to 128 CPUs and 128 for 256. CPUs are stored as number + 1, so that zeros mean nobody.
#ifndef MEMORY_DIRECTORY_H
#define MEMORY_DIRECTORY_H

#include "memory.h"

struct memory_line {
    // Order. Complete but for what the copies in caches still know (struct memory_times).
    uint64_t written_at; // by the last writer, which is not always the latest time
    uint64_t read_at;    // the latest time at which it was read
    uint64_t busy_from;  // the line is being served from here
    uint32_t busy_ns;    // for so long
    uint16_t writer;     // the last one
    uint16_t owner;      // who holds it E or M
    uint16_t l3_dirty;   // 1: the L3 that holds it has it modified
    uint64_t l3;         // which clusters' L3s hold it
    uint64_t sharers[];
};

struct memory_directory {
    char *lines;
    size_t entry, bytes; // of an entry; of the array
    uint32_t words;      // of `sharers`
    uint64_t count;
    uint8_t *touched; // a bit for each line
};

bool memory_directory_setup(struct memory_directory *d, uint64_t lines, uint32_t cpus);
void memory_directory_free(struct memory_directory *d);
static inline struct memory_line *memory_directory_at(const struct memory_directory *d, uint64_t line) {
    return (struct memory_line *)(d->lines + line * d->entry);
}

// True if it is the first time.
static inline bool memory_directory_touch(struct memory_directory *d, uint64_t line) {
    uint8_t bit = (uint8_t)(1u << line % 8);
    if (line >= d->count || d->touched[line / 8] & bit)
        return false;
    d->touched[line / 8] |= bit;
    return true;
}

static inline void memory_line_share(struct memory_line *line, unsigned cpu) {
    line->sharers[cpu / 64] |= (uint64_t)1 << cpu % 64;
}

static inline void memory_line_drop(struct memory_line *line, unsigned cpu) {
    line->sharers[cpu / 64] &= ~((uint64_t)1 << cpu % 64);
}

#endif
