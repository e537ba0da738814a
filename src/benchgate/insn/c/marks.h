// The marks of guest/bench.h, which delimit the window.
#ifndef MARKS_H
#define MARKS_H

#include "qemu_api.h"

enum { MARKS_WORK_BEGIN = 1, MARKS_WORK_END = 2, MARKS_TOTAL_BEGIN = 3, MARKS_TOTAL_END = 4 };

// `insn` is a mark of this kind, one byte. With it, `left` instructions of its block are left.
void marks_instrument(struct qemu_plugin_insn *insn, unsigned kind, size_t left);

// How many workers have begun their work and not ended it.
int marks_at_work(void);

#endif
