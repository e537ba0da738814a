// What forks of a template translate, the template translates, too, so that later forks need not: the first
// fork is the rehearsal of those after it. A table in shared memory has a note for each block that a fork
// translated: its address, the state of the CPU for which it was, its bytes, and whether it closes a loop
// that waits. The template hands each to QEMU's own translator, and keeps what comes of it apart: for the
// guest it does not exist. A fork comes to QEMU's translator for the same blocks in the same order as a QEMU
// that starts by itself; if the template has one of the same bytes, state and loop, that is linked where a
// new one would be.
//
// Which functions of QEMU do that is known for QEMU 9.2 and 10.0 on x86-64; with another one, and where
// QEMU's structures are not what they are taken for (layout.h), each fork translates for itself.
#ifndef REHEARSAL_H
#define REHEARSAL_H

#include "blocks.h"

// In a template, before the first translation. `target`: what is emulated; `api`: QEMU's version of the
// plugin interface; `cpus`: the most that it may have.
void rehearsal_setup(const char *target, int api, int cpus, uint64_t id);
// A block is being translated: the wait that it closes.
struct spin rehearsal_spin(const struct blocks_tail *tail);
// What is known of the guest while the template translates for its forks; false: it does not, ask the guest.
bool rehearsal_level(bool *is_user);
bool rehearsal_read(uint64_t address, void *into, size_t size, bool *is_there);
const void *
rehearsal_host(const void *host); // where such an instruction is in the guest's memory; else `host`
void rehearsal_forked(void);      // in a fork
// In a fork: writes how many blocks it had of its template, and of how many; and whether QEMU's structures
// are proven to be what they are taken for (layout.h): nothing is rehearsed before.
void rehearsal_report(void);
// In the template's main thread, with no lock held: the CPUs translate what is new. False: they do not come
// to it.
bool rehearsal_translate(void);

#endif
