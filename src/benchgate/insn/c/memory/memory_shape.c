// Reads the shape of a machine: a file that benchgate writes, one `key value ...` a line, in a fixed order.
#include "lines.h"
#include "memory.h"

#include <string.h>

#define MOST_NS 1000000   // a latency
#define MOST_SETS 4194304 // 2^22: 256 MiB in 1 way of 64 bytes
#define MOST_WAYS 1024
#define MOST_PS 1000000000
#define MOST_ADDRESS ((uint64_t)1 << 48)
#define IN_NAMES "abcdefghijklmnopqrstuvwxyz0123456789_.-"

static uint32_t small(struct lines *r, uint32_t least, uint32_t most) {
    return (uint32_t)lines_number(r, least, most);
}

static uint32_t single(struct lines *r, const char *key, uint32_t least, uint32_t most) {
    return (uint32_t)lines_single(r, key, least, most);
}

static struct memory_level level(struct lines *r, const char *key, bool optional) {
    lines_expect(r, key);
    uint32_t least = optional ? 0 : 1;
    struct memory_level found = {.sets = small(r, least, MOST_SETS)};
    found.ways = small(r, least, MOST_WAYS);
    found.latency = small(r, least, MOST_NS);
    lines_end(r);
    bool some = found.sets || found.ways || found.latency, all = found.sets && found.ways && found.latency;
    if (some != all)
        lines_fail(r, "%s: sets, ways and latency are all 0, or none of them is", key);
    return found;
}

static void no_less(struct lines *r, const char *inner, uint32_t least, uint32_t value) {
    if (value < least)
        lines_fail(r, "%s: %u is less than the latency of %s, which is nearer (%u)", r->key, value, inner,
                   least);
}

static void read_name(struct lines *r, struct memory_shape *s) {
    lines_expect(r, "name");
    if (r->failed)
        return;
    size_t length = strlen(r->rest);
    if (length == 0 || length >= sizeof s->name || strspn(r->rest, IN_NAMES) != length)
        lines_fail(r, "name: `%s` is not 1 to %d of a-z 0-9 _ . -", r->rest, MEMORY_NAME - 1);
    else
        memcpy(s->name, r->rest, length + 1);
}

static void read_levels(struct lines *r, struct memory_shape *s) {
    s->l1d = level(r, "l1d", false);
    if (s->l1d.latency != 1)
        lines_fail(r, "l1d: a hit is part of its instruction, so the latency must be 1, not %u",
                   s->l1d.latency);
    s->l1i = level(r, "l1i", false);
    if (s->l1i.latency != 1)
        lines_fail(r, "l1i: a hit is part of its instruction, so the latency must be 1, not %u",
                   s->l1i.latency);
    s->l2 = level(r, "l2", false);
    s->l3 = level(r, "l3", true);
    if (s->l3.sets)
        no_less(r, "l2", s->l2.latency, s->l3.latency);
}

static void read_cpus(struct lines *r, struct memory_shape *s) {
    uint32_t clusters = s->l3.sets ? MEMORY_CLUSTERS : MEMORY_CPUS;
    for (uint32_t c = 0; c < s->cpus; c++) {
        lines_expect(r, "cpu");
        uint32_t found = small(r, 0, MEMORY_CPUS - 1);
        if (found != c)
            lines_fail(r, "cpu: expected CPU %u, found %u", c, found);
        s->cpu[c].cluster = small(r, 0, clusters - 1);
        s->cpu[c].socket = small(r, 0, MEMORY_CPUS - 1);
        s->cpu[c].node = small(r, 0, MEMORY_NODES - 1);
        lines_end(r);
        for (uint32_t other = 0; other < c; other++)
            if (s->cpu[other].cluster == s->cpu[c].cluster && s->cpu[other].socket != s->cpu[c].socket)
                lines_fail(r, "cpu: cluster %u is in two sockets, %u and %u", s->cpu[c].cluster,
                     s->cpu[other].socket, s->cpu[c].socket);
    }
}

static void read_ranges(struct lines *r, struct memory_shape *s) {
    uint64_t end = 0;
    while (lines_next_is(r, "memory") || s->ranges == 0) {
        lines_expect(r, "memory");
        if (s->ranges == MEMORY_RANGES)
            lines_fail(r, "memory: there are more than %d ranges", MEMORY_RANGES);
        if (r->failed)
            return;
        struct memory_range *range = &s->range[s->ranges++];
        range->first = lines_number(r, 0, MOST_ADDRESS);
        range->bytes = lines_number(r, 1, MOST_ADDRESS - range->first);
        range->node = small(r, 0, MEMORY_NODES - 1);
        lines_end(r);
        if (range->first % s->line || range->bytes % s->line)
            lines_fail(r, "memory: the range does not begin and end with a line of %u bytes", s->line);
        if (range->first < end)
            lines_fail(r, "memory: the range begins before the one above it ends");
        end = range->first + range->bytes;
    }
}

static void read_latencies(struct lines *r, struct memory_shape *s) {
    s->local = single(r, "local_ns", 1, MOST_NS);
    no_less(r, s->l3.sets ? "l3" : "l2", s->l3.sets ? s->l3.latency : s->l2.latency, s->local);
    s->remote = single(r, "remote_ns", 1, MOST_NS);
    no_less(r, "local_ns", s->local, s->remote);
    s->cluster = single(r, "transfer_cluster_ns", 1, MOST_NS);
    no_less(r, "l2", s->l2.latency, s->cluster);
    s->across = single(r, "transfer_across_ns", 1, MOST_NS);
    no_less(r, "transfer_cluster_ns", s->cluster, s->across);
    s->socket = single(r, "transfer_socket_ns", 1, MOST_NS);
    no_less(r, "transfer_across_ns", s->across, s->socket);
    s->atomic = single(r, "atomic_ns", 0, MOST_NS);
    s->interrupt = single(r, "interrupt_ns", 0, MOST_NS);
    s->bandwidth = single(r, "bandwidth", 0, MOST_PS);
}

static void read_tlb(struct lines *r, struct memory_shape *s) {
    lines_expect(r, "tlb");
    s->tlb_entries = small(r, 0, MOST_SETS);
    s->tlb_ways = small(r, s->tlb_entries ? 1 : 0, s->tlb_entries);
    s->tlb_walk = small(r, 0, s->tlb_entries ? MOST_NS : 0);
    lines_end(r);
    if (!r->failed && s->tlb_entries && s->tlb_entries % s->tlb_ways)
        lines_fail(r, "tlb: %u entries are not a multiple of %u ways", s->tlb_entries, s->tlb_ways);
}

static void read_order(struct lines *r, struct memory_shape *s) {
    lines_expect(r, "order");
    if (r->failed)
        return;
    s->strict = strcmp(r->rest, "strict") == 0;
    if (!s->strict && strcmp(r->rest, "watch") != 0)
        lines_fail(r, "order: `%s` is neither watch nor strict", r->rest);
}

bool memory_shape_read(FILE *in, struct memory_shape *s, char *problem, size_t size) {
    struct lines r = {.in = in, .problem = problem, .size = size, .key = ""};
    memset(s, 0, sizeof *s);
    single(&r, "benchgate-machine", 1, 1);
    read_name(&r, s);
    s->cpus = single(&r, "cpus", 1, MEMORY_CPUS);
    s->line = single(&r, "line", 16, 1u << MEMORY_PAGE_BITS);
    if (!r.failed && s->line & (s->line - 1))
        lines_fail(&r, "line: %u is not a power of two", s->line);
    read_levels(&r, s);
    read_cpus(&r, s);
    read_ranges(&r, s);
    read_latencies(&r, s);
    read_tlb(&r, s);
    read_order(&r, s);
    lines_finish(&r);
    return !r.failed;
}
