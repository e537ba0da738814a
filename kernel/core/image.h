// The user programs that are embedded in the kernel: one ELF64 per workload, and the self-tests.
#ifndef CORE_IMAGE_H
#define CORE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

struct thread;

struct image {
    const char *name;
    const uint8_t *from, *to; // page-aligned: read-only segments are mapped in place
};

const struct image *image_named(const char *name);
// Builds the memory of the thread's process: image, info page, main slot. False: out of memory, or the image
// is invalid.
bool image_load(struct thread *main);
// Adds the slot of another thread.
bool image_add_slot(struct thread *thread);
void image_init(const char *command_line); // fills in the info page, which every program can read

#endif
