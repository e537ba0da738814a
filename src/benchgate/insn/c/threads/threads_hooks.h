// What is read where: the file that insn/observe/ makes of `observe:` in a system's YAML.
//   insn-observe 1
//   text FROM TO                     of the kernel, in hex; 0 0: wake-ups get no trail
//   id PROGRAM                       optional: of a thread `t` (threads_program.h)
//   name SIZE PROGRAM                optional: the address of its name
//   allowed PROGRAM                  optional: its CPUs, one bit each
//   interrupt PROGRAM                optional: whether the CPU is in the handler of an interrupt
//   hook KIND, then `at ADDRESS` once or more, `only blocked` or not, then the programs of the kind, which are
//                                    optional here; `event NAME`: a kind that only the system knows
//   accesses 1                       optional: what programs read from memory and write to it is counted
//   restart NUMBER                   optional: of the system call that goes on with one that a signal interrupted
//   operation NAME, then `from wake` or nothing, `from call NUMBER` and `from function BEGIN END` (hex), once or
//                                    more, but after `wake` none is needed; then `to call NUMBER` and
//                                    `to function BEGIN END` likewise; then `record NUMBER ADDRESS` or nothing,
//                                    without which there is a `to`; then `until 1` or nothing
//   end
#ifndef THREADS_HOOKS_H
#define THREADS_HOOKS_H

#include "threads_known.h"
#include "threads_program.h"

#define HOOKS_MOST 48
#define HOOKS_NAME 32
#define HOOKS_PLACES 12
#define HOOKS_OPERATIONS 4
#define HOOKS_HISTOGRAMS 4 // of a workload
#define HOOKS_CALLS 32
#define HOOKS_FUNCTIONS 16
#define HOOKS_FUNCTION 0x10000u // added to the number of a function of the program, where a call's number stands

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
    HOOK_MAY_WAIT, // the running thread asks for something that it may have to wait for
    HOOK_SYSCALL, // from here on: only counted (counts.h)
    HOOK_FAULT,   // and a stay in the kernel that it begins is no interruption (threads_stays.h)
    HOOK_SEND_IPI,
    HOOK_EVENT,
    HOOK_PUT, // the running thread's call writes bytes to an object; only for operations.h
    HOOK_GET, // and reads
    HOOK_KINDS
};

struct hook {
    enum hook_kind kind;
    unsigned places;
    uint64_t at[HOOKS_PLACES];
    bool only_blocked; // a wake-up of a thread that has blocked or is new; else nothing happens there
    char name[HOOKS_NAME + 1]; // of an event
    struct program when, thread, from, to, blocked, dead, cpu, queue, mask, number, bytes, adds, object, next, which;
};

// How the machine measures a histogram of the guest: from the entry of one of `from` to the exit of one of `to`.
struct hook_operation {
    char name[HOOKS_NAME + 1];
    bool is_wake; // from the entry of the call in which another thread woke this one; `from`: those that try to
    unsigned record; // 1 + the number of the program's histogram: a value is what it records; 0: spans are values
    bool has_until;  // the first argument of the functions `from` is a time of the program's clock until which they last
    unsigned begins, ends;
    uint32_t from[HOOKS_CALLS], to[HOOKS_CALLS];
};

// A function of the program.
struct hook_function {
    uint64_t begin, end;
};

struct hooks {
    uint64_t text_from, text_to, name_size;
    struct program id, name, allowed, interrupt;
    unsigned count;
    bool has[HOOK_KINDS];
    struct hook all[HOOKS_MOST];
    bool accesses; // of memory by programs
    uint64_t recorder; // the function of the program that records a value in a histogram; 0: not asked for
    uint32_t restart; // the number of the system call that goes on with one that a signal interrupted
    unsigned operations, functions;
    struct hook_operation operation[HOOKS_OPERATIONS];
    struct hook_function function[HOOKS_FUNCTIONS];
};

// NULL, or what is wrong with the file.
const char *hooks_read(struct hooks *hooks, const char *path);

#endif
