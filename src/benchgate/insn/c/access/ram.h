// Finds the guest's memory in QEMU's own, because QEMU tells a plugin only the host's address of code.
#ifndef RAM_H
#define RAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RAM_NOWHERE UINT64_MAX

// A part of the guest's physical memory. Parts are in ascending order.
struct ram_part {
    uint64_t first, bytes;
    unsigned node;
};

// QEMU has mapped memory that may be the guest's. Call this in the order of the mappings: QEMU maps the
// guest's memory in one piece, or in one piece per node in the order of the nodes.
void ram_mapped(const void *at, size_t length);
// Finds the parts among the mappings; false if they are not there.
bool ram_find(const struct ram_part *parts, size_t count);
// The guest-physical address, after ram_find; RAM_NOWHERE outside the parts.
uint64_t ram_physical(const void *at);

#endif
