// What is counted at functions of the workload's program, beside how often they are called. The begin of an event's
// name says what: `d_` with how many first arguments, `e_` the instructions since the call of `b_` of the same name on
// that CPU, `s_` where the program starts.
#ifndef CALLEES_H
#define CALLEES_H

#include <stdint.h>

enum callees_deed { CALLEES_HAPPENS, CALLEES_DIFFERS, CALLEES_BEGINS, CALLEES_ENDS, CALLEES_STARTS };

enum callees_deed callees_deed(const char *event);
// It is called: how much that adds. `pair`: the hook where it begins.
uint64_t callees_count(enum callees_deed deed, unsigned pair, unsigned vcpu);

#endif
