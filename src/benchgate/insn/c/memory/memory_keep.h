// Keeps the state of a machine's memory system in a file, and takes it back: what is in the caches and TLBs, who has
// each line, and what the nodes' queues have promised. Not the books: each run has its own.
//
// The file has the machine's arrays one after the other, with holes where they are zero. Its length says of which
// machine it is. Both give NULL, or what went wrong.
#ifndef MEMORY_KEEP_H
#define MEMORY_KEEP_H

#include "memory.h"

const char *memory_keep(struct memory *m, const char *path);
const char *memory_take_back(struct memory *m, const char *path);

#endif
