// When the wake-ups were asked for whose lengths the program records.
//
// A wait that finds its word set does not sleep, and nobody wakes it. Its post began when another thread read its
// clock last before it called a function that wakes, or before it comes to that call: a reading after which the
// thread reads its clock again without a call was none, and neither was one before a call with a word by which
// only one other thread has ever been woken, if there is such a word of its own.
#ifndef OPERATORS_WAITS_H
#define OPERATORS_WAITS_H

#include "operators.h"

void waits_woken(const struct operators_thread *thread); // by the word of `woken`
// Each is false if there is no memory.
bool waits_read(struct operators_work *work, uint64_t time); // its program has read this from its clock
bool waits_post(struct operators_work *work, uint64_t word); // it calls a function that may wake others, by this word
// It records this length right after it read its clock.
bool waits_record(struct operators_thread *thread, struct spans *spans, uint64_t ns);
bool waits_close(void); // no post comes any more

#endif
