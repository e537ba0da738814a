// A small expression over the guest's registers and memory, in postfix order: what insn/observe/ makes of a line such
// as `arg1->pid` in a system's YAML. Each step is a word:
//   #HEX a constant    aN an argument of the function    t the thread's address    v the number of the vCPU
//   lN   replaces an address by the N bytes there, without a sign
//   + - * & | = < > !    C's operators, of unsigned numbers; `=` is == and `>` is >>
#ifndef THREADS_PROGRAM_H
#define THREADS_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#define PROGRAM_STEPS 60

struct program {
    unsigned length; // 0: there is none
    struct {
        char what;
        uint64_t value;
    } steps[PROGRAM_STEPS];
};

bool program_read(struct program *program, const char *text); // false: the text is not one
// A value that cannot be read is 0.
uint64_t program_run(const struct program *program, unsigned vcpu, uint64_t thread);

#endif
