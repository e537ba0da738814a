// The user programs that are part of the kernel: one ELF64 file per workload, and the kernel's own tests.
#ifndef CORE_IMAGE_H
#define CORE_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

struct thread;

struct image {
    const char *name;
    const uint8_t *from, *to; // page-aligned: read-only parts are mapped where they are
};

const struct image *image_named(const char *name);
// Builds the process's memory: image, info page, main slot. False: no memory, or not a program for us.
bool image_load(struct thread *main);
// The slot of a further thread.
bool image_add_slot(struct thread *thread);
void image_init(const char *command_line); // fills in what every program can read

#endif
