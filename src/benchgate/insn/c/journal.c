#define _GNU_SOURCE
#include "journal.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int journal = -1;

bool journal_open(const char *path) {
    journal = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    return journal >= 0;
}

// Uses the system call because `write` is this plugin's own at level full (libc.c).
static void put(int fd, const char *line, size_t length) {
    if (fd >= 0)
        (void)!syscall(SYS_write, fd, line, length);
}

static size_t format_line(char *line, size_t size, const char *prefix, const char *format,
                          va_list arguments) {
    int n = snprintf(line, size - 1, "%s", prefix);
    int k = vsnprintf(line + n, size - 1 - (size_t)n, format, arguments);
    size_t length = (size_t)n + (k > 0 ? (size_t)k : 0);
    if (length > size - 2)
        length = size - 2;
    line[length++] = '\n';
    return length;
}

void journal_line(const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    size_t length = format_line(line, sizeof line, "", format, arguments);
    va_end(arguments);
    put(journal, line, length);
}

void journal_refuse(const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    size_t length = format_line(line, sizeof line, "refused ", format, arguments);
    va_end(arguments);
    put(journal, line, length);
    static const char who[] = "instruction clock: ";
    put(STDERR_FILENO, who, sizeof who - 1);
    put(STDERR_FILENO, line, length);
    _exit(JOURNAL_EXIT_REFUSED);
}
