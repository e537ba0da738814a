#define _GNU_SOURCE
#include "given.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 16
#define MOST_PATH 4096

static struct {
    void *at;
    size_t length;
    int flags, file; // QEMU keeps it open
} mapped[MOST];
static unsigned used; // more than MOST: some are not known

void given_mapped(void *at, size_t length, int flags, int file) {
    if (file < 0 || !(flags & MAP_PRIVATE))
        return;
    if (used < MOST) {
        mapped[used].at = at;
        mapped[used].length = length;
        mapped[used].flags = flags;
        mapped[used].file = file;
    }
    used++;
}

static bool map_again(unsigned i, const char *path) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about;
    // Not by the plugin's own mmap (libc.c): to QEMU it is the same memory.
    bool good = file >= 0 && fstat(file, &about) == 0 && (size_t)about.st_size == mapped[i].length &&
                syscall(SYS_mmap, mapped[i].at, mapped[i].length, PROT_READ | PROT_WRITE, mapped[i].flags, file,
                        0) == (long)mapped[i].at &&
                dup3(file, mapped[i].file, O_CLOEXEC) >= 0;
    if (file >= 0)
        close(file);
    return good;
}

const char *given_memory(const char *folder) {
    char link[64], old[MOST_PATH], path[MOST_PATH];
    if (used > MOST)
        return "it has more files for its memory than are known";
    for (unsigned i = 0; i < used; i++) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", mapped[i].file);
        ssize_t size = readlink(link, old, sizeof old - 1);
        old[size > 0 ? size : 0] = 0;
        const char *name = strrchr(old, '/');
        if (!name || snprintf(path, sizeof path, "%s%s", folder, name) >= (int)sizeof path)
            return "a file of its memory has no name";
        if (strcmp(path, old) != 0 && !map_again(i, path))
            return "the memory of the snapshot cannot be mapped";
    }
    return NULL;
}

// QEMU's, which only some builds export.
static void *(*find_device)(void);
static void *(*modify)(void *device, const char *name, void *content, size_t length);

bool given_takes_files(void) {
    void *found[] = {dlsym(RTLD_DEFAULT, "fw_cfg_find"), dlsym(RTLD_DEFAULT, "fw_cfg_modify_file")};
    memcpy(&find_device, &found[0], sizeof find_device); // a function pointer has the same size here
    memcpy(&modify, &found[1], sizeof modify);
    return find_device && modify;
}

const char *given_file(const char *name, const char *path) {
    struct stat about;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool good = file >= 0 && fstat(file, &about) == 0;
    size_t length = good ? (size_t)about.st_size : 0, done = 0;
    char *content = good ? malloc(length + 1) : NULL;
    for (ssize_t some = 1; content && done < length && some > 0; done += some > 0 ? (size_t)some : 0)
        some = read(file, content + done, length - done);
    if (file >= 0)
        close(file);
    void *device = find_device();
    if (!content || done < length || !device)
        return "a file that its guest is given cannot be read";
    free(modify(device, name, content, length));
    return NULL;
}
