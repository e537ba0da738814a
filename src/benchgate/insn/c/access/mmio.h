// QEMU executes an access to a device as the last instruction of a block. When it meets one earlier, it
// leaves the block, executes the access alone, and goes on in a new block. The first block has counted as a
// whole, so the clock takes back what was left of it.
#ifndef MMIO_H
#define MMIO_H

#include "qemu_api.h"

void mmio_setup(void);
// Call for each block when it is translated, with the length of each of its instructions.
void mmio_block(struct qemu_plugin_tb *tb, const uint8_t *lengths, size_t instructions);

#endif
