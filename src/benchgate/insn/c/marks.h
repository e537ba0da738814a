// The marks of guest/bench.h: long NOPs whose displacement 0x4c42'KK'00 says where the window is.
#ifndef MARKS_H
#define MARKS_H

#include "qemu_api.h"

enum { MARK_WORK_BEGIN = 1, MARK_WORK_END = 2, MARK_TOTAL_BEGIN = 3, MARK_TOTAL_END = 4 };

// Looks at instruction `index` of the `total` of a block that is being translated.
void marks_look_at(struct qemu_plugin_insn *insn, size_t index, size_t total);

// How many workers are between their work-begin and their work-end.
int marks_at_work(void);

#endif
