// The descriptors of a process that is forked: which of them parent and child can share, and what the child gets in
// place of the others.
#ifndef INHERITED_H
#define INHERITED_H

#include <stdbool.h>

#define INHERITED_MOST 16

// Descriptors that the child is given, in place of those of the same numbers.
struct inherited_given {
    unsigned count;
    int number[INHERITED_MOST], descriptor[INHERITED_MOST];
};

// Looks at every descriptor, in the parent. `kept` is the child's as it is, and `closed` it does not need. Files below
// `folder` are written by the parent, and what its guest writes to a disk, which the child gets as it is then; others
// are at most read. Gives the reason why it cannot be forked.
const char *inherited_look(const struct inherited_given *given, int kept, int closed, const char *folder);
// In the child. Gives the reason why it failed. It uses no lock of libc's.
const char *inherited_replace(const struct inherited_given *given);
// In the child: files that the parent writes are written below `folder` from now on, with what they have so far.
const char *inherited_move(const char *from, const char *folder);

#endif
