// What the conductor of a mix and a run of one of its parts share: in memory that every process has, at one
// address (docs/mix.md). A run is a process of the part's program that was started with the address of a
// part_run and PART_RUN.
#ifndef USER_PART_H
#define USER_PART_H

#include <stdint.h>

#define PART_RUN (1ul << 32) // no worker has this number
#define PART_MANIFEST_BYTES 4096
#define PART_OUTPUT_BYTES 65536 // of one run

struct part_run {
    uint64_t bytes; // printed so far; beyond PART_OUTPUT_BYTES nothing is kept
    char manifest[PART_MANIFEST_BYTES];
    unsigned char output[PART_OUTPUT_BYTES];
};

#endif
