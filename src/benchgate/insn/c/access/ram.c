#include "ram.h"

#define MOST_MAPPINGS 256
#define MOST_PIECES 64
#define SMALLEST (1u << 20) // no guest has less memory

struct piece {
    uint64_t host, first, bytes; // addresses: the host's, the guest's
};

static struct {
    uint64_t host, bytes;
} mappings[MOST_MAPPINGS];
static size_t mapping_count;
static struct piece pieces[MOST_PIECES];
static size_t piece_count;

void ram_mapped(const void *at, size_t length) {
    if (length < SMALLEST || mapping_count == MOST_MAPPINGS)
        return;
    mappings[mapping_count].host = (uint64_t)(uintptr_t)at;
    mappings[mapping_count++].bytes = length;
}

static bool is_of(const struct ram_part *part, unsigned node, bool any) {
    return any || part->node == node;
}

// Places all parts, or those of one node, in the first mapping of exactly their size from number `*from` on.
static bool place(const struct ram_part *parts, size_t count, unsigned node, bool any, size_t *from) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < count; i++)
        bytes += is_of(&parts[i], node, any) ? parts[i].bytes : 0;
    while (*from < mapping_count && mappings[*from].bytes != bytes)
        ++*from;
    if (*from == mapping_count)
        return false;
    uint64_t host = mappings[(*from)++].host;
    for (size_t i = 0; i < count; i++) {
        if (!is_of(&parts[i], node, any))
            continue;
        if (piece_count == MOST_PIECES)
            return false;
        pieces[piece_count++] = (struct piece){host, parts[i].first, parts[i].bytes};
        host += parts[i].bytes;
    }
    return true;
}

static bool is_first_of_its_node(const struct ram_part *parts, size_t i) {
    for (size_t j = 0; j < i; j++)
        if (parts[j].node == parts[i].node)
            return false;
    return true;
}

bool ram_find(const struct ram_part *parts, size_t count) {
    size_t from = 0;
    piece_count = 0;
    if (place(parts, count, 0, true, &from))
        return true;
    from = 0;
    for (size_t i = 0; i < count; i++)
        if (is_first_of_its_node(parts, i) && !place(parts, count, parts[i].node, false, &from))
            return false;
    return count > 0;
}

uint64_t ram_physical(const void *at) {
    uint64_t host = (uint64_t)(uintptr_t)at;
    for (size_t i = 0; i < piece_count; i++)
        if (host - pieces[i].host < pieces[i].bytes)
            return pieces[i].first + (host - pieces[i].host);
    return RAM_NOWHERE;
}
