// Processes: an address space, its threads, a ring, an inbox for calls, an exit status. Each process has a
// lock for its threads, their states and their exit statuses, so processes start and join threads beside each
// other. family_lock, one for all, guards parents and children; it may be taken after a process's. Both are
// held for a few dozen instructions at a time.
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
    _Alignas(128) struct lock lock;
    int process;               // its id; 0: closed
    struct wait_queue calls;   // callers whose call was not taken yet
    struct wait_queue called;  // callers that wait for a reply
    struct wait_queue servers; // threads that wait for a call
};

struct process {
    _Alignas(128) int id;
    unsigned slot;
    bool orphan; // its parent has ended: its time does not belong to the workload
    const struct image *image;
    struct address_space space;
    struct ring_owner ring;
    // These two belong to the slot and outlive the process: whoever is late may still take a lock of it.
    struct inbox *inbox;
    struct lock *lock;

    // Guarded by it. A process that is new has one user, and needs no lock.
    struct thread *threads;
    unsigned alive, unburied;
    bool ending;
    int status;             // final once `ended` is set
    uint64_t user_slots[4]; // bitmap of thread slots in use, without the main thread's

    // Guarded by family_lock.
    struct process *parent;                     // NULL: no process will wait for it
    struct process *sibling, *elder, *children; // elder: the one before it in its parent's list
    bool ended, buried, collected;              // buried: no CPU uses a stack of its threads any more
    struct wait_queue joiners;
};

extern struct lock family_lock;

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
bool process_is_first(const struct process *process);
unsigned process_slots(void); // of `threads`, those that were ever used; those after them are zero

void process_begin(struct thread *thread);       // called by the new thread: builds memory, image, entry
_Noreturn void process_exit(int status);         // ends the calling thread
_Noreturn void process_exit_late(int status), process_exit_asleep(int status); // core/fault.h
_Noreturn void process_exit_machine(int status); // ends the run
// Kills the caller's process.
_Noreturn void process_kill(uint64_t vector, uint64_t address, uint64_t ip, const char *why);
void process_check_asked(void);           // on the way to user mode: does not return if killed
void process_bury(struct thread *thread); // no CPU uses the thread's stack any more

#endif
