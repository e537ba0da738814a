// Where the guest's memory is in QEMU's own: QEMU tells a plugin the host's address of code, and not the guest's.
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

// QEMU has mapped memory that may be the guest's. In the order of the calls: it maps the guest's memory in
// one piece, or each node's in one, in the order of the nodes.
void ram_mapped(const void *at, size_t length);
// False if there are no such pieces.
bool ram_find(const struct ram_part *parts, size_t count);
// The guest-physical address, after ram_find; RAM_NOWHERE outside the parts.
uint64_t ram_physical(const void *at);

#endif
