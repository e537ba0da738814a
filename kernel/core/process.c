#include "core/process.h"

#include "arch/serial.h"
#include "core/fault.h"
#include "core/image.h"
#include "core/print.h"
#include "core/program.h"
#include "core/standing.h"
#include "core/string.h"
#include "measure/measure.h"
#include "ring/call.h"
#include "ring/ring.h"
#include "sched/choose.h"
#include "sched/common.h"

#define THREADS_PER_PROCESS 256
#define FIRST_ID MAX_PROCESSES // the id of the first process

_Alignas(128) struct lock family_lock = LOCK(family);
struct thread threads[MAX_THREADS];
static struct process processes[MAX_PROCESSES];
static struct inbox inboxes[MAX_PROCESSES];
static struct { _Alignas(128) struct lock lock; } locks[MAX_PROCESSES];
// Guarded by family_lock.
static struct {
    _Alignas(128) struct process *processes;
    struct thread *threads; // beyond those that CPUs keep
    unsigned threads_used;  // slots that have a kernel stack
} unused;

void process_init(void) {
    for (unsigned i = MAX_PROCESSES; i-- > 0;) {
        processes[i].slot = i;
        inboxes[i].lock = (struct lock)LOCK(park);
        locks[i].lock = (struct lock)LOCK(process);
        processes[i].sibling = unused.processes;
        unused.processes = &processes[i];
    }
}

// An id encodes the slot and how often it was used, so that an old id matches nothing.
static int next_id(int id, unsigned slot, unsigned slots) {
    return id == 0 ? (int)(slots + slot) : (int)(((unsigned)id + slots) & 0x7fffffff);
}

unsigned process_slots(void) {
    return __atomic_load_n(&unused.threads_used, __ATOMIC_RELAXED);
}

bool process_is_first(const struct process *process) {
    return process->id == FIRST_ID;
}

struct inbox *process_inbox(int id) {
    return id > 0 ? &inboxes[id % MAX_PROCESSES] : NULL;
}

// ---- slots of threads. Each CPU keeps some; family_lock guards the others.

static struct thread *new_slot(void) {
    if (unused.threads_used == MAX_THREADS)
        return NULL;
    struct thread *thread = &threads[unused.threads_used];
    thread->stack_top = vm_kernel_stack(unused.threads_used);
    thread->slot = unused.threads_used;
    if (thread->stack_top == 0)
        return NULL;
    unused.threads_used++;
    return thread;
}

// A slot that was used on this CPU is in its caches, as is the stack.
static struct thread *take_slot(struct cpu *cpu) {
    struct thread *thread = cpu->threads;
    if (thread != NULL) {
        cpu->threads = thread->sibling;
        cpu->thread_count--;
        return thread;
    }
    lock_take(&family_lock);
    thread = unused.threads;
    if (thread != NULL)
        unused.threads = thread->sibling;
    else
        thread = new_slot();
    lock_drop(&family_lock);
    return thread;
}

static void give_slot(struct cpu *cpu, struct thread *thread) {
    if (cpu->thread_count < THREAD_MAGAZINE) {
        thread->sibling = cpu->threads;
        cpu->threads = thread;
        cpu->thread_count++;
        return;
    }
    lock_take(&family_lock);
    thread->sibling = unused.threads;
    unused.threads = thread;
    lock_drop(&family_lock);
}

// ---- threads of a process, under its lock

static void add_thread(struct process *process, struct thread *thread, uint64_t weight, unsigned latency) {
    int id = next_id(thread->id, thread->slot, MAX_THREADS);
    thread_setup(thread, process, weight, latency);
    thread->id = id;
    thread->joiners.lock = process->lock;
    thread->sibling = process->threads;
    if (thread->sibling != NULL)
        thread->sibling->elder = thread;
    process->threads = thread;
    process->alive++;
    process->unburied++;
}

static void free_thread(struct thread *thread) {
    *(thread->elder ? &thread->elder->sibling : &thread->process->threads) = thread->sibling;
    if (thread->sibling != NULL)
        thread->sibling->elder = thread->elder;
    __atomic_store_n(&thread->process, NULL, __ATOMIC_RELAXED); // read by thread_named
    give_slot(this_cpu(), thread);
}

// ---- processes, under family_lock

static struct process *take_process(struct process *parent, const struct image *image) {
    struct process *process = unused.processes;
    if (process == NULL)
        return NULL;
    unused.processes = process->sibling;
    int id = next_id(process->id, process->slot, MAX_PROCESSES);
    unsigned slot = process->slot;
    *process = (struct process){.id = id, .slot = slot, .image = image, .parent = parent};
    process->inbox = &inboxes[slot];
    process->lock = &locks[slot].lock;
    process->joiners.lock = &family_lock;
    if (parent != NULL) {
        process->sibling = parent->children;
        if (process->sibling != NULL)
            process->sibling->elder = process;
        parent->children = process;
    }
    return process;
}

static void free_process(struct process *process) {
    process->sibling = unused.processes;
    unused.processes = process;
}

static void forget_child(struct process *child) {
    if (child->parent != NULL) {
        *(child->elder ? &child->elder->sibling : &child->parent->children) = child->sibling;
        if (child->sibling != NULL)
            child->sibling->elder = child->elder;
    }
    child->parent = NULL;
    child->orphan = !child->ended;
    child->collected = true;
    if (child->buried)
        free_process(child);
}

// ---- spawn

int process_spawn(struct process *parent, const struct image *image, uint64_t first, uint64_t second,
                  uint64_t weight, unsigned latency) {
    struct thread *thread = take_slot(this_cpu());
    if (thread == NULL)
        return -RING_ENOMEM;
    int id = -RING_ENOMEM;
    lock_take(&family_lock);
    struct process *process = take_process(parent, image);
    if (process != NULL) {
        id = process->id;
        add_thread(process, thread, weight, latency);
        thread->argument[0] = first;
        thread->argument[1] = second;
        // only now: a call to a process that is never started would wait forever
        inbox_open(process->inbox, id);
    }
    lock_drop(&family_lock);
    if (process != NULL)
        thread_start(thread);
    else
        give_slot(this_cpu(), thread);
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
    struct thread *thread = take_slot(this_cpu());
    if (thread == NULL)
        return -RING_ENOMEM;
    int id = -RING_ENOMEM;
    lock_take(process->lock);
    unsigned slot = process->ending ? 0 : take_user_slot(process);
    if (slot != 0) {
        add_thread(process, thread, weight, latency);
        id = thread->id;
        thread->user_slot = slot;
        thread->argument[0] = first;
        thread->argument[1] = second;
    }
    lock_drop(process->lock);
    if (slot != 0)
        thread_start(thread);
    else
        give_slot(this_cpu(), thread);
    return id;
}

// ---- wait

static struct process *child_named(struct process *parent, int id) {
    struct process *child = id > 0 ? &processes[id % MAX_PROCESSES] : NULL;
    return child != NULL && child->id == id && child->parent == parent ? child : NULL;
}

// A thread becomes one of this process, and ceases to be, under the process's lock, which the caller holds.
// So a slot of another process is not read any further.
static struct thread *thread_named(struct process *process, int id) {
    struct thread *t = id > 0 ? &threads[id % MAX_THREADS] : NULL;
    if (t == NULL || __atomic_load_n(&t->process, __ATOMIC_RELAXED) != process)
        return NULL;
    return t->id == id && t->user_slot != 0 && !t->collected ? t : NULL;
}

static int sleep_until_ended(struct wait_queue *queue, struct ring_wait *wait) {
    if (!wait->allowed) {
        wait->later = true;
        lock_drop(queue->lock);
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
    struct process *process = current()->process;
    for (;;) {
        lock_take(process->lock);
        struct thread *thread = id == current()->id ? NULL : thread_named(process, id);
        if (thread == NULL || thread->ended) {
            if (thread != NULL) {
                *status = (uint64_t)thread->status;
                thread->collected = true;
                if (thread->buried)
                    free_thread(thread);
            }
            lock_drop(process->lock);
            return thread ? 0 : -RING_ESRCH;
        }
        int result = sleep_until_ended(&thread->joiners, wait);
        if (result > 0) {
            *status = (uint64_t)(result - 1);
            return 0;
        }
        if (result != 0)
            return result;
    }
}

// ---- exit

static void end_waits(struct wake_list *list, struct wait_queue *queue) {
    while (queue->head != NULL)
        wake_later(list, queue, queue->head, 0);
}

// The first joiner gets the status with its wake-up, as 1 + status, and need not look for the thread again.
static void tell_joiners(struct wake_list *list, struct thread *thread) {
    if (thread->joiners.head != NULL && !thread->collected) {
        wake_later(list, &thread->joiners, thread->joiners.head, 1 + thread->status);
        thread->collected = true;
    }
    end_waits(list, &thread->joiners);
}

static void tell_parent(struct wake_list *list, struct process *process) {
    lock_take(&family_lock);
    process->ended = true;
    end_waits(list, &process->joiners);
    if (process->parent == NULL)
        process->collected = true;
    lock_drop(&family_lock);
}

static void end_process(struct process *process, int status) {
    if (process->ending)
        return;
    process->ending = true;
    process->status = status;
    for (struct thread *t = process->threads; t != NULL; t = t->sibling)
        if (!t->ended && t != current())
            thread_interrupt(t, process->lock);
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

// `late` (fault=double-free): asks whether it was the last when it has no lock any more. Two threads may both be the
// last, and free the same pages.
FAULT_LINES _Noreturn void exit_with(bool late, int status) {
    struct thread *me = current();
    struct process *process = me->process;
    lock_take(process->lock);
    if (me->user_slot == 0)
        end_process(process, status);
    else
        give_user_slot(process, me->user_slot);
    thread_close_books();
    me->ended = true;
    me->status = status;
    bool last = --process->alive == 0;
    struct wake_list list = {0};
    tell_joiners(&list, me);
    lock_drop(process->lock);
    if (late)
        last = __atomic_load_n(&process->alive, __ATOMIC_RELAXED) == 0;
    if (last)
        tell_parent(&list, process);
    wake_now(&list);
    if (last)
        clean_up(process);
    thread_end();
}

void process_exit(int status) {
    exit_with(false, status);
}
FAULT_COPY __attribute__((flatten)) void process_exit_late(int status) {
    exit_with(true, status);
}

// fault=sleepy-exit: one thread in N (3) sleeps for 500 us before it ends.
FAULT_COPY __attribute__((flatten)) void process_exit_asleep(int status) {
    if (sched_is_hit(3))
        sleep_for(500);
    exit_with(false, status);
}

void process_kill(uint64_t vector, uint64_t address, uint64_t ip, const char *why) {
    struct thread *me = current();
    int status = (int)(RING_STATUS_KILLED + vector);
    print("killed: process=%d thread=%d cpu=%u why=%s vector=%lu address=%lx ip=%lx", me->process->id, me->id,
          this_cpu()->index, why, vector, address, ip);
    lock_take(me->process->lock);
    end_process(me->process, status);
    lock_drop(me->process->lock);
    if (measure_window_open()) // a window in which a process was killed has no valid figure
        process_exit_machine(status);
    process_exit(status);
}

// Out of line, so that the check costs no more than it must.
static __attribute__((noinline)) void obey(struct thread *me) {
    if (!(atomic_load_explicit(&me->asked, memory_order_relaxed) & THREAD_KILLED))
        program_stand();
    if (atomic_load_explicit(&me->asked, memory_order_relaxed) & THREAD_KILLED)
        process_exit(me->process->status);
}

void process_check_asked(void) {
    struct thread *me = current();
    if (me->process != NULL && atomic_load_explicit(&me->asked, memory_order_relaxed))
        obey(me);
}

// The last one to be buried ends the process: no thread is left that could start or join another.
void process_bury(struct thread *thread) {
    struct process *process = thread->process;
    lock_take(process->lock);
    thread->buried = true;
    if (thread->collected)
        free_thread(thread);
    bool last = --process->unburied == 0 && process->alive == 0;
    while (last && process->threads != NULL)
        free_thread(process->threads);
    lock_drop(process->lock);
    if (!last)
        return;
    lock_take(&family_lock);
    process->buried = true;
    if (process->collected)
        free_process(process);
    lock_drop(&family_lock);
}
