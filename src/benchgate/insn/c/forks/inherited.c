#define _GNU_SOURCE
#include "inherited.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 256

enum kind { KEPT, CLOSED, EVENT, EPOLL, PIPE_IN, PIPE_OUT, WRITTEN, OVERLAY };

static struct one {
    int number, flags, other; // other: the descriptor of a pipe's other end
    enum kind kind;
    uint64_t count; // of an event; position in a file, or its size
    char path[400];
} all[MOST];
static unsigned used;
static char problem[600];

// Whether it is one that is replaced, or that replaces it.
static bool is_in(int number, const struct inherited_given *given) {
    for (unsigned i = 0; i < given->count; i++)
        if (given->number[i] == number || given->descriptor[i] == number)
            return true;
    return false;
}

// The value of a line of /proc/self/fdinfo; `none` if there is no such line.
static uint64_t info(int number, const char *name, int base, uint64_t none) {
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", number);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = file < 0 ? -1 : (ssize_t)syscall(SYS_read, file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[size > 0 ? size : 0] = 0;
    const char *found = strstr(text, name);
    return found ? strtoull(found + strlen(name), NULL, base) : none;
}

static const char *refuse(const struct one *o, const char *why) {
    snprintf(problem, sizeof problem, "descriptor %d (%s) %s", o->number, o->path, why);
    return problem;
}

static const char *fail(const struct one *o, const char *what) {
    const char *next = errno == ENOSPC || errno == EDQUOT ? "; free disk space there" : "";
    const char *reason = strerrordesc_np(errno); // unlike strerror it takes no lock
    char why[200];
    snprintf(why, sizeof why, "%s: %s%s", what, reason ? reason : "the host refuses it", next);
    return refuse(o, why);
}

static const char *look_at_pipe(struct one *o) {
    int bytes = 0;
    o->kind = (o->flags & O_ACCMODE) == O_WRONLY ? PIPE_IN : PIPE_OUT;
    o->other = -1;
    if (o->kind == PIPE_OUT && (ioctl(o->number, FIONREAD, &bytes) != 0 || bytes))
        return refuse(o, "is a pipe with bytes in it");
    return NULL;
}

// QEMU writes what changes on a disk to a file of this name, which it has removed.
static bool is_overlay(const struct one *o, const struct stat *about) {
    const char *name = strrchr(o->path, '/');
    return S_ISREG(about->st_mode) && about->st_nlink == 0 && name && strncmp(name, "/vl.", 4) == 0;
}

// A new file without a name, beside the parent's.
static int another_overlay(const struct one *o) {
    char folder[sizeof o->path];
    memcpy(folder, o->path, sizeof folder);
    *strrchr(folder, '/') = 0;
    return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

static const char *look_at_overlay(struct one *o, const struct stat *about) {
    int probe = another_overlay(o);
    o->kind = OVERLAY;
    o->count = (uint64_t)about->st_size;
    if (probe < 0)
        return refuse(o, "is what a disk's guest wrote, in a folder that has no files without a name");
    close(probe);
    for (unsigned i = 0; i < used; i++)
        if (all[i].kind == OVERLAY && strcmp(all[i].path, o->path) == 0)
            return refuse(o, "is open twice");
    return NULL;
}

static const char *look_at(struct one *o, const char *folder) {
    struct stat about;
    if (strcmp(o->path, "anon_inode:[eventfd]") == 0) {
        o->kind = EVENT;
        o->count = info(o->number, "eventfd-count:", 16, UINT64_MAX);
        return o->count < UINT32_MAX ? NULL : refuse(o, "has no count");
    }
    if (strcmp(o->path, "anon_inode:[eventpoll]") == 0) {
        o->kind = EPOLL;
        return info(o->number, "tfd:", 10, UINT64_MAX) == UINT64_MAX ? NULL : refuse(o, "is not empty");
    }
    if (strncmp(o->path, "pipe:", 5) == 0)
        return look_at_pipe(o);
    if (strcmp(o->path, "anon_inode:[signalfd]") == 0)
        return NULL;
    if (fstat(o->number, &about) != 0 || S_ISSOCK(about.st_mode))
        return refuse(o, "has another end that cannot be shared");
    if (S_ISCHR(about.st_mode) || ((S_ISREG(about.st_mode) || S_ISDIR(about.st_mode)) && (o->flags & O_ACCMODE) == O_RDONLY))
        return NULL;
    if (is_overlay(o, &about))
        return look_at_overlay(o, &about);
    size_t length = strlen(folder);
    if (!S_ISREG(about.st_mode) || strncmp(o->path, folder, length) != 0 || o->path[length] != '/')
        return refuse(o, "cannot be shared, and is no file of this run");
    o->kind = WRITTEN;
    o->count = (uint64_t)lseek(o->number, 0, SEEK_CUR);
    return NULL;
}

static const char *match_pipes(void) {
    for (unsigned i = 0; i < used; i++)
        for (unsigned k = 0; k < used; k++)
            if (all[i].kind == PIPE_IN && all[k].kind == PIPE_OUT && strcmp(all[i].path, all[k].path) == 0) {
                if (all[i].other >= 0 || all[k].other >= 0)
                    return refuse(&all[i], "is a pipe with more than two ends");
                all[i].other = all[k].number;
                all[k].other = all[i].number;
            }
    for (unsigned i = 0; i < used; i++)
        if ((all[i].kind == PIPE_IN || all[i].kind == PIPE_OUT) && all[i].other < 0)
            return refuse(&all[i], "is a pipe whose other end is elsewhere");
    return NULL;
}

const char *inherited_look(const struct inherited_given *given, int kept, int closed, const char *folder) {
    const char *why = NULL;
    DIR *dir = opendir("/proc/self/fd");
    used = 0;
    for (struct dirent *entry; dir && !why && (entry = readdir(dir));) {
        struct one o = {.number = (int)strtol(entry->d_name, NULL, 10)};
        if (entry->d_name[0] == '.' || o.number == dirfd(dir) || is_in(o.number, given))
            continue;
        char link[64];
        snprintf(link, sizeof link, "/proc/self/fd/%d", o.number);
        ssize_t size = readlink(link, o.path, sizeof o.path - 1);
        o.flags = fcntl(o.number, F_GETFL);
        if (used == MOST || size < 0 || o.flags < 0) {
            why = "it has too many descriptors, or one that cannot be looked at";
            break;
        }
        if (o.number == closed)
            o.kind = CLOSED;
        else if (o.number != kept)
            why = look_at(&o, folder);
        all[used++] = o;
    }
    if (dir)
        closedir(dir);
    return why ? why : match_pipes();
}

// Puts a new descriptor in the place of one that is shared with the parent.
static bool place(int fresh, int number) {
    int flags = fcntl(number, F_GETFL), close_on_exec = fcntl(number, F_GETFD);
    bool good = fresh >= 0 && flags >= 0 && dup3(fresh, number, close_on_exec & FD_CLOEXEC ? O_CLOEXEC : 0) >= 0 &&
                fcntl(number, F_SETFL, flags & (O_NONBLOCK | O_APPEND)) == 0;
    close(fresh);
    return good;
}

static bool copy_part(int file, int into, off_t at, off_t end) {
    ssize_t some = lseek(into, at, SEEK_SET) == at;
    while (some > 0 && at < end)
        some = sendfile(into, file, &at, (size_t)(end - at));
    return at == end;
}

// With the holes that it has.
static bool copy(const char *from, int into, uint64_t size) {
    int file = open(from, O_RDONLY | O_CLOEXEC);
    off_t whole = (off_t)size;
    bool good = file >= 0 && ftruncate(into, whole) == 0;
    for (off_t at = 0, end; good && at < whole; at = end) {
        off_t data = lseek(file, at, SEEK_DATA);
        bool hole = data < 0 ? errno == ENXIO : data >= whole;
        end = hole ? whole : lseek(file, data, SEEK_HOLE);
        good = hole || (data >= 0 && end > data && copy_part(file, into, data, end < whole ? end : whole));
    }
    if (file >= 0)
        close(file);
    return good && lseek(into, 0, SEEK_END) == whole;
}

static bool place_overlay(const struct one *o) {
    char path[64];
    int fresh = another_overlay(o);
    snprintf(path, sizeof path, "/proc/self/fd/%d", o->number);
    return fresh >= 0 && copy(path, fresh, o->count) && place(fresh, o->number);
}

static bool replace(const struct one *o) {
    int ends[2];
    switch (o->kind) {
    case CLOSED:
        return close(o->number) == 0;
    case EVENT:
        return place(eventfd((unsigned)o->count, 0), o->number);
    case EPOLL:
        return place(epoll_create1(0), o->number);
    case PIPE_IN:
        return pipe2(ends, 0) == 0 && place(ends[1], o->number) && place(ends[0], o->other);
    case OVERLAY:
        return place_overlay(o);
    default:
        return true;
    }
}

const char *inherited_replace(const struct inherited_given *given) {
    for (unsigned i = 0; i < given->count; i++)
        if (!place(given->descriptor[i], given->number[i]))
            return "a descriptor cannot take its place";
    for (unsigned i = 0; i < used; i++)
        if (!replace(&all[i]))
            return fail(&all[i], "cannot be made again");
    return NULL;
}

const char *inherited_move(const char *from, const char *folder) {
    for (unsigned i = 0; i < used; i++) {
        const struct one *o = &all[i];
        char path[sizeof o->path + 400];
        if (o->kind != WRITTEN)
            continue;
        snprintf(path, sizeof path, "%s%s", folder, o->path + strlen(from));
        // Not to append, so that sendfile works.
        int fresh = open(path, O_CREAT | O_TRUNC | O_CLOEXEC | (o->flags & O_ACCMODE), 0644);
        if (fresh < 0 || !copy(o->path, fresh, o->count) || !place(fresh, o->number))
            return fail(o, "cannot be written in the folder of the new run");
    }
    return NULL;
}
