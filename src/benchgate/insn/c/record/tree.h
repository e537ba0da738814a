// A tree of calls: a node is a function as called along one path, and counts the instructions that were
// executed in it. Not thread safe.
#ifndef TREE_H
#define TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TREE_ROOT 0

bool tree_setup(void); // false: no memory
// The child of a node for the function at `address`; the node itself when the tree is full.
uint32_t tree_child(uint32_t node, uint64_t address);
void tree_count(uint32_t node, uint64_t instructions);
bool tree_is_full(void);
// A new tree with only the nodes that are asked for again by their old numbers, without counts.
void tree_restart(void);
uint32_t tree_again(uint32_t old);
// Lines `node NUMBER PARENT ADDRESS INSTRUCTIONS`, parents first, then `end LINES`. Nodes below which nothing
// was counted are left out.
void tree_write(FILE *out);

#endif
