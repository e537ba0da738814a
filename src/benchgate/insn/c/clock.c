// The lockstep machine and QEMU's threads: who waits, and who lets whom go.
#define _GNU_SOURCE
#include "clock_state.h"

#include "journal.h"
#include "placement.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOKS 400 // about as long as to be put to sleep and woken takes

struct clock_vcpu vcpus[LOCKSTEP_MAX];
struct lockstep machine;
struct clock_options options;
bool started;
struct clock_checks clock_checks;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int wakeup_fd = -1;
static uint64_t notifications;

// Whom this thread has let go and not woken yet. They need the lock first thing, so they are woken when it is
// free: the host may run them at once in our place, and then they would only have us run again.
static _Thread_local struct {
    unsigned count, vcpu[2 * LOCKSTEP_MAX]; // each for an errand and for a turn, at most
    bool main;
} asleep;

static void wake_all(void) {
    while (asleep.count)
        syscall(SYS_futex, &vcpus[asleep.vcpu[--asleep.count]].go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    uint64_t one = 1;
    if (asleep.main)
        (void)!syscall(SYS_write, wakeup_fd, &one, sizeof one);
    asleep.main = false;
}

void lock(void) {
    pthread_mutex_lock(&mutex);
}

void unlock(void) {
    pthread_mutex_unlock(&mutex);
    wake_all();
}

void clock_setup(const struct clock_options *given) {
    options = *given;
    lockstep_init(&machine, &options.rules);
#if INSN_FULL
    lockstep_main_works(&machine);
    wakeup_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wakeup_fd < 0)
        journal_refuse("no eventfd");
#endif
}

bool clock_started(void) {
    return started;
}

// ---- grants

void let_go(unsigned c) {
    atomic_fetch_add(&vcpus[c].go, 1);
    if ((int)c != clock_self)
        asleep.vcpu[asleep.count++] = c;
}

void ping_main(void) {
    asleep.main = true;
}

void hand_out(void) {
    if (!started || errands_hold()) // threads come up in the host's order; no time may pass yet
        return;
    if (options.rules.serial)
        placement_look();
    struct lockstep_grants grants;
    lockstep_step(&machine, &grants);
    for (unsigned i = 0; i < grants.count; i++)
        let_go(grants.vcpu[i]);
    if (grants.main)
        ping_main();
}

// Where each vCPU has a host CPU of its own, those that it waits for run and are not far behind.
static void look_for_a_while(unsigned c, uint32_t go) {
    bool side_by_side = !options.rules.serial && machine.count <= placement_cpus();
    for (unsigned i = 0; side_by_side && i < LOOKS && atomic_load(&vcpus[c].go) == go; i++)
        __builtin_ia32_pause();
}

bool wait_for_let_go(unsigned c, long ns) {
    struct timespec span = {ns / 1000000000, ns % 1000000000};
    uint32_t go = atomic_load(&vcpus[c].go);
    unlock();
    look_for_a_while(c, go);
    long result = syscall(SYS_futex, &vcpus[c].go, FUTEX_WAIT_PRIVATE, go, &span, NULL, 0);
    bool late = result != 0 && errno == ETIMEDOUT;
    lock();
    return late;
}

// Until this vCPU is granted, or sent on an errand.
void await_grant(unsigned c) {
    while (machine.vcpu[c].state != LOCKSTEP_RUN && !on_errand(c)) {
        if (wait_for_let_go(c, 1000000000)) {
            unlock();
            clock_watch();
            lock();
        }
    }
}

// ---- what the main thread does

int clock_wakeup_fd(void) {
    return wakeup_fd;
}

uint64_t clock_notifications(void) {
    lock();
    uint64_t n = notifications;
    unlock();
    return n;
}

bool clock_main_idle(uint64_t deadline, uint64_t seq) {
    lock();
    bool idle = seq == notifications;
    if (idle) {
        lockstep_main_idle(&machine, deadline);
        hand_out();
    }
    unlock();
    return idle;
}

bool clock_main_may_work(void) {
    lock();
    bool may = machine.main == LOCKSTEP_MAIN_BUSY;
    unlock();
    return may;
}

void clock_main_wants(void) {
    lock();
    if (machine.main == LOCKSTEP_MAIN_IDLE) {
        lockstep_main_wants(&machine);
        hand_out();
    }
    unlock();
}

void clock_main_works(void) {
    lock();
    lockstep_main_works(&machine);
    unlock();
}

void clock_main_blocks(bool blocks) {
    lock();
    if (blocks && started)
        lockstep_main_blocks(&machine);
    else
        lockstep_main_works(&machine);
    hand_out();
    unlock();
}

void clock_notify(void) {
    lock();
    notifications++;
    clock_checks.notes++;
    if (machine.main == LOCKSTEP_MAIN_IDLE) {
        lockstep_main_wants(&machine);
        hand_out();
    }
    if (machine.vcpu[clock_self].state == LOCKSTEP_RUN)
        clock_stop_soon(); // so that a timer that it has just set is seen in time
    unlock();
}
