// What a fork of a machine without a guest is given, before it loads a snapshot: the memory of that snapshot, and the
// files that its guest reads from QEMU's fw_cfg device.
#ifndef GIVEN_H
#define GIVEN_H

#include <stdbool.h>
#include <stddef.h>

// QEMU has mapped memory, from this file or from none (-1).
void given_mapped(void *at, size_t length, int flags, int file);
// The files of the same names in this folder take the place of those that are mapped. Gives NULL, or why it failed.
const char *given_memory(const char *folder);
// Whether QEMU lets its files be replaced.
bool given_takes_files(void);
// The guest finds this file under this name, which it finds already. Gives as above.
const char *given_file(const char *name, const char *path);

#endif
