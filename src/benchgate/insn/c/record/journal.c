#define _GNU_SOURCE
#include "journal.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

static int journal = -1;

bool journal_open(const char *path) {
    journal = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    return journal >= 0;
}

bool journal_again(void) {
    return ftruncate(journal, 0) == 0;
}

// Uses the system call because `write` is this plugin's own (libc.c).
static void put(int fd, const char *line, size_t length) {
    if (fd >= 0)
        (void)!syscall(SYS_write, fd, line, length);
}

size_t journal_line(const char *format, ...) {
    char line[512];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    size_t length = n < 0 ? 0 : (size_t)n < sizeof line - 2 ? (size_t)n : sizeof line - 2;
    line[length++] = '\n';
    put(journal, line, length);
    return length;
}

void journal_refuse(const char *format, ...) {
    char why[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    journal_line("refused %s", why);
    dprintf(STDERR_FILENO, "instruction clock: refused %s\n", why);
    _exit(JOURNAL_EXIT_REFUSED);
}
