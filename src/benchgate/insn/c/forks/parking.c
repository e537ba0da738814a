#define _GNU_SOURCE
#include "parking.h"

#include "carrier.h"
#include "switch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 32
#define STACK 16384
#define PATIENCE 10000           // looks, a ms apart, until a thread has stopped
#define SIGNAL SIGILL            // QEMU's threads block all signals but a few; of those nothing sends this one
#define IN_THREAD 0x700          // libc's own record of a thread is at least so long
#define RSEQ_SIGNATURE 0x53053053 // of glibc on x86
#define RSEQ_BYTES 32

struct slot {
    _Alignas(16) unsigned char stack[STACK];
    struct switch_context context;
    long thread;
    char name[16];
    void *robust;
    size_t robust_bytes;
    _Atomic uint32_t parked, lives; // lives: in the child, its thread was made again
};

static struct slot slots[MOST];
static unsigned used;
static _Atomic bool stopping; // a thread that is sent the signal stops
static _Atomic uint32_t turn; // changes when the parked threads may go on
static size_t number_at;       // libc's number of a thread, from the base of its thread-local storage
static const ptrdiff_t *rseq_at;
static enum switch_way way;
static struct sigaction before; // what a thread does on the signal otherwise

static long number_of_thread(void) {
    return syscall(SYS_gettid);
}

// ---- how libc keeps a thread's number

// Bit n: the word n of this thread's record is its number.
struct words {
    bool are_number[IN_THREAD / sizeof(int)];
};

static void *look(void *into) {
    struct words *w = into;
    const int *record = (const int *)switch_base();
    for (size_t n = 0; n < IN_THREAD / sizeof(int); n++)
        w->are_number[n] = record[n] == (int)number_of_thread();
    return NULL;
}

static bool find_number(void) {
    static struct words here, there;
    pthread_t other;
    look(&here);
    if (pthread_create(&other, NULL, look, &there) != 0 || pthread_join(other, NULL) != 0)
        return false;
    unsigned found = 0;
    for (size_t n = 0; n < IN_THREAD / sizeof(int); n++)
        if (here.are_number[n] && there.are_number[n]) {
            number_at = n * sizeof(int);
            found++;
        }
    return found == 1;
}

static void *number_in(uintptr_t base) {
    return (void *)(base + number_at);
}

// ---- what one thread tells another

static void tell(_Atomic uint32_t *word) {
    atomic_store(word, 1);
    switch_futex(word, FUTEX_WAKE_PRIVATE, INT32_MAX);
}

static void await_a_ms(_Atomic uint32_t *word) {
    struct timespec limit = {.tv_nsec = 1000000};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, &limit, NULL, 0);
}

// ---- a parked thread

// On the slot's own stack. It uses nothing of libc's.
static void hold(void *argument) {
    struct slot *s = argument;
    struct switch_context here;
    uint32_t seen = atomic_load(&turn);
    tell(&s->parked);
    while (atomic_load(&turn) == seen)
        switch_futex(&turn, FUTEX_WAIT_PRIVATE, seen);
    here.base = s->context.base;
    switch_to(way, &here, &s->context);
}

static void stopped(int number) {
    if (!atomic_load(&stopping))
        sigaction(number, &before, NULL); // it is no signal of ours, and comes again
    long thread = number_of_thread();
    for (unsigned i = 0; i < used && atomic_load(&stopping); i++)
        if (slots[i].thread == thread) {
            struct slot *s = &slots[i];
            s->context.base = switch_base();
            syscall(SYS_prctl, PR_GET_NAME, s->name);
            struct switch_context held = switch_new(s->stack, STACK, hold, s);
            switch_to(way, &s->context, &held);
        }
}

static int revived(void *argument) {
    struct slot *s = argument;
    struct switch_context here;
    here.base = s->context.base;
    syscall(SYS_prctl, PR_SET_NAME, s->name);
    syscall(SYS_set_robust_list, s->robust, s->robust_bytes);
    if (rseq_at)
        syscall(SYS_rseq, s->context.base + (uintptr_t)*rseq_at, RSEQ_BYTES, 0, RSEQ_SIGNATURE);
    tell(&s->lives);
    switch_to(way, &here, &s->context);
    return 0;
}

// ---- all of them

struct entry {
    uint64_t inode, offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

// Adds the threads that are not known yet; gives how many. -1: there are too many.
static int list(bool (*rests)(long)) {
    _Alignas(struct entry) char buffer[4096];
    int dir = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC), more = 0;
    long own = number_of_thread();
    for (long size; dir >= 0 && (size = syscall(SYS_getdents64, dir, buffer, sizeof buffer)) > 0;)
        for (long at = 0; at < size && more >= 0; at += ((struct entry *)(buffer + at))->length) {
            long thread = strtol(((struct entry *)(buffer + at))->name, NULL, 10);
            bool known = !thread || thread == own || rests(thread);
            for (unsigned i = 0; i < used; i++)
                known |= slots[i].thread == thread;
            if (known)
                continue;
            if (used == MOST)
                more = -1;
            else {
                slots[used].thread = thread;
                atomic_store(&slots[used].parked, 0);
                used++;
                more++;
            }
        }
    if (dir >= 0)
        syscall(SYS_close, dir);
    return dir < 0 ? -1 : more;
}

enum stopped { STOPPED, ENDED, BLOCKED };

static enum stopped stop(struct slot *s) {
    if (syscall(SYS_get_robust_list, s->thread, &s->robust, &s->robust_bytes) != 0 ||
        syscall(SYS_tgkill, getpid(), s->thread, SIGNAL) != 0)
        return ENDED;
    for (int look = 0; !atomic_load(&s->parked); look++) {
        if (syscall(SYS_tgkill, getpid(), s->thread, 0) != 0)
            return ENDED;
        if (look == PATIENCE)
            return BLOCKED;
        await_a_ms(&s->parked);
    }
    return STOPPED;
}

const char *parking_setup(void) {
    const unsigned *rseq_size = dlsym(RTLD_DEFAULT, "__rseq_size");
    if (!find_number())
        return "this libc keeps the number of a thread in another way";
    if (rseq_size && *rseq_size)
        rseq_at = dlsym(RTLD_DEFAULT, "__rseq_offset");
    return NULL;
}

const char *parking_stop(bool (*rests)(long)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = stopped;
    sigfillset(&action.sa_mask);
    way = carrier_way();
    if (way == SWITCH_NONE)
        return "the vCPUs have threads of their own here";
    static bool known;
    if (sigaction(SIGNAL, &action, known ? NULL : &before) != 0)
        return "the signal that stops threads cannot be handled";
    known = true;
    used = 0;
    atomic_store(&stopping, true);
    for (int more; (more = list(rests)) != 0;) {
        if (more < 0) {
            parking_go();
            return "its threads cannot be listed";
        }
        for (unsigned i = used - (unsigned)more; i < used; i++) {
            enum stopped how = stop(&slots[i]);
            if (how == ENDED)
                slots[i].thread = -1;
            if (how == BLOCKED) {
                parking_go();
                return "one of its threads does not stop";
            }
        }
    }
    return NULL;
}

long parking_fork(void) {
    void *robust;
    size_t bytes;
    bool has_list = syscall(SYS_get_robust_list, 0, &robust, &bytes) == 0;
    unsigned long flags = CLONE_PARENT | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD;
    long child = syscall(SYS_clone, flags, NULL, NULL, number_in(switch_base()), NULL);
    if (child == 0 && has_list)
        syscall(SYS_set_robust_list, robust, bytes);
    return child;
}

void parking_go(void) {
    atomic_store(&stopping, false);
    atomic_fetch_add(&turn, 1);
    switch_futex(&turn, FUTEX_WAKE_PRIVATE, INT32_MAX);
}

void parking_revive(void) {
    int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
    for (unsigned i = 0; i < used; i++) {
        struct slot *s = &slots[i];
        if (s->thread < 0)
            continue;
        atomic_store(&s->lives, 0);
        if (clone(revived, s->stack + STACK, flags, s, NULL, (void *)s->context.base, number_in(s->context.base)) < 0)
            _exit(1);
        while (!atomic_load(&s->lives))
            await_a_ms(&s->lives);
    }
    atomic_store(&stopping, false);
    sigaction(SIGNAL, &before, NULL);
}
