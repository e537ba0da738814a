// The marks of guest/bench.h: long NOPs whose displacement 0x4c42'KK'00 delimits the window; KK is the kind.
#ifndef MARKS_H
#define MARKS_H

#include "qemu_api.h"

enum { MARKS_WORK_BEGIN = 1, MARKS_WORK_END = 2, MARKS_TOTAL_BEGIN = 3, MARKS_TOTAL_END = 4 };

// Instruments `insn` if it is a mark. It is number `index` of the `total` instructions of a block.
void marks_look_at(struct qemu_plugin_insn *insn, size_t index, size_t total);

// How many workers have begun their work and not ended it.
int marks_at_work(void);

#endif
