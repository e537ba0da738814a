// Processes: an address space, its threads, a ring, an inbox for calls, an exit status. Parents and
// children, states and exit statuses of processes and threads are all guarded by family_lock; it is held
// for a few dozen instructions at a time.
//
// A spawned process builds its own address space, on its own CPU, in process_begin: its parent pays for a
// few hundred instructions only. An ending one tells its parent first and cleans up after that.
#ifndef CORE_PROCESS_H
#define CORE_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/thread.h"
#include "core/vm.h"

struct image;

struct inbox {
    struct lock lock;
    int process;               // its id; 0: closed
    struct wait_queue calls;   // callers not yet taken
    struct wait_queue called;  // callers that wait for their reply
    struct wait_queue servers; // threads that wait for a call
};

struct process {
    int id;
    unsigned slot;
    bool orphan; // its parent went before it did: its time is foreign to the workload
    const struct image *image;
    struct address_space space;
    struct ring_owner ring;
    struct inbox *inbox; // of the slot: it outlives the process

    // Guarded by family_lock.
    struct process *parent; // NULL: nobody will ask for its status
    struct process *sibling, *children;
    struct thread *threads;
    unsigned alive, unburied;
    bool ending, ended, collected;
    int status;
    struct wait_queue joiners;
    uint64_t user_slots[4]; // bitmap of thread slots in use; the main thread's is not among them
};

extern struct lock family_lock;
extern uint64_t processes_started, processes_freed; // guarded by family_lock

void process_init(void);
// An id, or -RING_ENOMEM. parent NULL: the first process.
int process_spawn(struct process *parent, const struct image *image, uint64_t first, uint64_t second,
                  uint64_t weight, unsigned latency);
int process_spawn_thread(struct process *process, uint64_t first, uint64_t second, uint64_t weight,
                         unsigned latency);
// 0 and *status; -RING_ESRCH, -RING_EAGAIN with wait->later, or as wait_on.
int process_wait_child(int id, struct ring_wait *wait, uint64_t *status);
int process_wait_thread(int id, struct ring_wait *wait, uint64_t *status);
struct inbox *process_inbox(int id); // NULL: the id was never a process's

void process_begin(struct thread *thread);       // in the new thread: memory, image, entry
_Noreturn void process_exit(int status);         // the calling thread ends
_Noreturn void process_exit_machine(int status); // everything ends
_Noreturn void process_kill(uint64_t vector, uint64_t address, uint64_t ip, const char *why); // its process
void process_check_killed(void);          // on the way to user mode: does not return if killed
void process_bury(struct thread *thread); // its stack is left for good

#endif
