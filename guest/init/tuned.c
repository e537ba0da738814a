// Makes a system's settings, and shows what the kernel made of them (tuned.h).
#define _GNU_SOURCE
#include "init/tuned.h"

#include "init/scx.h"
#include "port/linux/written.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>

#define LIST "/settings"
#define MOST_FILES 64
#define LONGEST 2048 // the features of the scheduler are the longest text that is compared
#define MOST_SEVERE '5' // of the kernel's log: notices, warnings and errors

static struct {
    char *setting, *path, *value; // value: NULL if it is not written
    char before[LONGEST];
} files[MOST_FILES];
static int count;

static const char *const mounted[][2] = {
    {"debugfs", "/sys/kernel/debug"},
    {"tracefs", "/sys/kernel/tracing"},
};

// Reads the list; its text stays, because the entries point into it.
static void read_list(void) {
    static char text[16384];
    char *place;
    int fd = open(LIST, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    for (char *line = strtok_r(text, "\n", &place); line != NULL && count < MOST_FILES;
         line = strtok_r(NULL, "\n", &place), count++) {
        files[count].setting = strsep(&line, " ");
        files[count].path = strsep(&line, " ");
        files[count].value = line;
    }
}

// Mounts the file system that a path is in. If the kernel has none, the file is missing, which is said of it.
static void mount_for(const char *path) {
    for (size_t i = 0; i < sizeof mounted / sizeof *mounted; i++)
        if (strncmp(path, mounted[i][1], strlen(mounted[i][1])) == 0)
            mount(mounted[i][0], mounted[i][1], mounted[i][0], 0, NULL);
}

static int in_word(char character) {
    return isalnum((unsigned char)character) || character == '_';
}

// True if the text has this word, in any case.
static int has_word(const char *text, const char *word) {
    for (const char *at = text; (at = strcasestr(at, word)) != NULL; at++)
        if ((at == text || !in_word(at[-1])) && !in_word(at[strlen(word)]))
            return 1;
    return 0;
}

// True if the text begins with what every kernel says of itself, whatever its settings are.
static int is_banner(const char *text) {
    return strncmp(text, "Linux version ", 14) == 0 || strncmp(text, "Kernel command line: ", 21) == 0;
}

// Prints what is severe in the kernel's log and has the name of a setting: why the kernel did not take it.
static void print_log(void) {
    char record[2048];
    int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = 0;
    while (fd >= 0 && ((n = read(fd, record, sizeof record - 1)) > 0 || errno == EPIPE)) {
        record[n > 0 ? n : 0] = 0;
        char *text = strchr(record, ';');
        if (text == NULL || record[1] != ',' || record[0] > MOST_SEVERE || is_banner(++text))
            continue;
        text[strcspn(text, "\n")] = 0;
        for (int i = 0, said = 0; i < count && !said; i++)
            if ((said = has_word(text, files[i].setting)))
                dprintf(STDOUT_FILENO, "benchset said: %s\n", text);
    }
    if (fd >= 0)
        close(fd);
}

// Reads a file as one line; a `=` before its text, or a `!` before the reason why it cannot be read.
static void look(const char *path, char *shown) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, shown + 2, LONGEST - 3);
    if (n < 0) {
        snprintf(shown, LONGEST, "! %s", strerror(errno));
    } else {
        memcpy(shown, "= ", 2);
        shown[n + 2] = 0;
        for (char *at = shown; *at; at++)
            if (isspace((unsigned char)*at))
                *at = ' ';
    }
    if (fd >= 0)
        close(fd);
}

int tuned_start(void) {
    read_list();
    for (int i = 0; i < count; i++) {
        mount_for(files[i].path);
        if (files[i].value == NULL || written(files[i].path, files[i].value))
            continue;
        int error = errno;
        print_log();
        dprintf(STDOUT_FILENO, "benchfail: init: %s: %s: %s\n", files[i].path, files[i].value, strerror(error));
        return 0;
    }
    return access("/scx", F_OK) != 0 || scx_start();
}

void tuned_before(void) {
    for (int i = 0; i < count; i++)
        look(files[i].path, files[i].before);
    if (access("/scx", F_OK) == 0)
        scx_before();
}

void tuned_after(void) {
    static char now[MOST_FILES][LONGEST];
    for (int i = 0; i < count; i++)
        look(files[i].path, now[i]);
    if (access("/scx", F_OK) == 0)
        scx_after();
    print_log();
    for (int i = 0; i < count; i++)
        dprintf(STDOUT_FILENO, "benchset at=begin %s %s\n", files[i].path, files[i].before);
    for (int i = 0; i < count; i++)
        dprintf(STDOUT_FILENO, "benchset at=end %s %s\n", files[i].path, now[i]);
}
