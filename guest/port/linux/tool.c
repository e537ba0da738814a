// Runs an existing program as a workload: the one worker executes it and waits, and the report has what it
// printed, stdout and stderr in one stream.
//
// Takes the command from the generated file (tool.h) and the program's files from /tool, or on a host from the
// folder BENCHGATE_TOOL. Gives `exit` (128 + N after signal N) and `left` (1: a process of the program was
// still running after it had ended) per worker, and one output line per 192 bytes of what it printed. Fails if
// the command cannot be made or if the program printed more than OUTPUT_MOST.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../output.h"
#include "port.h"
#include "tool.h"

#define OUTPUT_MOST 65536
#define ARGUMENTS_MOST 64
#define ARGUMENT_BYTES 8192
#define LEFT_TRIES 50 // times 2 ms, for children that the program has not waited for but that are about to end

const char *const tool_tasks[] = {NULL};
const char *const tool_values[] = {"exit", "left", NULL};

static char argument_text[ARGUMENT_BYTES];
static size_t argument_used;
static char *argument[ARGUMENTS_MOST + 1];
static char temporary[ARGUMENT_BYTES] = "TMPDIR="; // and the folder in which the program runs
static int output = -1;

// ---- the command

static int put(const char *text, size_t length) {
    if (length >= sizeof argument_text - argument_used)
        return -1;
    memcpy(argument_text + argument_used, text, length);
    argument_used += length;
    return 0;
}

// The value of `{name}`; NULL if there is none.
static const char *value_of(const char *name, size_t length) {
    char key[33];
    if (length >= sizeof key)
        return NULL;
    memcpy(key, name, length);
    key[length] = 0;
    if (strcmp(key, "tool") != 0)
        return bench_param(key);
    const char *folder = port_is_guest ? NULL : getenv("BENCHGATE_TOOL");
    return folder != NULL ? folder : "/tool";
}

// One word of the command with its placeholders replaced; NULL if that fails.
static char *filled(const char *word) {
    char *start = argument_text + argument_used;
    while (*word != 0) {
        const char *close = *word == '{' ? strchr(word, '}') : NULL;
        const char *value = close == NULL ? NULL : value_of(word + 1, (size_t)(close - word) - 1);
        if (close != NULL && value == NULL)
            return NULL;
        if (put(value == NULL ? word : value, value == NULL ? 1 : strlen(value)) != 0)
            return NULL;
        word = close == NULL ? word + 1 : close + 1;
    }
    return put("", 1) == 0 ? start : NULL;
}

// ---- before the window

// On a host the program runs in TMPDIR. A guest has neither of these folders, and programs expect both.
static const char *find_folder(void) {
    const char *folder = port_is_guest ? "/tmp" : getenv("TMPDIR");
    if (folder == NULL || strlen(folder) >= sizeof temporary - sizeof "TMPDIR=")
        return "TMPDIR does not name a folder in which the program can run";
    strcat(temporary, folder);
    if (!port_is_guest)
        return NULL;
    mkdir("/tmp", 01777);
    mkdir("/dev/shm", 01777);
    return mount("tmpfs", "/dev/shm", "tmpfs", 0, NULL) == 0 ? NULL : "/dev/shm cannot be mounted";
}

const char *tool_prepare(struct bench_job *job) {
    unsigned count = 0;
    job->workers = 1; // the program starts its own threads and processes
    for (; tool_run[count] != NULL; count++)
        if (count == ARGUMENTS_MOST || (argument[count] = filled(tool_run[count])) == NULL)
            return "the program's command is too long, or has a {name} that is not in the manifest";
    output = memfd_create("output", MFD_CLOEXEC);
    if (output < 0 || fcntl(output, F_SETFL, O_APPEND) != 0)
        return "no memory for the program's output";
    return find_folder();
}

// ---- the window

static _Noreturn void become_program(pid_t coordinator) {
    char *environment[] = {"LC_ALL=C", "HOME=/", "PATH=/tool/bin:/usr/bin:/bin", temporary, NULL};
    cpu_set_t cpus;
    // The worker may be pinned to one CPU. The program gets those of the coordinator, which are all.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || sched_getaffinity(coordinator, sizeof cpus, &cpus) != 0 ||
        sched_setaffinity(0, sizeof cpus, &cpus) != 0)
        _exit(126);
    int null = open("/dev/null", O_RDONLY);
    if (null < 0 || dup2(null, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0)
        _exit(126);
    if (chdir(temporary + strlen("TMPDIR=")) == 0)
        execve(argument[0], argument + 1, environment);
    dprintf(2, "%s cannot be run: %s\n", argument[0], strerror(errno));
    _exit(127);
}

// Ends the children of this process. Theirs become its own, so this is repeated until there are none.
static void end_children(void) {
    char path[64];
    int child;
    snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "re");
    while (file != NULL && fscanf(file, "%d", &child) == 1)
        kill(child, SIGKILL);
    if (file != NULL)
        fclose(file);
}

// Waits for processes that the program started and did not wait for; they are this one's now. Returns 1 if one
// of them had to be ended.
static uint64_t reap_rest(void) {
    for (int i = 0; i < LEFT_TRIES; i++) {
        pid_t ended;
        while ((ended = waitpid(-1, NULL, WNOHANG)) > 0)
            ;
        if (ended < 0)
            return 0;
        const struct timespec pause = {0, 2000000};
        nanosleep(&pause, NULL);
    }
    do
        end_children();
    while (waitpid(-1, NULL, 0) > 0);
    return 1;
}

void tool_work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    (void)job;
    (void)worker;
    int status = 0;
    pid_t coordinator = getppid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t program = fork();
    if (program == 0)
        become_program(coordinator);
    while (program > 0 && waitpid(program, &status, 0) < 0 && errno == EINTR)
        ;
    if (program < 0)
        port_fail("the program could not be started");
    slot->value[0] = WIFEXITED(status) ? (uint64_t)WEXITSTATUS(status) : 128u + (uint64_t)WTERMSIG(status);
    slot->value[1] = reap_rest();
}

// ---- the report

unsigned tool_result(struct bench_job *job, struct bench_field *fields) {
    static unsigned char text[OUTPUT_MOST + 1];
    (void)job;
    ssize_t length = pread(output, text, sizeof text, 0);
    if (length < 0 || length > OUTPUT_MOST)
        port_fail("the program printed more than 65536 bytes");
    report_output(text, (size_t)length);
    fields[0] = (struct bench_field){"printed", (uint64_t)length, 0};
    return 1;
}
