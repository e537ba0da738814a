// Instruments each block of guest code when QEMU translates it: what the clock counts, charges and watches.
#ifndef BLOCKS_H
#define BLOCKS_H

#include "arch.h"
#include "qemu_api.h"

extern const struct arch *blocks_arch; // the guest's

void blocks_setup(const struct arch *guest); // before the first translation
void blocks_translated(struct qemu_plugin_tb *tb);

#endif
