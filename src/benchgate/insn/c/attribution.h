// Where the window's instructions went, by block address and vCPU. Only on request, only with API 3.
#ifndef ATTRIBUTION_H
#define ATTRIBUTION_H

#include "qemu_api.h"

const char *attribution_setup(const char *path, unsigned vcpus); // NULL, or why it cannot be done
void attribution_block(struct qemu_plugin_tb *tb, size_t instructions);
// Begins at the first begin mark; each end mark that closes the window writes the file anew.
void attribution_mark(unsigned kind, uint64_t time);

#endif
