// Finds accesses that come later than they should. The directory knows who used a line last, the copies in
// caches know their own CPU's latest use, and hand it to the directory before it is compared.
#ifndef MEMORY_LATE_H
#define MEMORY_LATE_H

#include "memory_state.h"

// Hands to the directory what a copy (or all copies of a CPU) knows of its CPU's use of the line.
void memory_late_fold(struct memory_line *entry, struct memory_times times);
void memory_late_fold_copies(struct memory_line *entry, const struct memory_state_cpu *cpu, uint64_t line);
// Counts the access if it is late. Call it before the access itself is noted in the directory.
void memory_late_compare(struct memory_access *a);
// MEMORY_LOOK if the CPU's next access to the line, which it holds in this state, may be late too.
unsigned memory_late_look(const struct memory_access *a, enum memory_mesi state);

#endif
