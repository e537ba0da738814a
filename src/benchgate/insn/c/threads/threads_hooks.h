// What is read where: the file that insn/observe/ makes of `observe:` in a system's YAML.
//   insn-observe 1
//   text FROM TO                     of the kernel, in hex; 0 0: wake-ups get no trail
//   id PROGRAM                       of a thread `t` (threads_program.h)
//   name SIZE PROGRAM                optional: the address of its name
//   allowed PROGRAM                  optional: its CPUs, one bit each
//   hook KIND, then `at ADDRESS` once or more, `only blocked` or not, then the programs of the kind, which are optional here
//   end
#ifndef THREADS_HOOKS_H
#define THREADS_HOOKS_H

#include "threads_known.h"
#include "threads_program.h"

#define HOOKS_MOST 24
#define HOOKS_PLACES 12

enum hook_kind {
    HOOK_FORK,
    HOOK_SWITCH,
    HOOK_WAKE,
    HOOK_SEND,
    HOOK_MIGRATE,
    HOOK_ALLOW,
    HOOK_EXIT,
    HOOK_TICK,
    HOOK_YIELD,
    HOOK_KINDS
};

struct hook {
    enum hook_kind kind;
    unsigned places;
    uint64_t at[HOOKS_PLACES];
    bool only_blocked; // a wake-up of a thread that has blocked or is new; else nothing happens there
    struct program when, thread, from, to, blocked, dead, cpu, queue, mask;
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
