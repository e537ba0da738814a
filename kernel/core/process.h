// Processes: an address space, its threads, a ring, an inbox for calls, an exit status. family_lock guards
// parents and children, and the states and exit statuses of all processes and threads; it is held for a few
// dozen instructions at a time.
//
// A new process builds its own address space, on its own CPU, in process_begin: a spawn costs the parent a
// few hundred instructions only. An ending process wakes its parent first and cleans up after that.
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
    struct wait_queue calls;   // callers whose call was not taken yet
    struct wait_queue called;  // callers that wait for a reply
    struct wait_queue servers; // threads that wait for a call
};

struct process {
    int id;
    unsigned slot;
    bool orphan; // its parent has ended: its time does not belong to the workload
    const struct image *image;
    struct address_space space;
    struct ring_owner ring;
    struct inbox *inbox; // belongs to the slot: it outlives the process

    // Guarded by family_lock.
    struct process *parent; // NULL: no process will wait for it
    struct process *sibling, *children;
    struct thread *threads;
    unsigned alive, unburied;
    bool ending, ended, collected;
    int status;
    struct wait_queue joiners;
    uint64_t user_slots[4]; // bitmap of thread slots in use, without the main thread's
};

extern struct lock family_lock;
extern uint64_t processes_started, processes_freed; // guarded by family_lock

void process_init(void);
// Returns an id, or -RING_ENOMEM. parent is NULL for the first process.
int process_spawn(struct process *parent, const struct image *image, uint64_t first, uint64_t second,
                  uint64_t weight, unsigned latency);
int process_spawn_thread(struct process *process, uint64_t first, uint64_t second, uint64_t weight,
                         unsigned latency);
// 0 with *status set; -RING_ESRCH; -RING_EAGAIN with wait->later set; or an error of wait_on.
int process_wait_child(int id, struct ring_wait *wait, uint64_t *status);
int process_wait_thread(int id, struct ring_wait *wait, uint64_t *status);
struct inbox *process_inbox(int id); // NULL: the id was never a process's

void process_begin(struct thread *thread);       // called by the new thread: builds memory, image, entry
_Noreturn void process_exit(int status);         // ends the calling thread
_Noreturn void process_exit_machine(int status); // ends the run
// Kills the caller's process.
_Noreturn void process_kill(uint64_t vector, uint64_t address, uint64_t ip, const char *why);
void process_check_killed(void);          // on the way to user mode: does not return if killed
void process_bury(struct thread *thread); // no CPU uses the thread's stack any more

#endif
