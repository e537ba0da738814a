// What a kernel executes while it waits at its prompt and nothing is typed: the blocks of the loop in which its idle
// CPUs poll, if they do. Afterwards the instructions of these blocks are told from work.
//
// A silence begins at the first stop of a vCPU after the last byte of an incomplete line (polls_silence), and ends
// when a line is typed (polls_typed). What was executed in between belongs to that loop. A CPU that works in other
// blocks does not poll, whenever it does so. Work may be done in the same blocks: judge/gates/used_cpus.py.
//
// With plugin API 3 only; without it nothing counts as polled. Call all but polls_block while every other vCPU is
// stopped.
#ifndef POLLS_H
#define POLLS_H

#include "qemu_api.h"
#include "spin.h"

const char *polls_setup(unsigned vcpus); // NULL, or what is wrong; without it nothing counts as polled
// A block is translated; spin: the loop that it closes, whose instructions are no work in any case.
void polls_block(struct qemu_plugin_tb *tb, size_t instructions, struct spin spin);
void polls_silence(void);
void polls_typed(void);
uint64_t polls_of(unsigned vcpu); // instructions so far that only polled

#endif
