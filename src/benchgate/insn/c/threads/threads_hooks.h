// What is read where: the file that insn/observe/ makes of `observe:` in a system's YAML.
//   insn-observe 1
//   text FROM TO                     of the kernel, in hex; 0 0: wake-ups get no trail
//   id PROGRAM                       optional: of a thread `t` (threads_program.h)
//   name SIZE PROGRAM                optional: the address of its name
//   allowed PROGRAM                  optional: its CPUs, one bit each
//   hook KIND, then `at ADDRESS` once or more, `only blocked` or not, then the programs of the kind, which are
//                                    optional here; `event NAME`: a kind that only the system knows
//   end
#ifndef THREADS_HOOKS_H
#define THREADS_HOOKS_H

#include "threads_known.h"
#include "threads_program.h"

#define HOOKS_MOST 48
#define HOOKS_NAME 32
#define HOOKS_PLACES 12

enum hook_kind {
    HOOK_FORK,
    HOOK_SWITCH,
    HOOK_WAKE,
    HOOK_SEND,
    HOOK_ASK,
    HOOK_MIGRATE,
    HOOK_ALLOW,
    HOOK_EXIT,
    HOOK_TICK,
    HOOK_YIELD,
    HOOK_SYSCALL, // from here on: only counted (counts.h)
    HOOK_FAULT,
    HOOK_SEND_IPI,
    HOOK_EVENT,
    HOOK_KINDS
};

struct hook {
    enum hook_kind kind;
    unsigned places;
    uint64_t at[HOOKS_PLACES];
    bool only_blocked; // a wake-up of a thread that has blocked or is new; else nothing happens there
    char name[HOOKS_NAME + 1]; // of an event
    struct program when, thread, from, to, blocked, dead, cpu, queue, mask, number, bytes, adds;
};

struct hooks {
    uint64_t text_from, text_to, name_size;
    struct program id, name, allowed;
    unsigned count;
    bool has[HOOK_KINDS];
    struct hook all[HOOKS_MOST];
};

// NULL, or what is wrong with the file.
const char *hooks_read(struct hooks *hooks, const char *path);

#endif
