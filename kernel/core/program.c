#include "core/program.h"

#include "arch/tlb.h"
#include "arch/tsc.h"
#include "arch/x86.h"
#include "core/image.h"
#include "core/process.h"
#include "measure/books.h"
#include "ring/abi.h"
#include "sched/policy.h"

#define LOOKS 1000 // at a CPU that still runs a thread, before it is interrupted again

static struct program {
    _Alignas(128) struct lock lock;
    struct image image;          // of its processes, and of no others; the name is NULL before the first start
    _Atomic uint64_t ended;      // cycles of threads that have ended
    bool stopped;                // guarded by the lock, as is the queue
    struct wait_queue standing;
} programs[PROGRAMS] = {[0 ... PROGRAMS - 1] = {.lock = LOCK(park)}};

// NULL: it is a process of no program.
static struct program *program_of(const struct process *process) {
    const char *image = (const char *)process->image, *from = (const char *)programs;
    return image >= from && image < from + sizeof programs ? &programs[(image - from) / sizeof *programs] : NULL;
}

// A slot of a thread keeps pointing to the slot of a process, so a late look is at the wrong one at worst.
static bool is_of(const struct thread *thread, const struct program *program) {
    const struct process *process = __atomic_load_n(&thread->process, __ATOMIC_RELAXED);
    return process != NULL && process->image == &program->image;
}

// ---- start

int64_t program_start(unsigned number, const char *name, uint64_t first, uint64_t second) {
    const struct image *image = image_named(name);
    if (number >= PROGRAMS || image == NULL)
        return -RING_EINVAL;
    struct program *program = &programs[number];
    if (program->image.name == NULL) {
        program->image = *image;
        program->standing.lock = &program->lock;
        books_on = true; // from now on ended threads are counted
    }
    return process_spawn(current()->process, &program->image, first, second, SCHED_WEIGHT, 0);
}

// ---- CPU time

void program_ended(const struct thread *thread) {
    struct program *program = program_of(thread->process);
    if (program != NULL)
        atomic_fetch_add_explicit(&program->ended, thread->spent[THREAD_RUNNING], memory_order_relaxed);
}

// Of a thread that may change its state meanwhile: then `since` changes, too.
static uint64_t cycles_of(const struct thread *thread) {
    uint64_t since, spent, until;
    enum thread_state state;
    do {
        since = __atomic_load_n(&thread->since, __ATOMIC_ACQUIRE);
        spent = __atomic_load_n(&thread->spent[THREAD_RUNNING], __ATOMIC_ACQUIRE);
        state = __atomic_load_n(&thread->state, __ATOMIC_ACQUIRE);
        until = now();
    } while (since != __atomic_load_n(&thread->since, __ATOMIC_ACQUIRE));
    if (state == THREAD_DEAD)
        return 0; // program_ended counts it
    return spent + (state == THREAD_RUNNING && until > since ? until - since : 0);
}

int64_t program_cycles(uint64_t number) {
    if (number >= PROGRAMS)
        return -RING_EINVAL;
    const struct program *program = &programs[number];
    uint64_t sum = atomic_load_explicit(&program->ended, memory_order_relaxed);
    for (unsigned i = 0; i < process_slots(); i++)
        if (is_of(&threads[i], program))
            sum += cycles_of(&threads[i]);
    return (int64_t)sum;
}

// ---- stop and go on

// New threads are found, too, that were made while the others were stopped. `again`: the interrupt may have
// come between the thread's look at `asked` and its way into user mode, or not at all (fault=drop-ipi).
static bool runs(const struct program *program, bool again) {
    bool any = false;
    for (unsigned i = 0; i < process_slots(); i++) {
        struct thread *thread = &threads[i];
        if (!is_of(thread, program))
            continue;
        bool asked = atomic_load_explicit(&thread->asked, memory_order_relaxed) & THREAD_STOPPED;
        if (!asked || again)
            thread_stop(thread);
        any |= !asked;
    }
    for (unsigned i = 0; i < cpu_count; i++)
        any |= is_of(__atomic_load_n(&cpus[i].current, __ATOMIC_RELAXED), program);
    return any;
}

static void go_on(struct program *program) {
    struct wake_list list = {0};
    lock_take(&program->lock);
    program->stopped = false;
    for (unsigned i = 0; i < process_slots(); i++)
        if (is_of(&threads[i], program))
            atomic_fetch_and_explicit(&threads[i].asked, ~THREAD_STOPPED, memory_order_seq_cst);
    while (program->standing.head != NULL)
        wake_later(&list, &program->standing, program->standing.head, 0);
    lock_drop(&program->lock);
    wake_now(&list);
}

int64_t program_stop(unsigned number, bool stop) {
    if (number >= PROGRAMS || programs[number].image.name == NULL)
        return -RING_EINVAL;
    struct program *program = &programs[number];
    if (!stop) {
        go_on(program);
        return 0;
    }
    lock_take(&program->lock);
    program->stopped = true;
    lock_drop(&program->lock);
    for (unsigned look = 1; runs(program, look % LOOKS == 0); look++) {
        tlb_serve();
        pause();
    }
    return 0;
}

void program_stand(void) {
    struct thread *me = current();
    struct program *program = program_of(me->process);
    while (program != NULL) {
        lock_take(&program->lock);
        if (!program->stopped || (atomic_load_explicit(&me->asked, memory_order_relaxed) & THREAD_KILLED)) {
            lock_drop(&program->lock);
            break;
        }
        wait_on(&program->standing, 0); // drops the lock
    }
    atomic_fetch_and_explicit(&me->asked, ~THREAD_STOPPED, memory_order_seq_cst);
}
