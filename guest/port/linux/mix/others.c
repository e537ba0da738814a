// CPU time of what is in no part, the conductor aside: the kernel's threads and PID 1.
//
// Sums the clocks of these tasks, one by one. The root's own counter would be simpler, but the kernel fills
// it by sampling at its ticks.
#include "mix.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KTHREADD 2 // the parent of all threads of the kernel
#define TEXT_BYTES 512

static int contents(const char *task, const char *file, char *text) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%.20s/%s", task, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, TEXT_BYTES - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

// `PID (NAME) STATE PARENT ...`: a name may have spaces and brackets.
static int parent_of(const char *task) {
    char text[TEXT_BYTES];
    int parent = -1;
    const char *after = contents(task, "stat", text) ? strrchr(text, ')') : NULL;
    return after != NULL && sscanf(after + 1, " %*c %d", &parent) == 1 ? parent : -1;
}

int64_t others_cpu(pid_t conductor) {
    char text[TEXT_BYTES];
    int64_t sum = 0;
    DIR *tasks = opendir("/proc");
    const struct dirent *task;
    if (tasks == NULL)
        return NONE;
    while ((task = readdir(tasks)) != NULL) {
        int pid = atoi(task->d_name);
        if (pid < 1 || pid == conductor || (pid > conductor && parent_of(task->d_name) != KTHREADD))
            continue;
        int64_t ran = contents(task->d_name, "schedstat", text) ? plan_number(text) : 0;
        if (ran == NONE) {
            sum = NONE;
            break;
        }
        sum += ran;
    }
    closedir(tasks);
    return sum;
}
