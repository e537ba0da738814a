// The marks of guest/bench.h, which delimit the window.
#ifndef MARKS_H
#define MARKS_H

#include "qemu_api.h"

enum { MARKS_WORK_BEGIN = 1, MARKS_WORK_END = 2, MARKS_TOTAL_BEGIN = 3, MARKS_TOTAL_END = 4 };

// `insn` is a mark of this kind, one byte, in a program or in the kernel. With it, `left` instructions of its block are
// left.
void marks_instrument(struct qemu_plugin_insn *insn, unsigned kind, size_t left, bool is_program);

// The window of a profile and of call stacks lies between two lines of the console, and not between marks: it
// begins when the console has `from` bytes, and ends when it has `to`.
void marks_between_lines(uint64_t from, uint64_t to);
void marks_line(uint64_t bytes, uint64_t time); // a line of the console has ended

#endif
