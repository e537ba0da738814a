// Gives a trace of valgrind's lackey to CPU 0 of the memory model, and counts as valgrind's cachegrind does: an
// instruction, a load or a store misses if one of its lines does; a load and store of one place ("M") is a load.
#include <stdlib.h>

#include "memory.h"

struct lackey_counts {
    uint64_t instructions, fetch_misses, reads, read_misses, writes, write_misses, modifies, two_lines;
};

// The trace's addresses are virtual. Their low bits select the sets of an L1, in any case.
#define ADDRESS 0xffffffffu

static bool misses(struct memory *m, enum memory_kind kind, uint64_t line) {
    uint64_t now = 0; // one CPU, so no order and no wait
    return !memory_hit(m->front, kind, line, now) && memory_access(m, 0, kind, line, now) > 0;
}

static bool access_misses(struct memory *m, enum memory_kind kind, uint64_t address, uint64_t size, bool *two) {
    uint64_t line = address >> m->line_bits, last = (address + size - 1) >> m->line_bits;
    *two = line != last;
    bool missed = false;
    for (; line <= last; line++)
        missed |= misses(m, kind, line);
    return missed;
}

static void take(struct memory *m, char kind, uint64_t address, uint64_t size, struct lackey_counts *counts) {
    bool two;
    if (kind == 'I') {
        counts->fetch_misses += access_misses(m, MEMORY_FETCH, address, size, &two);
        counts->instructions++;
    } else if (kind == 'S') {
        counts->write_misses += access_misses(m, MEMORY_WRITE, address, size, &two);
        counts->writes++;
        counts->two_lines += two;
    } else {
        counts->read_misses += access_misses(m, MEMORY_READ, address, size, &two);
        counts->reads++;
        counts->two_lines += two;
        if (kind == 'M')
            access_misses(m, MEMORY_WRITE, address, size, &two);
        counts->modifies += kind == 'M';
    }
}

// All accesses pass through the caches. Those of the instructions from `begin` to before `end` are counted.
// False: the file cannot be read.
bool lackey(struct memory *m, const char *path, uint64_t begin, uint64_t end, struct lackey_counts *counts) {
    FILE *in = fopen(path, "r");
    if (in == NULL)
        return false;
    struct lackey_counts others;
    bool inside = false;
    char text[128];
    while (fgets(text, sizeof text, in) != NULL) {
        char kind = text[0] == 'I' ? 'I' : text[1];
        if ((text[0] != 'I' && text[0] != ' ') || (kind != 'I' && kind != 'L' && kind != 'S' && kind != 'M'))
            continue; // valgrind's own words
        char *rest;
        uint64_t address = strtoull(text + 3, &rest, 16);
        uint64_t size = strtoull(rest + 1, NULL, 10);
        if (kind == 'I')
            inside = address >= begin && address < end;
        take(m, kind, address & ADDRESS, size, inside ? counts : &others);
    }
    return fclose(in) == 0;
}
