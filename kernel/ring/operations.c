// The operations of a ring. Every argument comes from the program and is checked here, once.
#include "arch/serial.h"
#include "core/alloc.h"
#include "core/process.h"
#include "core/program.h"
#include "core/vm.h"
#include "ring/call.h"
#include "ring/park.h"
#include "ring/ring.h"
#include "ring/sleep.h"

#define WEIGHT_MAX 65536
#define MAP_MAX (1ul << 32)

typedef int64_t handler(const uint64_t *argument, struct ring_wait *wait, uint64_t *words);

static int64_t do_nop(const uint64_t *a, struct ring_wait *wait, uint64_t *words) {
    (void)a, (void)wait, (void)words;
    return 0;
}

static int64_t do_call(const uint64_t *a, struct ring_wait *wait, uint64_t *words) {
    return a[0] > INT32_MAX ? -RING_ESRCH : call((int)a[0], a[1], a[2], wait, &words[0]);
}

static int64_t do_reply(const uint64_t *a, struct ring_wait *wait, uint64_t *words) {
    if (a[0] != 0) {
        // A reply that then waits for the next call is made only if waiting is allowed. Otherwise the
        // operation is tried again later, and would reply twice.
        if (a[2] != 0 && !wait->allowed) {
            wait->later = true;
            return -RING_EAGAIN;
        }
        int64_t result = a[0] > INT32_MAX ? -RING_ESRCH : reply((int)a[0], a[1]);
        if (result != 0 || a[2] == 0)
            return result;
    }
    return next_call(wait, words);
}

static int64_t do_spawn(const uint64_t *a, struct ring_wait *wait, uint64_t *words) {
    (void)wait, (void)words;
    struct process *process = current()->process;
    uint64_t weight = a[3] ? a[3] : SCHED_WEIGHT;
    if (weight > WEIGHT_MAX || a[4] >= RING_LATENCIES || a[0] > RING_SPAWN_PROCESS)
        return -RING_EINVAL;
    if (a[0] == RING_SPAWN_THREAD)
        return process_spawn_thread(process, a[1], a[2], weight, (unsigned)a[4]);
    return process_spawn(process, process->image, a[1], a[2], weight, (unsigned)a[4]);
}

static int64_t do_wait(const uint64_t *a, struct ring_wait *wait, uint64_t *words) {
    if (a[0] > INT32_MAX || a[1] > RING_SPAWN_PROCESS)
        return -RING_ESRCH;
    return (a[1] == RING_SPAWN_THREAD ? process_wait_thread : process_wait_child)((int)a[0], wait, words);
}

static uint64_t word_at(uint64_t address) {
    if (address % 4 != 0)
        return 0;
    struct address_space *space = &current()->process->space;
    uint64_t physical = vm_translate(space, address, false);
    if (physical == 0 && vm_fault(space, address))
        physical = vm_translate(space, address, false);
    return physical;
}

// The key of a word in private memory is its process and its address, of a word in shared memory its address,
// which is the same in every process. Addresses are never reused, so a page that is mapped again has another
// key.
static uint64_t key_of(uint64_t address) {
    _Static_assert(MAX_PROCESSES <= 1024, "a word's address, a multiple of 4, leaves 10 bits beside it");
    return address << 8 | (address < USER_SHARED ? current()->process->slot : 0);
}

static int64_t do_park(const uint64_t *a, struct ring_wait *wait, uint64_t *words) {
    (void)words;
    uint64_t physical = word_at(a[0]);
    if (a[2] != 0 && (wait->deadline == 0 || a[2] < wait->deadline))
        wait->deadline = a[2];
    return physical ? park(key_of(a[0]), at(physical), (uint32_t)a[1], wait) : -RING_EFAULT;
}

static int64_t do_unpark(const uint64_t *a, struct ring_wait *wait, uint64_t *words) {
    (void)wait, (void)words;
    return word_at(a[0]) ? (int64_t)unpark(key_of(a[0]), a[1]) : -RING_EFAULT;
}

static int64_t do_map(const uint64_t *a, struct ring_wait *wait, uint64_t *words) {
    (void)wait, (void)words;
    if (a[0] == 0 || a[0] > MAP_MAX)
        return -RING_EINVAL;
    uint64_t where = vm_map(a[1] == 1 ? &shared_space : &current()->process->space, a[0]);
    return where ? (int64_t)where : -RING_ENOMEM;
}

static int64_t do_unmap(const uint64_t *a, struct ring_wait *wait, uint64_t *words) {
    (void)wait, (void)words;
    return vm_unmap(a[0] >= USER_SHARED ? &shared_space : &current()->process->space, a[0], a[1]);
}

static int64_t do_log(const uint64_t *a, struct ring_wait *wait, uint64_t *words) {
    (void)wait, (void)words;
    char text[RING_LOG_BYTES];
    if (a[1] > sizeof text)
        return -RING_EINVAL;
    if (!vm_copy_in(&current()->process->space, text, a[0], a[1]))
        return -RING_EFAULT;
    serial_write(text, a[1]);
    return (int64_t)a[1];
}

static int64_t do_sleep(const uint64_t *a, struct ring_wait *wait, uint64_t *words) {
    (void)words;
    return sleep_until(a[0], wait);
}

static int64_t do_program(const uint64_t *a, struct ring_wait *wait, uint64_t *words) {
    (void)wait, (void)words;
    char name[RING_NAME_BYTES];
    if (!process_is_first(current()->process) || a[0] >= PROGRAMS)
        return -RING_EINVAL;
    if (!vm_copy_in(&current()->process->space, name, a[1], sizeof name))
        return -RING_EFAULT;
    name[sizeof name - 1] = 0;
    return program_start((unsigned)a[0], name, a[2], a[3]);
}

static int64_t do_stop(const uint64_t *a, struct ring_wait *wait, uint64_t *words) {
    (void)wait, (void)words;
    if (!process_is_first(current()->process) || a[0] >= PROGRAMS)
        return -RING_EINVAL;
    return program_stop((unsigned)a[0], a[1] == 1);
}

static handler *const handlers[RING_OPERATIONS] = {
    [RING_NOP] = do_nop,     [RING_CALL] = do_call, [RING_REPLY] = do_reply,   [RING_SPAWN] = do_spawn,
    [RING_WAIT] = do_wait,   [RING_PARK] = do_park, [RING_UNPARK] = do_unpark, [RING_MAP] = do_map,
    [RING_UNMAP] = do_unmap, [RING_LOG] = do_log,   [RING_SLEEP] = do_sleep,   [RING_PROGRAM] = do_program,
    [RING_STOP] = do_stop,
};

void operation(const struct ring_submission *submission, struct ring_wait *wait,
               struct ring_completion *completion) {
    uint32_t which = submission->operation;
    completion->result = which < RING_OPERATIONS
                             ? handlers[which](submission->argument, wait, completion->words)
                             : -RING_EINVAL;
}
