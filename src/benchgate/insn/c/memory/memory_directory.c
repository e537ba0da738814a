// See memory_directory.h.
#define _GNU_SOURCE
#include "memory_directory.h"

#include <sys/mman.h>

#define HOST_LINE 64

static void *reserved(size_t bytes) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

bool memory_directory_setup(struct memory_directory *d, uint64_t lines, uint32_t cpus) {
    d->words = (cpus + 63) / 64;
    d->entry =
        (sizeof(struct memory_line) + d->words * sizeof(uint64_t) + HOST_LINE - 1) / HOST_LINE * HOST_LINE;
    d->count = lines;
    d->bytes = lines * d->entry;
    d->lines = reserved(d->bytes);
    d->touched = reserved(lines / 8 + 1);
    return d->lines && d->touched;
}

void memory_directory_free(struct memory_directory *d) {
    if (d->lines)
        munmap(d->lines, d->bytes);
    if (d->touched)
        munmap(d->touched, d->count / 8 + 1);
}
