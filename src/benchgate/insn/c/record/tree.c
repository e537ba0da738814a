#include "tree.h"

#include <stdlib.h>
#include <string.h>

#define MOST_NODES (1u << 16)
#define TABLE (2 * MOST_NODES) // a power of two

struct node {
    uint64_t address, count;
    uint32_t parent;
    bool used; // it or a node below it has counted something
};

static struct node *nodes, *old; // `old`: room for the tree before a restart
static uint32_t *table, *moved;  // node number, or 0; new number of an old node, or 0
static uint32_t node_count = 1;

bool tree_setup(void) {
    nodes = calloc(MOST_NODES, sizeof *nodes);
    old = calloc(MOST_NODES, sizeof *old);
    table = calloc(TABLE, sizeof *table);
    moved = calloc(MOST_NODES, sizeof *moved);
    return nodes && old && table && moved;
}

bool tree_is_full(void) {
    return node_count == MOST_NODES;
}

void tree_restart(void) {
    struct node *swapped = old;
    old = nodes;
    nodes = swapped;
    memset(nodes, 0, MOST_NODES * sizeof *nodes);
    memset(table, 0, TABLE * sizeof *table);
    memset(moved, 0, MOST_NODES * sizeof *moved);
    node_count = 1;
}

// Works in a loop, because a path may be long. Each step finds its topmost node that has not moved yet.
uint32_t tree_again(uint32_t number) {
    while (number && !moved[number]) {
        uint32_t n = number;
        while (old[n].parent && !moved[old[n].parent])
            n = old[n].parent;
        moved[n] = tree_child(moved[old[n].parent], old[n].address);
    }
    return number ? moved[number] : TREE_ROOT;
}

uint32_t tree_child(uint32_t parent, uint64_t address) {
    uint64_t mixed = (address ^ ((uint64_t)parent << 40)) * 0x9e3779b97f4a7c15u;
    uint32_t slot = (uint32_t)(mixed >> 20) % TABLE;
    for (; table[slot]; slot = (slot + 1) % TABLE) {
        const struct node *n = &nodes[table[slot]];
        if (n->address == address && n->parent == parent)
            return table[slot];
    }
    if (node_count == MOST_NODES)
        return parent;
    nodes[node_count] = (struct node){.address = address, .parent = parent};
    table[slot] = node_count;
    return node_count++;
}

void tree_count(uint32_t node, uint64_t instructions) {
    nodes[node].count += instructions;
}

// A node's parent always has a lower number.
void tree_write(FILE *out) {
    unsigned lines = 0;
    for (uint32_t n = node_count; n-- > 0;)
        nodes[n].used = nodes[n].count > 0;
    for (uint32_t n = node_count; n-- > 1;)
        if (nodes[n].used)
            nodes[nodes[n].parent].used = true;
    for (uint32_t n = 0; n < node_count; n++)
        if (nodes[n].used) {
            lines++;
            fprintf(out, "node %u %u %llx %llu\n", n, nodes[n].parent, (unsigned long long)nodes[n].address,
                    (unsigned long long)nodes[n].count);
        }
    fprintf(out, "end %u\n", lines);
}
