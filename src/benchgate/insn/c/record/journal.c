#define _GNU_SOURCE
#include "journal.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int journal = -1;

bool journal_open(const char *path) {
    journal = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
    return journal >= 0;
}

// Uses the system call because `write` is this plugin's own (libc.c).
static void put(int fd, const char *line, size_t length) {
    if (fd >= 0)
        (void)!syscall(SYS_write, fd, line, length);
}

bool journal_again(void) {
    return ftruncate(journal, 0) == 0;
}

static off_t head; // the length of the header

void journal_headed(void) {
    head = lseek(journal, 0, SEEK_END);
}

// Not every descriptor of the log can be read, so `path` is opened.
bool journal_head_again(const char *path, void (*write_header)(void)) {
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool good = file >= 0 && fstat(file, &about) == 0 && about.st_size >= head;
    size_t length = good ? (size_t)(about.st_size - head) : 0;
    char *rest = malloc(length + 1);
    good = good && rest && pread(file, rest, length, head) == (ssize_t)length && journal_again();
    if (file >= 0)
        close(file);
    if (good) {
        write_header();
        put(journal, rest, length);
    }
    free(rest);
    return good;
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
