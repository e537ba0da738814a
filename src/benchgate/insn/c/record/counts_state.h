// Shared by counts.c, which counts, and counts_spans.c, which takes what was counted at marks and writes it.
#ifndef COUNTS_STATE_H
#define COUNTS_STATE_H

#include "counts.h"
#include "threads_hooks.h"

#if INSN_API >= 3 && !defined INSN_UNCOUNTED

enum counts_slot {
    COUNTS_SYSCALLS,
    COUNTS_ATOMICS,
    COUNTS_SPACES,
    COUNTS_HALTS,
    COUNTS_IPIS,
    COUNTS_FAULTS,
    COUNTS_SWITCHES,
    COUNTS_WAKES,
    COUNTS_FORKS,
    COUNTS_EXITS,
    COUNTS_INSTRUCTIONS,
    COUNTS_WORKED,
    COUNTS_PROGRAMS,
    COUNTS_SPUN,
    COUNTS_PRODUCTS,
    COUNTS_DIVISIONS,
    COUNTS_READS,
    COUNTS_WRITES,
    COUNTS_EVENTS // from here on: those of the system
};

#define COUNTS_APART 512 // bytes per vCPU in QEMU's scoreboard: a power of two is found by a shift
#define COUNTS_MOST (COUNTS_APART / sizeof(uint64_t))
#define COUNTS_NUMBERS 1024 // of system calls; the last one stands for all that are higher

struct counts_calls {
    uint64_t times[COUNTS_NUMBERS], bytes[COUNTS_NUMBERS];
};

// ---- counts.c

struct counts_state {
    struct qemu_plugin_scoreboard *score; // NULL: nothing is counted
    bool is_blind;                        // a register could not be read
    unsigned vcpus, slots;
    char names[COUNTS_MOST][HOOKS_NAME + 8];
    bool is_counted[COUNTS_MOST];
    struct counts_calls *made; // by vCPU
};
extern struct counts_state counts;

struct qemu_counter counts_counter(unsigned slot);
bool counts_tells_bytes(unsigned number); // whether it is known how many bytes this system call was asked for

// ---- counts_spans.c

bool counts_spans_make(void); // false: no memory
// The program starts. What ran before, another one did.
void counts_spans_start(unsigned vcpu);

#endif
#endif
