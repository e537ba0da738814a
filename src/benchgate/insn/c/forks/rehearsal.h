// What forks of a template translate is translated in the template, too, so that later forks find it: the first
// fork is the rehearsal of those after it. A table in shared memory has an entry for each block of the guest's kernel
// that a fork translated: its place, the state of the CPU for which it was, and a digest of its instructions. The
// template hands each to QEMU's own translator, if the same instructions are there in the template's memory.
//
// Whether a block closes a loop that waits depends on those that the guest came to before (spin.h). So a fork notes each
// rehearsed block when QEMU finds it for the first time, which is when it would be translated otherwise; and a block
// that jumps back to a place before it is never rehearsed.
//
// Which functions of QEMU do that is known for QEMU 9.2 and 10.0 on x86-64; with another one each fork translates for itself.
#ifndef REHEARSAL_H
#define REHEARSAL_H

#include "blocks.h"

// In a template, before the first translation. `target`: what is emulated; `api`: QEMU's version of the plugin interface.
void rehearsal_setup(const char *target, int api);
// A block is being translated. True: in the template, for its forks.
bool rehearsal_block(struct qemu_plugin_tb *tb, size_t instructions, const struct blocks_tail *tail);
void rehearsal_forked(void);                                          // in a fork
// In a fork: writes how many blocks of its template it came to.
void rehearsal_report(void);
// In the template's main thread, with no lock held: the CPUs translate what is new. False: they do not come to it.
bool rehearsal_translate(void);

#endif
