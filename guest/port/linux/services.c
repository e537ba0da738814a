// The services of services.h on Linux: futex, clock_nanosleep, pipe, fork and munmap.
//
// Takes words in any memory. Timeouts end late by a thread's timer slack, which is 50 us unless something
// changes it: that is how Linux is. Fails by port_fail() if a word is in no memory; returns other errors.
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../services.h"
#include "port.h"

#define NS_PER_S 1000000000u
#define CHANNELS_MAX 256 // a process may have 1024 open files

uint64_t port_hz(void) {
    return NS_PER_S;
}

static struct timespec time_of(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
}

// ---- park: a futex that processes can share as well

int port_wait(uint32_t *word, uint32_t seen, uint64_t timeout_ns) {
    struct timespec limit = time_of(timeout_ns);
    if (syscall(SYS_futex, word, FUTEX_WAIT, seen, timeout_ns == 0 ? NULL : &limit, NULL, 0) == 0)
        return 0;
    if (errno == ETIMEDOUT)
        return -PORT_TIMEOUT;
    if (errno != EAGAIN && errno != EINTR) // the word has changed, or a signal came: the caller looks again
        port_fail("port_wait: the word cannot be waited for");
    return 0;
}

int port_wake(uint32_t *word, unsigned most) {
    unsigned count = most > INT_MAX ? INT_MAX : most;
    return (int)syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

// ---- sleep

void port_sleep_until(uint64_t when) {
    struct timespec until = time_of(when);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

// ---- channel: a pipe, which process workers inherit

static int pipe_of[CHANNELS_MAX][2];
static int channels;

int port_channel(void) {
    if (channels == CHANNELS_MAX)
        return -EMFILE;
    if (pipe(pipe_of[channels]) != 0)
        return -errno;
    return channels++;
}

#ifdef BENCH_NEEDS_NETWORK
int port_channel_of(int file) {
    if (channels == CHANNELS_MAX)
        return -EMFILE;
    pipe_of[channels][0] = pipe_of[channels][1] = file;
    return channels++;
}
#endif

int port_send(int channel, const void *bytes, size_t length) {
    const char *at = bytes;
    while (length > 0) {
        ssize_t n = write(pipe_of[channel][1], at, length);
        if (n < 0 && errno != EINTR)
            return -errno;
        at += n < 0 ? 0 : n;
        length -= n < 0 ? 0 : (size_t)n;
    }
    return 0;
}

int port_receive(int channel, void *bytes, size_t length) {
    char *at = bytes;
    while (length > 0) {
        ssize_t n = read(pipe_of[channel][0], at, length);
        if (n == 0)
            return -EPIPE;
        if (n < 0 && errno != EINTR)
            return -errno;
        at += n < 0 ? 0 : n;
        length -= n < 0 ? 0 : (size_t)n;
    }
    return 0;
}

// ---- processes. A child is forked, so it stays on the CPUs that its worker is pinned to. It dies with the
// thread that made it.

int port_child(void (*body)(uint64_t argument), uint64_t argument) {
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid != 0)
        return pid < 0 ? -errno : pid;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent)
        _exit(1);
    body(argument);
    _exit(0);
}

int port_child_wait(int child) {
    int status;
    while (waitpid(child, &status, 0) != child)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

uint64_t port_process(void) {
    return (uint64_t)syscall(SYS_getpid); // a C library may keep the answer of getpid()
}

// ---- map

int port_unmap(void *at, size_t bytes) {
    return munmap(at, bytes) == 0 ? 0 : -errno;
}
