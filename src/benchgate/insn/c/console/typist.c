#define _GNU_SOURCE
#include "typist.h"

#include "access.h"
#include "clock.h"
#include "console.h"
#include "journal.h"
#include "polls.h"
#include "talk.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_FDS 512
#define LONG_NS 1000000000
#define LONGEST (2 * TALK_BYTES + 200)

static struct talk talk;
static int host = -1, keys = -1;
static unsigned vcpus;
static void (*begins)(void);
static bool told;           // the host knows of the stop that lasts
static _Atomic bool dozing; // the main loop does not expect the guest to print
static _Atomic bool noted;  // it knows that the guest has printed too much since its last stop

const char *typist_setup(int socket, unsigned count, struct clock_moment start, void (*called)(void)) {
    int ends[2];
    vcpus = count;
    if (fcntl(socket, F_SETFD, FD_CLOEXEC) != 0)
        return "the descriptor of option talk is not open";
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0 || dup3(ends[0], STDIN_FILENO, 0) < 0)
        return "there is no pipe for the console's input";
    close(ends[0]);
    keys = ends[1];
    host = socket;
    begins = called;
    typist_restart(start);
    return NULL;
}

void typist_restart(struct clock_moment start) {
    talk_begin(&talk, start.bytes, start.time);
}

void typist_begin(void) {
    char text[16];
    if (host < 0 || clock_started())
        return;
    ssize_t size = recv(host, text, sizeof text, MSG_DONTWAIT);
    if (size < 0)
        return;
    if (size != 5 || memcmp(text, "begin", 5) != 0)
        journal_refuse("the host sent an invalid message to a guest that is paused");
    talk.state = TALK_STOPPED;
    begins();
    clock_begin();
}

// The main loop looks at the console only when it expects something. Output that it does not expect begins a
// time after which the guest is quiet, so the main loop must set its alarm anew.
void typist_heard(void) {
    bool full = talk_is_full(&talk, console_bytes()) && !atomic_exchange(&noted, true);
    if ((atomic_exchange(&dozing, false) || full) && clock_self >= 0)
        clock_notify();
}

static void look(void) {
    talk_printed(&talk, console_bytes(), console_last());
}

void typist_type(void) {
    look();
    console_look();
    for (int byte; (byte = talk_take(&talk, clock_here())) >= 0;) {
        uint8_t key = (uint8_t)byte;
        if (syscall(SYS_write, keys, &key, 1) != 1)
            journal_refuse("the guest has left too many typed bytes unread");
    }
}

uint64_t typist_next(void) {
    if (host < 0)
        return TALK_NEVER;
    clock_halted_since();
    atomic_store(&dozing, true);
    look();
    if (talk_has_news(&talk, console_bytes()))
        atomic_store(&dozing, false);
    return talk_next(&talk, console_bytes());
}

static bool is_halted(void) {
    uint64_t since = clock_halted_since(), now = clock_here();
    return since < now && now - since >= LONG_NS;
}

static void tell(void) {
    static const char *const words[] = {"none", "start", "quiet", "full", "late"};
    int unread = 0;
    ioctl(STDIN_FILENO, FIONREAD, &unread);
    char text[LOCKSTEP_MAX + 120], started[LOCKSTEP_MAX + 1] = "";
    bool rests = clock_halted_since() != LOCKSTEP_NEVER;
    for (unsigned c = 0; c < vcpus; c++)
        started[c] = clock_executed(c) ? '1' : '0';
    int size = snprintf(text, sizeof text, "stop %s %" PRIu64 " %" PRIu64 " %zu %d %s",
                        talk.kind == TALK_LATE && is_halted() ? "halted" : words[talk.kind], console_bytes(),
                        clock_here(), (size_t)unread + talk.waiting, rests, started);
    if (send(host, text, (size_t)size, MSG_NOSIGNAL) == size)
        told = true;
    else
        talk_answer(&talk, "free", clock_here());
}

static void listen_to_host(void) {
    char text[LONGEST + 1];
    ssize_t size = recv(host, text, LONGEST, 0);
    text[size > 0 ? size : 0] = 0;
    size_t before = talk.waiting;
    if (!talk_answer(&talk, size > 0 ? text : "free", clock_here()))
        journal_refuse("the host sent an invalid message: %.60s", text);
    if (talk.waiting > before) {
        polls_typed();
        journal_line("typed %" PRIu64 " %zu %" PRIu64 " %" PRIu64, console_bytes(), talk.waiting - before,
                     clock_here(), talk.pace);
    }
    told = false;
    atomic_store(&noted, false);
}

bool typist_stop(struct pollfd *fds, nfds_t count, const sigset_t *mask) {
    if (host < 0 ||
        (talk.state != TALK_STOPPED && talk_stop(&talk, console_bytes(), clock_here()) == TALK_NONE))
        return false;
    if (!told)
        tell();
    struct pollfd all[MOST_FDS + 1];
    clock_main_asks(true);
    while (talk.state == TALK_STOPPED) {
        memcpy(all, fds, count * sizeof *fds);
        all[count] = (struct pollfd){host, POLLIN, 0};
        long ready = syscall(SYS_ppoll, all, count + 1, NULL, mask, _NSIG / 8);
        if (ready > 0 && all[count].revents)
            listen_to_host();
        else
            break;
    }
    clock_main_asks(false);
    if (talk.state == TALK_PAUSED) {
        clock_pause();
        access_pause();
    }
    return true;
}
