// Records which lines of memory moved between CPUs in the window, and which CPU read and wrote which of their
// bytes. It works only on request, on a machine with a memory system, and knows no QEMU.
//
// A line is watched from its first move on, so accesses before it are not counted. Memory is bounded: when it is
// full, the lines that moved least are dropped, and the file says how often one of them can have moved. (The idea
// is lossy counting: Manku, Motwani: Approximate Frequency Counts over Data Streams, 2002.)
#ifndef SHARING_H
#define SHARING_H

#include "memory.h"

enum { SHARING_READS = 1, SHARING_WRITES = 2 }; // an atomic instruction does both
enum sharing_way { SHARING_CLUSTER, SHARING_ACROSS, SHARING_SOCKET, SHARING_WAYS };

extern bool sharing_on; // the window is open, and moves and accesses are wanted

// `line`: bytes in a line, a power of two. `whole`: the guest has no marks, so the whole run is the window. NULL,
// or the reason why it cannot be recorded.
const char *sharing_setup(const char *path, unsigned vcpus, unsigned line, bool whole);
// A memory_hook. `shape`: the machine's. A line that comes from an L3 counts as given by the CPU that wrote it.
void sharing_move(void *shape, const struct memory_move *move);
// The line at the physical address came to `taker` from the cache of `giver`. Call while sharing_on.
void sharing_moved(uint64_t physical, unsigned taker, unsigned giver, enum sharing_way way);
// Call while sharing_on, for every access to data, after the move that it made. It lies within a line.
void sharing_access(unsigned cpu, int does, uint64_t physical, uint64_t address, unsigned size);
// The window is that of the marks (marks.h). Each end mark that closes it rewrites the file.
void sharing_mark(unsigned kind, uint64_t time);
void sharing_report(uint64_t time); // the guest ended

#endif
