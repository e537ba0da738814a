// Measures this host's memory system for contrib.calibration. One process measures one thing:
//   measure chase CPU HOME KIND SLICES PASSES BYTES...   a pointer chase over each size (chase.c)
//   measure pair ONE TWO PASSES                          lines that two CPUs use in turn (pair.c)
//   measure share ONE TWO PASSES BYTES                   whether two CPUs share a cache (share.c)
//   measure stream SLICES BYTES CPU...                   reading an array on all these CPUs at once (stream.c)
//   measure single CPU PASSES                            a cycle, a load, an atomic operation (single.c)
//   measure interrupt ONE TWO PASSES                     an interrupt from one CPU to another (single.c)
// Each sample is a line on standard output, written at once: NAME VALUE, or NAME DETAIL VALUE. Values are in
// ns of CLOCK_MONOTONIC, bandwidths in bytes a second. It needs no privileges. Status 1, with a sentence on
// standard error, if something cannot be measured here; 2 for wrong arguments.
#ifndef MEASURE_H
#define MEASURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINE_BYTES 64
#define PAGE_BYTES 4096
#define HUGE_BYTES (2u << 20)

enum pages { SMALL_PAGES, HUGE_PAGES };

double now_ns(void);
void fail(const char *what) __attribute__((noreturn)); // with errno's text
void pin(unsigned cpu);                                // the calling thread, or fails
unsigned number(const char *text, unsigned most);      // or ends with status 2
size_t bytes_of(const char *text);
double median(double *values, unsigned count); // sorts them
void sample(const char *name, double value);   // one line of output
uint64_t random_below(uint64_t bound);

void *map(size_t bytes, enum pages pages); // every page is there: written by the calling thread
void unmap(void *at, size_t bytes);
double huge_share(const void *at, size_t bytes); // of this memory, by /proc/self/smaps; 0 if that is unknown

// A cycle through all lines in random order, and the way along it.
void **cycle(char *memory, size_t bytes);
void **follow(void **at, size_t loads);

int chase(unsigned count, char **words);
int share(unsigned count, char **words);
int pair(unsigned count, char **words);
int stream(unsigned count, char **words);
int single(unsigned count, char **words);
int interrupt(unsigned count, char **words);

#endif
