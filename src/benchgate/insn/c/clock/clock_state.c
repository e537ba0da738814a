// The clock's state, its lock, and how threads release each other.
#define _GNU_SOURCE
#include "clock_state.h"

#include "carrier.h"
#include "journal.h"
#include "outer.h"

#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

struct clock_vcpu clock_vcpus[LOCKSTEP_MAX];
struct lockstep clock_machine;
struct clock_options clock_options;
bool clock_guest_started;
bool clock_main_asked;
struct clock_checks clock_checks;
_Thread_local int clock_self = -1;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int wakeup_fd = -1;

static _Thread_local bool releases_main; // this thread has released the main thread, but not woken it yet

// A woken thread takes the lock first, so it is woken only after the lock is free.
static void wake_all(void) {
    carrier_wake();
    uint64_t one = 1;
    if (releases_main)
        (void)!syscall(SYS_write, wakeup_fd, &one, sizeof one);
    releases_main = false;
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

// Before the guest begins, and at its end, QEMU itself stops its vCPUs, and wakes them as often as the host likes: until
// one of them executes something, that is not the guest's. QEMU also waits for them while the guest runs, and then
// it is the guest that halts them.
static bool is_guests(void) {
    static uint64_t stopped_at = UINT64_MAX;
    uint64_t executed = 0;
    if (!clock_guest_started || clock_machine.window || !clock_machine.closed)
        return clock_guest_started;
    for (unsigned c = 0; c < clock_machine.count; c++)
        executed += clock_executed(c);
    if (clock_machine.main == LOCKSTEP_MAIN_NONE)
        stopped_at = executed;
    return executed != stopped_at;
}

void clock_tell_halt(unsigned c) {
    if (is_guests())
        outer_halted(c, clock_machine.vcpu[c].state == LOCKSTEP_HALT, clock_machine.vcpu[c].time);
}

// Of those by QEMU at the end, a halt is told that took time; if nobody tells its end, it lasts until the vCPU's.
void clock_tell_wake(unsigned c, uint64_t since) {
    if (clock_guest_started && clock_machine.vcpu[c].time > since)
        outer_halted(c, true, since);
    clock_tell_halt(c);
}

void clock_guest_begins(void) {
    clock_guest_started = true;
    for (unsigned c = 0; c < clock_machine.count; c++)
        clock_tell_halt(c);
}

int clock_wakeup_fd(void) {
    return wakeup_fd;
}

// A vCPU that releases itself does not wait.
void clock_release(unsigned c) {
    if ((int)c != clock_self)
        carrier_release(c);
}

void clock_wake_main(void) {
    releases_main = true;
}

bool clock_is_halted(void) {
    for (unsigned c = 0; c < clock_machine.count; c++)
        if (clock_machine.vcpu[c].state != LOCKSTEP_HALT)
            return false;
    return true;
}
