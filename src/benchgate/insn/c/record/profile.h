// The instruction profile: how often each vCPU entered each block within the window. Only on request, and
// only with plugin API 3.
#ifndef PROFILE_H
#define PROFILE_H

#include "qemu_api.h"

const char *profile_setup(const char *path, unsigned vcpus); // NULL, or the reason why it cannot be made
void profile_block(struct qemu_plugin_tb *tb, size_t instructions);
// The profile begins at the first begin mark. Each end mark that closes the window rewrites the file.
void profile_mark(unsigned kind, uint64_t time);

#endif
