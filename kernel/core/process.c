#include "core/process.h"

#include "arch/serial.h"
#include "core/image.h"
#include "core/print.h"
#include "core/string.h"
#include "measure/measure.h"
#include "ring/call.h"
#include "ring/ring.h"
#include "sched/choose.h"

#define THREADS_PER_PROCESS 256
#define FIRST_ID MAX_PROCESSES // the id of the first process

struct lock family_lock = LOCK(process);
uint64_t processes_started, processes_freed;
struct thread threads[MAX_THREADS];
static struct process processes[MAX_PROCESSES];
static struct inbox inboxes[MAX_PROCESSES];
// Guarded by family_lock.
static struct process *free_processes;
static struct thread *free_threads;
static unsigned threads_used; // slots that have a kernel stack

void process_init(void) {
    for (unsigned i = MAX_PROCESSES; i-- > 0;) {
        processes[i].slot = i;
        inboxes[i].lock = (struct lock)LOCK(park);
        processes[i].sibling = free_processes;
        free_processes = &processes[i];
    }
}

// An id encodes the slot and how often it was used, so that an old id matches nothing.
static int next_id(int id, unsigned slot, unsigned slots) {
    return id == 0 ? (int)(slots + slot) : (int)(((unsigned)id + slots) & 0x7fffffff);
}

struct inbox *process_inbox(int id) {
    return id > 0 ? &inboxes[id % MAX_PROCESSES] : NULL;
}

// ---- allocation, under family_lock

static struct thread *take_thread(struct process *process, uint64_t weight, unsigned latency) {
    struct thread *thread = free_threads;
    if (thread != NULL) {
        free_threads = thread->sibling;
    } else if (threads_used < MAX_THREADS) {
        thread = &threads[threads_used];
        thread->stack_top = vm_kernel_stack(threads_used);
        thread->slot = threads_used;
        if (thread->stack_top == 0)
            return NULL;
        threads_used++;
    } else {
        return NULL;
    }
    int id = next_id(thread->id, thread->slot, MAX_THREADS);
    thread_setup(thread, process, weight, latency);
    thread->id = id;
    thread->joiners.lock = &family_lock;
    thread->sibling = process->threads;
    process->threads = thread;
    process->alive++;
    process->unburied++;
    return thread;
}

static void free_thread(struct thread *thread) {
    struct process *process = thread->process;
    for (struct thread **link = &process->threads; *link; link = &(*link)->sibling)
        if (*link == thread) {
            *link = thread->sibling;
            break;
        }
    thread->process = NULL;
    thread->sibling = free_threads;
    free_threads = thread;
}

static struct process *take_process(struct process *parent, const struct image *image) {
    struct process *process = free_processes;
    if (process == NULL)
        return NULL;
    free_processes = process->sibling;
    int id = next_id(process->id, process->slot, MAX_PROCESSES);
    unsigned slot = process->slot;
    *process = (struct process){.id = id, .slot = slot, .image = image, .parent = parent};
    process->inbox = &inboxes[slot];
    process->joiners.lock = &family_lock;
    if (parent != NULL) {
        process->sibling = parent->children;
        parent->children = process;
    }
    processes_started++;
    return process;
}

static void free_process(struct process *process) {
    while (process->threads != NULL)
        free_thread(process->threads);
    process->sibling = free_processes;
    free_processes = process;
    processes_freed++;
}

static void forget_child(struct process *child) {
    if (child->parent != NULL)
        for (struct process **link = &child->parent->children; *link; link = &(*link)->sibling)
            if (*link == child) {
                *link = child->sibling;
                break;
            }
    child->parent = NULL;
    child->orphan = !child->ended;
    child->collected = true;
    if (child->ended && child->unburied == 0)
        free_process(child);
}

// ---- spawn

int process_spawn(struct process *parent, const struct image *image, uint64_t first, uint64_t second,
                  uint64_t weight, unsigned latency) {
    lock_take(&family_lock);
    struct process *process = take_process(parent, image);
    struct thread *thread = process ? take_thread(process, weight, latency) : NULL;
    int id = -RING_ENOMEM;
    if (thread != NULL) {
        id = process->id;
        // only now: a call to a process that is never started would wait forever
        inbox_open(process->inbox, id);
        thread->argument[0] = first;
        thread->argument[1] = second;
    } else if (process != NULL) {
        process->ended = true;
        forget_child(process);
    }
    lock_drop(&family_lock);
    if (thread != NULL)
        thread_start(thread);
    return id;
}

static unsigned take_user_slot(struct process *process) {
    for (unsigned i = 0; i < THREADS_PER_PROCESS / 64; i++)
        if (~process->user_slots[i] != 0) {
            unsigned bit = (unsigned)__builtin_ctzl(~process->user_slots[i]);
            process->user_slots[i] |= 1ul << bit;
            return 1 + i * 64 + bit;
        }
    return 0;
}

static void give_user_slot(struct process *process, unsigned slot) {
    process->user_slots[(slot - 1) / 64] &= ~(1ul << (slot - 1) % 64);
}

int process_spawn_thread(struct process *process, uint64_t first, uint64_t second, uint64_t weight,
                         unsigned latency) {
    int id = -RING_ENOMEM;
    lock_take(&family_lock);
    unsigned slot = process->ending ? 0 : take_user_slot(process);
    struct thread *thread = slot ? take_thread(process, weight, latency) : NULL;
    if (thread != NULL) {
        id = thread->id;
        thread->user_slot = slot;
        thread->argument[0] = first;
        thread->argument[1] = second;
    } else if (slot != 0) {
        give_user_slot(process, slot);
    }
    lock_drop(&family_lock);
    if (thread != NULL)
        thread_start(thread);
    return id;
}

// ---- wait

static struct process *child_named(struct process *parent, int id) {
    for (struct process *p = parent->children; p != NULL; p = p->sibling)
        if (p->id == id)
            return p;
    return NULL;
}

static struct thread *thread_named(struct process *process, int id) {
    for (struct thread *t = process->threads; t != NULL; t = t->sibling)
        if (t->id == id && t->user_slot != 0 && !t->collected)
            return t;
    return NULL;
}

static int sleep_until_ended(struct wait_queue *queue, struct ring_wait *wait) {
    if (!wait->allowed) {
        wait->later = true;
        lock_drop(&family_lock);
        return -RING_EAGAIN;
    }
    return wait_on(queue, wait->deadline);
}

int process_wait_child(int id, struct ring_wait *wait, uint64_t *status) {
    for (;;) {
        lock_take(&family_lock);
        struct process *child = child_named(current()->process, id);
        if (child == NULL || child->ended) {
            if (child != NULL) {
                *status = (uint64_t)child->status;
                forget_child(child);
            }
            lock_drop(&family_lock);
            return child ? 0 : -RING_ESRCH;
        }
        int result = sleep_until_ended(&child->joiners, wait);
        if (result != 0)
            return result;
    }
}

int process_wait_thread(int id, struct ring_wait *wait, uint64_t *status) {
    for (;;) {
        lock_take(&family_lock);
        struct thread *thread = id == current()->id ? NULL : thread_named(current()->process, id);
        if (thread == NULL || thread->ended) {
            if (thread != NULL) {
                *status = (uint64_t)thread->status;
                thread->collected = true;
                if (thread->buried)
                    free_thread(thread);
            }
            lock_drop(&family_lock);
            return thread ? 0 : -RING_ESRCH;
        }
        int result = sleep_until_ended(&thread->joiners, wait);
        if (result != 0)
            return result;
    }
}

// ---- exit

static void wake_all(struct wait_queue *queue) {
    while (queue->head != NULL)
        wake_thread(queue, queue->head, 0);
}

static void end_process(struct process *process, int status) {
    if (process->ending)
        return;
    process->ending = true;
    process->status = status;
    for (struct thread *t = process->threads; t != NULL; t = t->sibling)
        if (!t->ended && t != current())
            thread_interrupt(t, &family_lock);
}

// Also called when the first process ends.
void process_exit_machine(int status) {
    serial_hold(0);
    serial_flush();
    for (unsigned i = 0; i < cpu_count; i++)
        if (!sched->balanced(i))
            panic("why=queue-books queue=%u", i);
    machine_exit(status == 0 ? EXIT_GOOD : EXIT_FAILED);
}

static void clean_up(struct process *process) {
    if (process->parent == NULL && process->id == FIRST_ID)
        process_exit_machine(process->status);
    inbox_close(process->inbox);
    vm_leave(this_cpu());
    if (process->space.root != 0)
        vm_destroy(&process->space);
    lock_take(&family_lock);
    while (process->children != NULL)
        forget_child(process->children);
    lock_drop(&family_lock);
}

void process_exit(int status) {
    struct thread *me = current();
    struct process *process = me->process;
    lock_take(&family_lock);
    if (me->user_slot == 0)
        end_process(process, status);
    else
        give_user_slot(process, me->user_slot);
    thread_close_books();
    me->ended = true;
    me->status = status;
    bool last = --process->alive == 0;
    wake_all(&me->joiners);
    if (last) {
        process->ended = true;
        wake_all(&process->joiners);
        if (process->parent == NULL)
            process->collected = true;
    }
    lock_drop(&family_lock);
    if (last)
        clean_up(process);
    thread_end();
}

void process_kill(uint64_t vector, uint64_t address, uint64_t ip, const char *why) {
    struct thread *me = current();
    int status = (int)(RING_STATUS_KILLED + vector);
    print("killed: process=%d thread=%d cpu=%u why=%s vector=%lu address=%lx ip=%lx", me->process->id, me->id,
          this_cpu()->index, why, vector, address, ip);
    lock_take(&family_lock);
    end_process(me->process, status);
    lock_drop(&family_lock);
    if (measure_window_open()) // a window in which a process was killed has no valid figure
        process_exit_machine(status);
    process_exit(status);
}

void process_check_killed(void) {
    struct thread *me = current();
    if (me->process != NULL && atomic_load_explicit(&me->killed, memory_order_relaxed))
        process_exit(me->process->status);
}

void process_bury(struct thread *thread) {
    struct process *process = thread->process;
    lock_take(&family_lock);
    thread->buried = true;
    process->unburied--;
    if (process->ended && process->collected && process->unburied == 0)
        free_process(process);
    else if (thread->collected)
        free_thread(thread);
    lock_drop(&family_lock);
}
