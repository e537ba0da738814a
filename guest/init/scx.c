// Starts a scheduler in BPF, and tells the host whether it was in charge (scx.h).
//
// Enabling it takes a second or more: a workload that began earlier would be scheduled by the kernel's own
// scheduler, and nothing in its answers would show it.
#define _GNU_SOURCE
#include "init/scx.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FOLDER "/sys/kernel/sched_ext/"
#define COMMAND "/scx/command"
#define LOG "/scx/log"
#define MOST_WORDS 64
#define STEP_MS 10
#define DEADLINE_MS 60000
#define LEAVE_MS 5000
#define SHOWN_BYTES 2000 // the end of what the program has printed

// The kernel's name of each fact, and ours.
static const struct {
    const char *name, *file;
} facts[] = {
    {"state", FOLDER "state"},           {"ops", FOLDER "root/ops"},
    {"switch_all", FOLDER "switch_all"}, {"enable_seq", FOLDER "enable_seq"},
    {"nr_rejected", FOLDER "nr_rejected"},
};
#define FACTS (sizeof facts / sizeof *facts)

struct facts {
    char values[FACTS][128];
};

static pid_t program;
static struct facts before;

// Reads a small file, without the end of its last line; `none` stands for one that does not exist.
static void read_text(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0) {
        snprintf(text, size, "none");
        return;
    }
    text[n] = 0;
    text[strcspn(text, " \n")] = 0;
}

static void look(struct facts *now) {
    for (size_t i = 0; i < FACTS; i++)
        read_text(facts[i].file, now->values[i], sizeof now->values[i]);
}

static int in_charge(void) {
    struct facts now;
    look(&now);
    return strcmp(now.values[0], "enabled") == 0 && strcmp(now.values[1], "none") != 0;
}

static void print(const char *at, const struct facts *seen) {
    dprintf(STDOUT_FILENO, "benchscx at=%s", at);
    for (size_t i = 0; i < FACTS; i++)
        dprintf(STDOUT_FILENO, " %s=%s", facts[i].name, seen->values[i]);
    dprintf(STDOUT_FILENO, "\n");
}

// Prints the end of what the program has printed: its reason if it has ended, and what it does without.
static void print_log(void) {
    char text[SHOWN_BYTES + 1], *place;
    int fd = open(LOG, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    off_t size = lseek(fd, 0, SEEK_END);
    ssize_t n = pread(fd, text, SHOWN_BYTES, size > SHOWN_BYTES ? size - SHOWN_BYTES : 0);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    for (char *line = strtok_r(text, "\n", &place); line != NULL; line = strtok_r(NULL, "\n", &place))
        dprintf(STDOUT_FILENO, "benchscx said: %s\n", line);
}

static _Noreturn void execute(void) {
    static char text[4096];
    char *words[MOST_WORDS + 1], *const environment[] = {"HOME=/", "PATH=/scx", NULL}, *place;
    int count = 0, fd = open(COMMAND, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    for (char *word = strtok_r(text, "\n", &place); word != NULL && count < MOST_WORDS;
         word = strtok_r(NULL, "\n", &place))
        words[count++] = word;
    words[count] = NULL;
    int log = open(LOG, O_CREAT | O_TRUNC | O_WRONLY | O_APPEND, 0600);
    if (log < 0 || dup2(log, STDOUT_FILENO) < 0 || dup2(log, STDERR_FILENO) < 0 || count == 0)
        _exit(127);
    execve(words[0], words, environment);
    dprintf(STDERR_FILENO, "%s: %s\n", words[0], strerror(errno));
    _exit(127);
}

int scx_start(void) {
    if (access(FOLDER "state", R_OK) != 0) {
        dprintf(STDOUT_FILENO, "benchfail: init: this kernel has no sched_ext (CONFIG_SCHED_CLASS_EXT)\n");
        return 0;
    }
    mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL); // some end without it, as scx_lavd does
    mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL); // and trace nothing without this one
    program = fork();
    if (program == 0)
        execute();
    const struct timespec step = {0, STEP_MS * 1000000};
    int status = 0, ended = 0;
    for (int waited = 0; waited < DEADLINE_MS && !ended && !in_charge(); waited += STEP_MS) {
        ended = program < 0 || waitpid(program, &status, WNOHANG) == program;
        if (!ended)
            nanosleep(&step, NULL);
    }
    if (!ended && in_charge())
        return 1;
    struct facts now;
    look(&now);
    print("start", &now);
    print_log();
    if (ended)
        dprintf(STDOUT_FILENO, "benchfail: init: the scheduler's program ended with status %d before it was in charge\n",
                WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    else
        dprintf(STDOUT_FILENO, "benchfail: init: the scheduler was not in charge after %d s\n",
                DEADLINE_MS / 1000);
    return 0;
}

// The kernel says why a scheduler left when it has left, and that takes a while.
static void let_it_leave(void) {
    const struct timespec step = {0, STEP_MS * 1000000};
    char state[128];
    for (int waited = 0; waited < LEAVE_MS; waited += STEP_MS) {
        read_text(facts[0].file, state, sizeof state);
        if (strcmp(state, "disabling") != 0)
            return;
        nanosleep(&step, NULL);
    }
}

void scx_before(void) {
    look(&before);
}

void scx_after(void) {
    struct facts after;
    look(&after);
    let_it_leave();
    print_log();
    print("begin", &before);
    print("end", &after);
}
