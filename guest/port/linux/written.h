// Writes a small file of /proc, /sys or a control group, at once. For PID 1 and for the conductor of a mix.
#ifndef BENCH_LINUX_WRITTEN_H
#define BENCH_LINUX_WRITTEN_H

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

// 0: it was not, and errno says why.
static int written(const char *path, const char *value) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    int good = fd >= 0 && write(fd, value, strlen(value)) == (ssize_t)strlen(value);
    if (fd >= 0)
        close(fd);
    return good;
}

#endif
