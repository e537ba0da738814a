#define _GNU_SOURCE
#include "forks.h"

#include "carrier.h"
#include "clock.h"
#include "delays.h"
#include "inherited.h"
#include "journal.h"
#include "libc.h"
#include "parking.h"
#include "rehearsal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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
#define MOST_READ 4
#define WORDS "/words"
#define PATIENCE 10000 // looks, a ms apart, until the vCPUs are at rest

static int host = -1;
static char mark[MOST_MARK + 1], folder[MOST_PATH];
static char own[MOST_PATH]; // a fork's folder
static void (*begins)(uint64_t seed);
static struct {
    char *content;
    size_t length;
} words[MOST_READ];
static unsigned reads;

struct request {
    int birth; // the child's socket
    uint64_t seed;
    bool asks; // whether it could be forked
    char mark[MOST_MARK + 1], folder[MOST_PATH];
    struct inherited_given given;
    int attached[INHERITED_MOST + 1]; // all descriptors that came; the first is `birth`
};

const char *forks_setup(int socket, const char *given, const char *log, void (*called)(uint64_t)) {
    const char *slash = strrchr(log, '/');
    if (!given || strlen(given) > MOST_MARK || strlen(given) < 8 || !slash || slash - log >= MOST_PATH)
        return "a template has a mark of 8 to 64 characters, and its log an absolute path";
    if (fcntl(socket, F_SETFD, FD_CLOEXEC) != 0)
        return "the descriptor of option forks is not open";
    memcpy(folder, log, (size_t)(slash - log));
    memcpy(mark, given, strlen(given));
    begins = called;
    host = socket;
    return parking_setup();
}

int forks_socket(void) {
    return host;
}

const char *forks_place(const char *path) {
    static char moved[2 * MOST_PATH];
    size_t length = strlen(folder);
    if (!*own || strncmp(path, folder, length) != 0 || path[length] != '/')
        return path;
    snprintf(moved, sizeof moved, "%s%.*s", own, MOST_PATH - 1, path + length);
    return moved;
}

void forks_read(const char *path, char *content, size_t length) {
    size_t length_of_folder = strlen(folder);
    if (host >= 0 && reads < MOST_READ && strncmp(path, folder, length_of_folder) == 0 &&
        strcmp(path + length_of_folder, WORDS) == 0) {
        words[reads].content = content;
        words[reads++].length = length;
    }
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

static bool read_text(struct request *r, char *text, unsigned descriptors) {
    char kind[5], numbers[100];
    int at = 0;
    if (sscanf(text, "%4s %" SCNu64 " %64s %99s %n", kind, &r->seed, r->mark, numbers, &at) != 4 || !at)
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
    return r->given.count + 1 == descriptors;
}

// Gives how many descriptors came; -1: there is no request.
static int receive(struct request *r, char *text, size_t size) {
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
    text[got] = 0;
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
    int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? 0 : (ssize_t)syscall(SYS_read, file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[size > 0 ? size : 0] = 0;
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

static void begin(const struct request *r) {
    memcpy(own, r->folder, sizeof own);
    const char *why = inherited_move(folder, own);
    if (!why && !journal_again())
        why = "its log cannot be begun again";
    if (!why)
        why = clock_reseed(r->seed);
    if (!why)
        why = delays_again();
    if (why)
        fail(r, why);
    begins(r->seed);
    for (unsigned i = 0; i < reads; i++)
        exchange(words[i].content, words[i].length, r->mark);
    exchange_command(r->mark);
    clock_watch_look();
    say(r->birth, "ready");
    close(r->birth);
}

static void be_born(struct request *r, pid_t parent) {
    host = -1;
    rehearsal_forked();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(JOURNAL_EXIT_REFUSED);
    setpgid(0, 0);
    say(r->birth, "pid %d", (int)getpid());
    const char *why = inherited_replace(&r->given);
    if (why)
        fail(r, why);
    parking_revive();
    begin(r);
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
    if (!why && !libc_give_memory())
        why = "the guest's memory cannot be given to a fork";
    if (!why && !rehearsal_translate())
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
    parking_go();
    if (r->asks)
        say(r->birth, "yes");
    else if (child < 0)
        say(r->birth, "refused the host makes no process: %s", strerror(error));
}

void forks_serve(void) {
    struct request r;
    char text[MOST_PATH + 300];
    memset(&r, 0, sizeof r);
    int count = host < 0 ? -1 : receive(&r, text, sizeof text);
    if (count < 0)
        return;
    r.birth = r.attached[0];
    if (count > 0 && read_text(&r, text, (unsigned)count))
        answer(&r);
    else if (count > 0)
        say(r.birth, "refused the request has another form");
    for (int i = 0; host >= 0 && i < count; i++) // in a child they are gone
        close(r.attached[i]);
}
