// Lines of the file, most moved first:
//   insn-sharing 1, line BYTES, vcpus N, window NS
//   dropped LINES MOVES                     lines that were dropped; none of them moved more often than MOVES
//   moved PHYSICAL KERNEL USER MOVES        the line's addresses, virtual ones as first seen; 0: not seen
//   by CPU CLUSTER ACROSS SOCKET GIVEN      how often the CPU took it, by distance, and gave it
//   at CPU OFFSET SIZE READS WRITES         what it accessed
//   more CPU READS WRITES                   at further offsets
//   end LINES                               how many lines are known; at most MOST_WRITTEN are in the file
#define _GNU_SOURCE
#include "sharing.h"

#include "marks.h"
#include "places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SHARING_LINES
#define SHARING_LINES 65536 // a power of two
#endif
#define TABLE (2 * SHARING_LINES)
#define MOST_BYTES (96u << 20)
#define MOST_TOUCHES 8 // ways in which one CPU accesses a line
#define MOST_WRITTEN 4000
#define KERNEL (UINT64_C(1) << 63)

struct part { // of one CPU in one line
    uint64_t taken[SHARING_WAYS], given, more_reads, more_writes;
    unsigned touches;
    struct touch {
        uint16_t offset, size;
        uint64_t reads, writes;
    } touch[MOST_TOUCHES];
};

struct line {
    uint64_t physical, kernel, user, moves;
    struct part **parts; // by CPU; NULL: it had nothing to do with the line
};

bool sharing_on;
static char file[4096];
static unsigned vcpu_count, line_bytes;
static struct line *lines;
static uint32_t *table; // place in `lines` + 1, or 0
static size_t line_count, used_bytes;
static uint64_t began, dropped, dropped_moves;
static bool has_total;

const char *sharing_setup(const char *path, unsigned vcpus, unsigned line, bool whole) {
    if (strlen(path) >= sizeof file)
        return "the path of the moved lines is too long";
    lines = calloc(SHARING_LINES, sizeof *lines);
    table = calloc(TABLE, sizeof *table);
    if (!lines || !table)
        return "no memory for the moved lines";
    strcpy(file, path);
    vcpu_count = vcpus;
    line_bytes = line;
    sharing_on = whole;
    return NULL;
}

// ---- the table

static size_t slot_of(uint64_t physical) {
    size_t slot = (size_t)((physical * 0x9e3779b97f4a7c15u) >> 32) % TABLE;
    while (table[slot] && lines[table[slot] - 1].physical != physical)
        slot = (slot + 1) % TABLE;
    return slot;
}

static struct line *known(uint64_t physical) {
    uint32_t number = table[slot_of(physical)];
    return number ? &lines[number - 1] : NULL;
}

static void forget(struct line *line) {
    for (unsigned c = 0; c < vcpu_count; c++)
        if (line->parts[c]) {
            used_bytes -= sizeof *line->parts[c];
            free(line->parts[c]);
        }
    used_bytes -= vcpu_count * sizeof *line->parts;
    free(line->parts);
}

static void rebuild(void) {
    memset(table, 0, TABLE * sizeof *table);
    for (size_t n = 0; n < line_count; n++)
        table[slot_of(lines[n].physical)] = (uint32_t)n + 1;
}

static bool is_full(void) {
    return line_count == SHARING_LINES || used_bytes > MOST_BYTES;
}

// Drops the lines that moved least, until half of the room is free.
static void drop_coldest(void) {
    uint64_t least = 0;
    for (uint64_t limit = 1; line_count > SHARING_LINES / 2 || used_bytes > MOST_BYTES / 2; limit *= 2) {
        size_t kept = 0;
        for (size_t n = 0; n < line_count; n++)
            if (lines[n].moves > limit)
                lines[kept++] = lines[n];
            else
                forget(&lines[n]);
        dropped += line_count - kept;
        line_count = kept;
        least = limit;
    }
    dropped_moves += least; // a line may be dropped once more
    rebuild();
}

static struct line *watched(uint64_t physical) {
    struct line *line = known(physical);
    if (line)
        return line;
    if (is_full())
        drop_coldest();
    struct part **parts = calloc(vcpu_count, sizeof *parts);
    if (!parts)
        return NULL;
    used_bytes += vcpu_count * sizeof *parts;
    table[slot_of(physical)] = (uint32_t)line_count + 1;
    line = &lines[line_count++];
    *line = (struct line){.physical = physical, .parts = parts};
    return line;
}

static struct part *part_of(struct line *line, unsigned cpu) {
    if (!line->parts[cpu]) {
        line->parts[cpu] = calloc(1, sizeof *line->parts[cpu]);
        used_bytes += line->parts[cpu] ? sizeof *line->parts[cpu] : 0;
    }
    return line->parts[cpu];
}

// ---- what happens

void sharing_moved(uint64_t physical, unsigned taker, unsigned giver, enum sharing_way way) {
    struct line *line = watched(physical & ~(uint64_t)(line_bytes - 1));
    struct part *to = line ? part_of(line, taker) : NULL, *from = line ? part_of(line, giver) : NULL;
    if (!to || !from)
        return;
    line->moves++;
    to->taken[way]++;
    from->given++;
}

void sharing_move(void *shape, const struct memory_move *move) {
    const struct memory_shape *machine = shape;
    if (!sharing_on || (move->kind != MEMORY_MOVE_TRANSFER && move->kind != MEMORY_MOVE_L3_OUT))
        return;
    const struct memory_place *to = &machine->cpu[move->taker], *from = &machine->cpu[move->giver];
    enum sharing_way way = to->socket != from->socket     ? SHARING_SOCKET
                           : to->cluster != from->cluster ? SHARING_ACROSS
                                                          : SHARING_CLUSTER;
    sharing_moved(move->line * line_bytes, move->taker, move->giver, way);
}

static void count(uint64_t *reads, uint64_t *writes, int does) {
    *reads += (does & SHARING_READS) != 0;
    *writes += (does & SHARING_WRITES) != 0;
}

void sharing_access(unsigned cpu, int does, uint64_t physical, uint64_t address, unsigned size) {
    uint64_t offset = physical & (line_bytes - 1);
    struct line *line = known(physical - offset);
    struct part *part = line ? part_of(line, cpu) : NULL;
    if (!part)
        return;
    uint64_t *seen = address >= KERNEL ? &line->kernel : &line->user;
    if (!*seen)
        *seen = address - offset;
    for (unsigned n = 0; n < part->touches; n++) {
        struct touch *t = &part->touch[n];
        if (t->offset == offset && t->size == size) {
            count(&t->reads, &t->writes, does);
            return;
        }
    }
    if (part->touches == MOST_TOUCHES) {
        count(&part->more_reads, &part->more_writes, does);
        return;
    }
    struct touch *t = &part->touch[part->touches++];
    *t = (struct touch){.offset = (uint16_t)offset, .size = (uint16_t)size};
    count(&t->reads, &t->writes, does);
}

// ---- the file

static int by_moves(const void *a, const void *b) {
    const struct line *x = *(const struct line *const *)a, *y = *(const struct line *const *)b;
    if (x->moves != y->moves)
        return x->moves < y->moves ? 1 : -1;
    return x->physical < y->physical ? -1 : x->physical > y->physical;
}

static void write_part(FILE *out, unsigned cpu, const struct part *p) {
    if (p->given || p->taken[SHARING_CLUSTER] || p->taken[SHARING_ACROSS] || p->taken[SHARING_SOCKET])
        fprintf(out, "by %u %llu %llu %llu %llu\n", cpu, (unsigned long long)p->taken[SHARING_CLUSTER],
                (unsigned long long)p->taken[SHARING_ACROSS], (unsigned long long)p->taken[SHARING_SOCKET],
                (unsigned long long)p->given);
    for (unsigned n = 0; n < p->touches; n++)
        fprintf(out, "at %u %u %u %llu %llu\n", cpu, p->touch[n].offset, p->touch[n].size,
                (unsigned long long)p->touch[n].reads, (unsigned long long)p->touch[n].writes);
    if (p->more_reads || p->more_writes)
        fprintf(out, "more %u %llu %llu\n", cpu, (unsigned long long)p->more_reads,
                (unsigned long long)p->more_writes);
}

static void write_lines(FILE *out) {
    const struct line **order = calloc(line_count + 1, sizeof(const struct line *));
    for (size_t n = 0; order && n < line_count; n++)
        order[n] = &lines[n];
    if (order)
        qsort(order, line_count, sizeof *order, by_moves);
    for (size_t n = 0; order && n < line_count && n < MOST_WRITTEN; n++) {
        fprintf(out, "moved %llx %llx %llx %llu\n", (unsigned long long)order[n]->physical,
                (unsigned long long)order[n]->kernel, (unsigned long long)order[n]->user,
                (unsigned long long)order[n]->moves);
        for (unsigned c = 0; c < vcpu_count; c++)
            if (order[n]->parts[c])
                write_part(out, c, order[n]->parts[c]);
    }
    free(order);
    fprintf(out, "end %zu\n", line_count);
}

static void write_file(uint64_t time) {
    FILE *out = fopen(places_own(file), "we");
    if (!out)
        return;
    fprintf(out, "insn-sharing 1\nline %u\nvcpus %u\nwindow %llu\ndropped %llu %llu\n", line_bytes, vcpu_count,
            (unsigned long long)(time - began), (unsigned long long)dropped, (unsigned long long)dropped_moves);
    write_lines(out);
    fclose(out);
}

void sharing_mark(unsigned kind, uint64_t time) {
    if (!table)
        return;
    has_total |= kind == MARKS_TOTAL_BEGIN;
    if (!sharing_on && !began && (kind == MARKS_WORK_BEGIN || kind == MARKS_TOTAL_BEGIN)) {
        began = time;
        sharing_on = true;
    }
    if (sharing_on && (kind == MARKS_TOTAL_END || (kind == MARKS_WORK_END && !has_total)))
        write_file(time);
    if (kind == MARKS_TOTAL_END)
        sharing_on = false;
}

void sharing_report(uint64_t time) {
    if (sharing_on && !began)
        write_file(time);
}
