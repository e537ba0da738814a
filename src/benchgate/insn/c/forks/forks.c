#define _GNU_SOURCE
#include "forks.h"

#include "carrier.h"
#include "clock.h"
#include "delays.h"
#include "divert.h"
#include "given.h"
#include "inherited.h"
#include "journal.h"
#include "kept_back.h"
#include "parking.h"
#include "places.h"
#include "rehearsal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_PATH 400
#define MOST_MARK 64
#define MOST_FILES 4
#define PATIENCE 10000 // looks, a ms apart, until the vCPUs are at rest
#define WEIGHED 16     // so many forks of a template are weighed, and of the others each such one: it takes 1 to 4 ms

static int host = -1;
static char mark[MOST_MARK + 1], folder[MOST_PATH];
static char own[MOST_PATH]; // a fork's folder
static char log_path[MOST_PATH];
static const char *(*begins)(const struct forks_own *);
static void (*goes_on)(void);
static bool stands;
static int waits = -1; // who waits until the machine stands
static unsigned forked; // in a fork: how many were made before it

struct request {
    int birth; // the child's socket
    struct forks_own own;
    struct clock_turn turn; // at: 0, no rule changes
    bool asks; // whether it could be forked
    char mark[MOST_MARK + 1], folder[MOST_PATH];
    unsigned files;
    const char *name[MOST_FILES], *path[MOST_FILES]; // in the request's text
    struct inherited_given given;
    int attached[INHERITED_MOST + 1]; // all descriptors that came; the first is `birth`
};

const char *forks_setup(int socket, const char *given, const char *path,
                        const char *(*called)(const struct forks_own *), void (*called_later)(void)) {
    const char *slash = strrchr(path, '/');
    if (!given || strlen(given) > MOST_MARK || strlen(given) < 8 || !slash || strlen(path) >= MOST_PATH)
        return "a template has a mark of 8 to 64 characters, and its log an absolute path";
    if (fcntl(socket, F_SETFD, FD_CLOEXEC) != 0)
        return "the descriptor of option forks is not open";
    memcpy(folder, path, (size_t)(slash - path));
    memcpy(mark, given, strlen(given));
    memcpy(log_path, path, strlen(path));
    begins = called;
    goes_on = called_later;
    host = socket;
    return parking_setup();
}

int forks_socket(void) {
    return host;
}

// What the host says of this process; empty if it says nothing.
static void read_host(const char *path, char *text, size_t size) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : (ssize_t)syscall(SYS_read, file, text, size - 1);
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = 0;
}

void forks_report(void) {
    char text[2048];
    if (!*own || (forked >= WEIGHED && forked % WEIGHED))
        return;
    read_host("/proc/self/smaps_rollup", text, sizeof text);
    const char *found = strstr(text, "Private_Dirty:");
    if (found)
        journal_line("host private_kib %llu", strtoull(found + strlen("Private_Dirty:"), NULL, 10));
}

// ---- the request

__attribute__((format(printf, 2, 3))) static void say(int socket, const char *format, ...) {
    char text[700];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)!send(socket, text, size < (int)sizeof text ? (size_t)size : sizeof text - 1, MSG_NOSIGNAL);
}

// A machine that has begun takes rules; another one, a seed.
static bool read_rules(struct request *r, const char *text) {
    int end = 0;
    if (!clock_started())
        return sscanf(text, "%" SCNu64 "%n", &r->own.seed, &end) == 1 && !text[end];
    if (strcmp(text, "-") == 0)
        return true;
    return clock_turn_read(text, &r->turn) && r->turn.at == clock_moments().now;
}

// `start TIME:BYTES`, `memory FOLDER` or `file NAME PATH`
static bool read_more(struct request *r, char *text) {
    char *rest = strchr(text, ' ');
    if (!rest)
        return false;
    *rest++ = 0;
    if (strcmp(text, "start") == 0)
        return sscanf(rest, "%" SCNu64 ":%" SCNu64, &r->own.start.time, &r->own.start.bytes) == 2;
    if (strcmp(text, "memory") == 0)
        return *(r->own.snapshot = rest) == '/';
    char *path = strchr(rest, ' ');
    if (strcmp(text, "file") != 0 || !path || r->files == MOST_FILES)
        return false;
    *path++ = 0;
    r->name[r->files] = rest;
    r->path[r->files++] = path;
    return true;
}

static bool is_complete(const struct request *r) {
    return clock_started() || (r->own.start.time && r->own.snapshot);
}

static bool read_text(struct request *r, char *text, size_t length, unsigned descriptors) {
    char kind[5], rules[120], numbers[100];
    int at = 0;
    if (sscanf(text, "%4s %119s %64s %99s %n", kind, rules, r->mark, numbers, &at) != 4 || !at || !read_rules(r, rules))
        return false;
    r->asks = strcmp(kind, "can") == 0;
    if (!r->asks && strcmp(kind, "fork") != 0)
        return false;
    if (strlen(r->mark) != strlen(mark) || text[at] != '/' || strlen(text + at) >= MOST_PATH)
        return false;
    memcpy(r->folder, text + at, strlen(text + at) + 1);
    for (char *next, *one = strtok_r(numbers, ":", &next); one; one = strtok_r(NULL, ":", &next)) {
        if (r->given.count + 1 >= descriptors)
            return false;
        r->given.number[r->given.count] = (int)strtol(one, NULL, 10);
        r->given.descriptor[r->given.count] = r->attached[r->given.count + 1];
        r->given.count++;
    }
    for (char *next, *more = text + strlen(text) + 1; more < text + length; more = next) {
        next = more + strlen(more) + 1;
        if (!read_more(r, more))
            return false;
    }
    return r->given.count + 1 == descriptors && is_complete(r);
}

// Gives how many descriptors came; -1: there is no request.
static int receive(struct request *r, char *text, size_t size, size_t *length) {
    union {
        char bytes[CMSG_SPACE(sizeof(int) * (INHERITED_MOST + 1))];
        struct cmsghdr align;
    } control;
    struct iovec part = {text, size - 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t got = recvmsg(host, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got == 0)
        _exit(0); // nobody will ask any more
    if (got < 0)
        return -1;
    text[*length = message.msg_flags & MSG_TRUNC ? 0 : (size_t)got] = 0; // a part of a request is none
    unsigned count = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
            count = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(r->attached, CMSG_DATA(c), count * sizeof(int));
        }
    return (int)count;
}

// ---- the child

static void exchange(char *text, size_t length, const char *new) {
    for (char *at = text; at && (at = memmem(at, length - (size_t)(at - text), mark, strlen(mark)));)
        memcpy(at, new, strlen(mark));
}

// What other processes see as its command line.
static void exchange_command(const char *new) {
    char text[1024];
    read_host("/proc/self/stat", text, sizeof text);
    char *at = strrchr(text, ')');
    for (int field = 2; at && field < 48; field++)
        at = strchr(at + 1, ' ');
    uintptr_t begin = 0, end = 0;
    if (at && sscanf(at, " %" SCNuPTR " %" SCNuPTR, &begin, &end) == 2 && begin && end > begin)
        exchange((char *)begin, end - begin, new);
}

static void fail(const struct request *r, const char *why) {
    say(r->birth, "failed %s", why);
    dprintf(STDERR_FILENO, "instruction clock: a fork failed: %s\n", why);
    _exit(JOURNAL_EXIT_REFUSED);
}

static void tell_ready(const struct request *r) {
    clock_watch_look();
    say(r->birth, "ready");
}

// The machine goes on when the host has closed its end, and this thread has left forks_stand.
static void go_on(const struct request *r) {
    const char *why = strcmp(r->mark, mark) == 0 ? NULL : "its guest has the mark of the run that is forked";
    if (!why)
        why = delays_from(clock_moments().latest);
    if (!why && !journal_head_again(places_own(log_path), goes_on))
        why = "its log cannot be written again";
    if (why)
        fail(r, why);
    if (r->turn.at)
        clock_turn_at(&r->turn);
    tell_ready(r);
    char nothing;
    while (recv(r->birth, &nothing, 1, 0) < 0 && errno == EINTR)
        ;
}

static void begin(const struct request *r) {
    const char *why = journal_again() ? delays_again() : "its log cannot be begun again";
    if (!why)
        why = given_memory(r->own.snapshot);
    for (unsigned i = 0; i < r->files && !why; i++)
        why = given_file(r->name[i], r->path[i]);
    if (!why)
        why = begins(&r->own);
    divert_flush(true);
    if (why)
        fail(r, why);
    exchange_command(r->mark);
    tell_ready(r);
}

static void be_born(struct request *r, pid_t parent) {
    host = -1;
    rehearsal_forked();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); // it translates little: not 2 MiB are cleared for that
    if (getppid() != parent)
        _exit(JOURNAL_EXIT_REFUSED);
    setpgid(0, 0);
    say(r->birth, "pid %d", (int)getpid());
    const char *why = inherited_replace(&r->given);
    if (why)
        fail(r, why);
    parking_revive();
    memcpy(own, r->folder, sizeof own);
    places_move(folder, own);
    why = inherited_move(folder, own);
    if (why)
        fail(r, why);
    if (clock_started())
        go_on(r);
    else
        begin(r);
    close(r->birth);
}

// ---- the template

static bool are_at_rest(void) {
    for (int look = 0; look < PATIENCE; look++) {
        if (carrier_sleeps())
            return true;
        usleep(1000);
    }
    return false;
}

static void answer(struct request *r) {
    pid_t parent = getppid();
    const char *why = inherited_look(&r->given, r->birth, host, folder);
    if (!why && !kept_back_give())
        why = "the guest's memory cannot be given to a fork";
    if (!why && r->files && !given_takes_files())
        why = "this QEMU does not let the files be replaced that its guest is given";
    if (!why && !clock_started() && !rehearsal_translate())
        why = "its vCPUs do not translate";
    if (!why && !are_at_rest())
        why = "its vCPUs are not at rest";
    if (!why)
        why = parking_stop(carrier_rests);
    if (why) {
        say(r->birth, "refused %s", why);
        return;
    }
    long child = r->asks ? 1 : parking_fork();
    if (child == 0) {
        be_born(r, parent);
        return;
    }
    int error = errno;
    forked += child > 1;
    parking_go();
    if (r->asks)
        say(r->birth, "yes");
    else if (child < 0)
        say(r->birth, "refused the host makes no process: %s", strerror(error));
}

static bool read_hold(const char *text, int count, int socket) {
    uint64_t time;
    int end = 0;
    if (count != 1 || sscanf(text, "hold %" SCNu64 "%n", &time, &end) != 1 || text[end])
        return false;
    waits = fcntl(socket, F_DUPFD_CLOEXEC, 0);
    clock_hold_at(time);
    return waits >= 0;
}

void forks_stand(void) {
    struct clock_moments moments = clock_moments();
    say(waits, "held %" PRIu64 " %" PRIu64, moments.now, moments.latest);
    close(waits);
    waits = -1;
    stands = true;
    clock_main_asks(true);
    while (host >= 0) { // only a fork goes on
        struct pollfd asked = {host, POLLIN, 0};
        syscall(SYS_ppoll, &asked, 1, NULL, NULL, _NSIG / 8);
        forks_serve();
    }
    stands = false;
    clock_main_asks(false);
    clock_go_on();
}

void forks_serve(void) {
    struct request r;
    char text[(2 + MOST_FILES) * (MOST_PATH + 100)];
    size_t length = 0;
    memset(&r, 0, sizeof r);
    int count = host < 0 ? -1 : receive(&r, text, sizeof text, &length);
    if (count < 0)
        return;
    r.birth = r.attached[0];
    if (!stands && clock_started())
        say(r.birth, "refused it runs");
    else if (!stands && read_hold(text, count, r.birth))
        say(r.birth, "yes");
    else if (count > 0 && read_text(&r, text, length, (unsigned)count))
        answer(&r);
    else if (count > 0)
        say(r.birth, "refused the request has another form");
    for (int i = 0; host >= 0 && i < count; i++) // in a child they are gone
        close(r.attached[i]);
}
