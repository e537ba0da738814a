// Answers QEMU's calls to libc in instruction time.
//
// The plugin is also preloaded, so these definitions come before libc's. QEMU reads the time by
// clock_gettime(CLOCK_MONOTONIC), its main loop sleeps in ppoll with the next timer as the timeout, its vCPUs
// halt in pthread_cond_wait, and a vCPU notifies the main loop of a new timer by writing an eventfd. TCG does
// not accept a clock from outside: the time control of the plugin interface moves only the clock of qtest.
// Threads that are neither the main thread nor a vCPU use the real libc.
#define _GNU_SOURCE
#include "libc.h"

#include "clock.h"
#include "console.h"
#include "forks.h"
#include "given.h"
#include "kept_back.h"
#include "pool.h"
#include "ram.h"
#include "typist.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define MAX_FDS 512

static bool active;
static _Thread_local bool is_main;
static uint64_t base_ns; // the host's clock when the plugin was loaded

static struct {
    int (*ppoll)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
    int (*cond_wait)(pthread_cond_t *, pthread_mutex_t *);
    int (*cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
    int (*broadcast)(pthread_cond_t *);
    int (*signal)(pthread_cond_t *);
    int (*clock_gettime)(clockid_t, struct timespec *);
    int (*gettimeofday)(struct timeval *, void *);
    ssize_t (*write)(int, const void *, size_t);
    ssize_t (*writev)(int, const struct iovec *, int);
    int (*madvise)(void *, size_t, int);
    void *(*mmap)(void *, size_t, int, int, int, off_t);
} real;

// dlsym gives void *; a function pointer has the same size here.
static void find(void *into, const char *name, const char *version) {
    void *symbol = version ? dlvsym(RTLD_NEXT, name, version) : dlsym(RTLD_NEXT, name);
    memcpy(into, &symbol, sizeof symbol);
}

__attribute__((constructor)) static void resolve(void) {
    find(&real.ppoll, "ppoll", NULL);
    find(&real.write, "write", NULL);
    find(&real.writev, "writev", NULL);
    find(&real.mmap, "mmap", NULL);
    find(&real.madvise, "madvise", NULL);
    find(&real.clock_gettime, "clock_gettime", NULL);
    find(&real.gettimeofday, "gettimeofday", NULL);
    find(&real.cond_wait, "pthread_cond_wait", "GLIBC_2.3.2");
    find(&real.cond_timedwait, "pthread_cond_timedwait", "GLIBC_2.3.2");
    find(&real.broadcast, "pthread_cond_broadcast", "GLIBC_2.3.2");
    find(&real.signal, "pthread_cond_signal", "GLIBC_2.3.2");
}

// Constructors of other libraries may call these functions before ours has run.
static void ready(void) {
    if (!real.signal)
        resolve();
}

const char *libc_problem(void) {
    ready();
    if (!real.ppoll || !real.write || !real.writev || !real.clock_gettime || !real.gettimeofday ||
        !real.mmap || !real.madvise || !real.cond_wait || !real.cond_timedwait || !real.broadcast || !real.signal)
        return "this libc lacks a symbol of glibc that the clock replaces";
    Dl_info mine, theirs;
    void *seen = dlsym(RTLD_DEFAULT, "ppoll");
    if (!seen || !dladdr((void *)&active, &mine) || !dladdr(seen, &theirs) ||
        mine.dli_fbase != theirs.dli_fbase)
        return "the plugin must be in LD_PRELOAD too";
    return NULL;
}

void libc_activate(void) {
    struct timespec now;
    real.clock_gettime(CLOCK_MONOTONIC, &now);
    base_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    is_main = true;
    active = true;
}

void libc_restart(uint64_t moved) {
    base_ns -= moved;
}

bool libc_is_main(void) {
    return is_main;
}

static bool ours(void) {
    return active && (is_main || clock_self >= 0);
}

// ---- the clock

static uint64_t monotonic(void) {
    if (clock_self >= 0)
        clock_checks.vcpu_clock++;
    else
        clock_checks.main_clock++;
    return base_ns + clock_seen();
}

EXPORT int clock_gettime(clockid_t id, struct timespec *now) {
    ready();
    if (!ours())
        return real.clock_gettime(id, now);
    if (id != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, id, now); // not the vDSO, which may read the TSC
    uint64_t ns = monotonic();
    now->tv_sec = (time_t)(ns / 1000000000);
    now->tv_nsec = (long)(ns % 1000000000);
    return 0;
}

EXPORT int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    ready();
    return ours() ? (int)syscall(SYS_gettimeofday, now, zone) : real.gettimeofday(now, zone);
}

// ---- the console, which is QEMU's standard output

static void wrote(int fd, const struct iovec *parts, ssize_t written) {
    int saved = errno;
    if (fd == STDOUT_FILENO && written > 0 && ours()) {
        console_wrote(parts, (size_t)written);
        typist_heard();
    }
    errno = saved;
}

EXPORT ssize_t writev(int fd, const struct iovec *parts, int count) {
    ready();
    ssize_t written = real.writev(fd, parts, count);
    wrote(fd, parts, written);
    return written;
}

// ---- a vCPU notifies the main loop

EXPORT ssize_t write(int fd, const void *bytes, size_t length) {
    ready();
    ssize_t written = real.write(fd, bytes, length);
    wrote(fd, &(struct iovec){(void *)bytes, length}, written);
    if (active && clock_self >= 0 && length == sizeof(uint64_t)) {
        int saved = errno;
        clock_notify();
        errno = saved;
    }
    return written;
}

// ---- halts and wake-ups

static pthread_mutex_t *_Atomic big_lock; // QEMU's, with which its vCPUs wait

// A synchronous request of QEMU's block layer (aio_poll) polls with the big lock held, the main loop without
// it. Such a request needs only the host. If vCPUs ran meanwhile, the next one that needs the lock would wait
// for ever.
static bool holds_big_lock(void) {
    return big_lock && big_lock->__data.__owner == (int)syscall(SYS_gettid);
}

EXPORT int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex) {
    ready();
    if (!ours())
        return real.cond_wait(condition, mutex);
    if (clock_self >= 0) {
        big_lock = mutex;
        // No wake-up is lost: the thread is registered before it unlocks the mutex, a thread that signals
        // holds the mutex, and clock_signal remembers other signals (`pending`).
        clock_wait_begin(condition);
        pthread_mutex_unlock(mutex);
        clock_wait_end();
        pthread_mutex_lock(mutex);
        return 0;
    }
    clock_main_blocks(true); // QEMU pauses or resets the machine, so the vCPUs must be able to run
    int result = real.cond_wait(condition, mutex);
    clock_main_blocks(false);
    return result;
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                                  const struct timespec *until) {
    ready();
    if (!is_main && clock_self < 0 &&
        pool_is_rest(until)) // also before the clock is active: images are opened early
        return pool_rest(condition, mutex, real.cond_wait);
    if (!active || !is_main)
        return real.cond_timedwait(condition, mutex, until);
    clock_main_blocks(true);
    int result = real.cond_timedwait(condition, mutex, until);
    clock_main_blocks(false);
    return result;
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *condition) {
    ready();
    if (active)
        clock_signal(condition, ours());
    return real.broadcast(condition);
}

EXPORT int pthread_cond_signal(pthread_cond_t *condition) {
    ready();
    if (active)
        clock_signal(condition, ours());
    if (ours() && clock_started() && pool_takes(condition))
        return pool_submit(real.signal);
    return real.signal(condition);
}

// ---- the guest's memory

// QEMU reserves addresses for the guest's memory, and then maps it at their begin (MAP_FIXED). Its buffer for
// translated code may be as large.
static void *map(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
    ready();
    void *mapped = real.mmap(at, length, protection, flags, fd, offset);
    if (mapped != MAP_FAILED && protection == (PROT_READ | PROT_WRITE) && (flags & MAP_FIXED)) {
        ram_mapped(mapped, length);
        given_mapped(mapped, length, flags, fd);
    }
    return mapped;
}

EXPORT void *mmap(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
    return map(at, length, protection, flags, fd, offset);
}

EXPORT void *mmap64(void *at, size_t length, int protection, int flags, int fd, off_t offset) {
    return map(at, length, protection, flags, fd, offset);
}

// QEMU keeps it back from the processes that it forks.
EXPORT int madvise(void *at, size_t length, int advice) {
    ready();
    if (advice == MADV_DONTFORK)
        kept_back(at, length);
    return real.madvise(at, length, advice);
}

// ---- the main loop

static int poll_now(struct pollfd *fds, nfds_t count, const sigset_t *mask) {
    static const struct timespec zero;
    return real.ppoll(fds, count, &zero, mask);
}

// Sleeps in host time until one of the descriptors, or the clock's own, is ready.
static int poll_with_wakeup(struct pollfd *fds, nfds_t count, const struct timespec *limit,
                            const sigset_t *mask) {
    struct pollfd all[MAX_FDS + 2];
    memcpy(all, fds, count * sizeof *fds);
    all[count] = (struct pollfd){clock_wakeup_fd(), POLLIN, 0};
    all[count + 1] = (struct pollfd){forks_socket(), POLLIN, 0}; // -1 is ignored
    int result = real.ppoll(all, count + 2, limit, mask);
    int saved = errno;
    memcpy(fds, all, count * sizeof *fds);
    uint64_t drained;
    if (result > 0 && all[count].revents) {
        (void)!syscall(SYS_read, clock_wakeup_fd(), &drained, sizeof drained);
        result--;
    }
    if (result > 0 && all[count + 1].revents) {
        result--;
        forks_serve();
    }
    errno = saved;
    return result;
}

// Sleeps until the machine grants the main loop its turn. Events from outside the guest wait, like the main
// loop's other work, until every vCPU is stopped.
static void sleep_in_step(struct pollfd *fds, nfds_t count, const sigset_t *mask) {
    bool asked = false;
    while (!clock_main_may_work()) {
        if (clock_held())
            forks_stand();
        int events = poll_with_wakeup(fds, asked ? 0 : count, NULL, mask);
        if (events != 0 && !asked) {
            asked = true;
            clock_main_wants();
        }
    }
}

static int poll_in_step(struct pollfd *fds, nfds_t count, uint64_t span, const sigset_t *mask) {
    uint64_t entered = clock_seen();
    uint64_t deadline = span == LOCKSTEP_NEVER ? LOCKSTEP_NEVER : entered + span;
    for (;;) {
        uint64_t seq = clock_notifications();
        typist_type();
        int result = poll_now(fds, count, mask);
        if (result != 0 || clock_seen() >= deadline)
            return result;
        if (typist_stop(fds, count, mask)) {
            if (!clock_started())
                return 0;
            continue;
        }
        uint64_t typing = typist_next();
        if (clock_main_idle(typing < deadline ? typing : deadline, seq))
            sleep_in_step(fds, count, mask);
    }
}

EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *mask) {
    ready();
    if (!active || !is_main || count > MAX_FDS || holds_big_lock())
        return real.ppoll(fds, count, limit, mask);
    clock_checks.main_polls++;
    if (!clock_started()) {
        int result = poll_with_wakeup(fds, count, limit, mask);
        typist_begin();
        if (result != 0 || !clock_started())
            return result;
    }
    pool_await();
    uint64_t span = limit ? (uint64_t)limit->tv_sec * 1000000000 + (uint64_t)limit->tv_nsec : LOCKSTEP_NEVER;
    return poll_in_step(fds, count, span, mask);
}
