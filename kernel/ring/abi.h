// The interface between user programs and the kernel: system calls, the ring page, operations and their
// results.
//
// A ring is one page. The program writes submissions at sq_tail, the kernel takes them at sq_head and writes
// completions at cq_tail, the program takes them at cq_head. All four only count up; an index is the count
// modulo the size. One system call, enter, drains the submissions in order:
//
//   - If an operation would block, enter waits for it only while fewer than min_complete operations of this
//     entry are complete, and only until the timeout. Otherwise the operation stays at the head and enter
//     returns.
//   - enter returns how many operations it completed, at most RING_SIZE, or a negative error. A ring with
//     impossible counts (more submissions than it has room for) gets its process killed.
//
// Each process owns a ring, at the bottom of its main thread's slot. A spawned thread has a slot and a ring
// of its own. A slot is aligned to its size, so a thread finds its ring by its stack pointer.
#ifndef RING_ABI_H
#define RING_ABI_H

#include <stdint.h>

#define RING_SLOT_BYTES 0x20000
#define RING_INFO_OFFSET 0x1000  // main slot only: struct ring_info, read-only
#define RING_STACK_OFFSET 0x3000 // the page before it is not mapped, as a guard
#define RING_SIZE 32

enum ring_call {      // rax; arguments in rdi, rsi, rdx, r10
    RING_CALL_ENTER,  // min_complete, timeout in ns (0: none), 1: the process's ring instead of the thread's
    RING_CALL_EXIT,   // status; ends the thread, or the process if it is the main thread. 1: ends the run
    RING_CALL_YIELD,  // lets another thread run
    RING_CALL_CPU,    // returns the CPU's number
    RING_CALL_WINDOW, // enum ring_window: marks a border of the timed window, see measure/measure.h
    RING_CALL_READ,   // enum ring_number, index, second index: a number that the kernel counted
    RING_CALL_PROCESS, // returns the process's number
    RING_CALLS
};

enum ring_operation {
    RING_NOP,
    RING_CALL,   // process, word, word; waits for the reply. words[0]: the word of the reply
    RING_REPLY,  // call id (0: none), word, 1: then take the next call. result: its id; words: its two words
    RING_SPAWN,  // enum ring_spawn, two arguments, weight (0: 1024), latency class. result: id
    RING_WAIT,   // id, enum ring_spawn; waits until it ends. result: 0, words[0]: its exit status
    RING_PARK,   // address of a 32-bit word, expected value, deadline (a TSC value, 0: none); waits for an
                 // unpark. RING_EAGAIN if the word differs, RING_ETIMEDOUT at the deadline
    RING_UNPARK, // address, at most how many. result: how many were woken
    RING_MAP,    // bytes, 1: shared. result: address
    RING_UNMAP,  // address, bytes
    RING_LOG,    // text, length (at most RING_LOG_BYTES)
    RING_SLEEP,  // waits until the TSC has this value
    // Of the first process only: core/program.h.
    RING_PROGRAM, // number, address of RING_NAME_BYTES with its name, two arguments. result: its process's id
    RING_STOP,    // number, 1: all threads of that program stand still; 0: they go on
    RING_OPERATIONS
};

#define RING_LOG_BYTES 1024
#define RING_NAME_BYTES 64

enum ring_spawn { RING_SPAWN_THREAD = 0, RING_SPAWN_PROCESS = 1 };
enum ring_latency { RING_LATENCY_NORMAL, RING_LATENCY_SHORT, RING_LATENCY_BATCH, RING_LATENCIES };

enum ring_error {
    RING_EINVAL = 1,
    RING_EAGAIN,
    RING_ETIMEDOUT,
    RING_EINTR, // the thread is being ended
    RING_ENOMEM,
    RING_ESRCH, // no such process or thread, or not the caller's
    RING_EFAULT,
};

enum ring_window { RING_WINDOW_CLOSE, RING_WINDOW_OPEN, RING_WINDOW_WORK, RING_WINDOW_WORKED };
enum ring_phase { RING_PHASE_SPAWN_READY, RING_PHASE_WORK, RING_PHASE_SHUTDOWN, RING_PHASES };
enum ring_book {
    RING_BOOK_ID,
    RING_BOOK_CPU, // the last one
    RING_BOOK_RUNNING,
    RING_BOOK_RUNNABLE,
    RING_BOOK_BLOCKED,
    RING_BOOK_LIFETIME,
    RING_BOOK_FIELDS
};

enum ring_number {
    RING_READ_FREE_PAGES,
    RING_READ_MY_CYCLES, // the calling thread's CPU time
    RING_READ_FOREIGN,   // cycles used by processes whose parent has ended
    // Available after a window with measure=1; an index beyond the last gives -RING_EINVAL.
    RING_READ_COUNTER, // phase * MAX_CPUS + CPU (phase RING_PHASES: the whole window), counter
    RING_READ_ELAPSED, // same index: length of that phase on that CPU, in cycles
    RING_READ_THREAD,  // ended thread, enum ring_book
    RING_READ_SAMPLE,  // CPU, sample: the user code address at a timer tick
    RING_READ_QUEUE,   // CPU, 0: enqueued, 1: dequeued + queued
    RING_READ_PROGRAM, // program's number: the CPU time of all its threads
};

#define RING_VECTOR_NONE 0xff    // killed, but not for an exception
#define RING_STATUS_KILLED 0x100 // plus the vector: the exit status of a killed process

struct ring_submission {
    uint32_t operation;
    uint32_t reserved;
    uint64_t tag; // copied to the completion
    uint64_t argument[6];
};

struct ring_completion {
    uint64_t tag;
    int64_t result;
    uint64_t words[2];
};

struct ring {
    _Alignas(64) uint32_t sq_head; // written by the kernel
    uint32_t cq_tail;
    _Alignas(64) uint32_t sq_tail; // written by the program
    uint32_t cq_head;
    _Alignas(64) struct ring_submission sq[RING_SIZE];
    struct ring_completion cq[RING_SIZE];
};

struct ring_info {
    uint32_t online;
    uint32_t measure;
    uint32_t wrong_checksum; // fault: 1 + the CPU whose worker reports a wrong value
    uint32_t reserved;
    uint64_t cycles_per_us;
    char command_line[3072];
};

#endif
