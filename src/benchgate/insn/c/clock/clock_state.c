// The clock's state, its lock, and how a vCPU's thread waits until another thread releases it.
#define _GNU_SOURCE
#include "clock_state.h"

#include "journal.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct clock_vcpu clock_vcpus[LOCKSTEP_MAX];
struct lockstep clock_machine;
struct clock_options clock_options;
bool clock_guest_started;
bool clock_main_waits;
bool clock_main_asked;
struct clock_checks clock_checks;
_Thread_local int clock_self = -1;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int wakeup_fd = -1;

// Threads that this thread has released but not woken yet. A woken thread takes the lock first, so it is
// woken only after the lock is free: the host may run it at once in place of this thread, and with the lock
// still held it could only switch back.
static _Thread_local struct {
    unsigned count, vcpu[2 * LOCKSTEP_MAX]; // a vCPU is here at most twice: for an errand and for a turn
    bool main;
} released;

static void wake_all(void) {
    while (released.count)
        syscall(SYS_futex, &clock_vcpus[released.vcpu[--released.count]].go, FUTEX_WAKE_PRIVATE, 1, NULL,
                NULL, 0);
    uint64_t one = 1;
    if (released.main)
        (void)!syscall(SYS_write, wakeup_fd, &one, sizeof one);
    released.main = false;
}

void clock_lock(void) {
    pthread_mutex_lock(&mutex);
}

void clock_unlock(void) {
    pthread_mutex_unlock(&mutex);
    wake_all();
}

void clock_setup(const struct clock_options *given) {
    clock_options = *given;
    for (unsigned c = 0; c < LOCKSTEP_MAX; c++)
        clock_vcpus[c].capacity = given->capacity[c] ? given->capacity[c] : CLOCK_FULL;
    lockstep_init(&clock_machine, &clock_options.rules, clock_options.start.time);
    lockstep_main_works(&clock_machine);
    wakeup_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wakeup_fd < 0)
        journal_refuse("cannot create an eventfd");
}

bool clock_has_capacities(void) {
    return clock_options.capacity[0];
}

bool clock_is_slow(unsigned c) {
    return clock_vcpus[c].capacity < CLOCK_FULL;
}

bool clock_started(void) {
    return clock_guest_started;
}

int clock_wakeup_fd(void) {
    return wakeup_fd;
}

void clock_release(unsigned c) {
    atomic_fetch_add(&clock_vcpus[c].go, 1);
    if ((int)c != clock_self)
        released.vcpu[released.count++] = c;
}

void clock_wake_main(void) {
    released.main = true;
}

bool clock_is_halted(void) {
    for (unsigned c = 0; c < clock_machine.count; c++)
        if (clock_machine.vcpu[c].state != LOCKSTEP_HALT)
            return false;
    return true;
}

bool clock_wait_for_release(unsigned c, long ns) {
    struct timespec span = {ns / 1000000000, ns % 1000000000};
    uint32_t go = atomic_load(&clock_vcpus[c].go);
    clock_unlock();
    long result = syscall(SYS_futex, &clock_vcpus[c].go, FUTEX_WAIT_PRIVATE, go, &span, NULL, 0);
    bool late = result != 0 && errno == ETIMEDOUT;
    clock_lock();
    return late;
}
