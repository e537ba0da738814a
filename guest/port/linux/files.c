// The services of services.h on Linux that other systems may lack: files (tmpfs) and signals.
//
// Takes paths that port_file() gave, or that of a device. A call that fails gives the negative error. A file
// that cannot be made gives NULL. For a workload that needs a disk, bench.disk=PATH in the manifest is a folder
// for its files, in place of the tmpfs; whoever starts the program has made it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../services.h"
#include "port.h"

#define FOLDER "/dev/shm" // a tmpfs: on a host by convention, in a guest because port_file() mounts it

#ifdef BENCH_NEEDS_DISK
#define PATH_BYTES 256
static const char *disk(void) {
    return bench_param("disk");
}
#else
#define PATH_BYTES 64
static const char *disk(void) {
    return NULL;
}
#endif

// ---- files. Those of one run have the coordinator's number in their names, so that runs do not share any.

static pid_t maker;
static unsigned files;

static void path_of(unsigned number, char *path) {
    if (disk() == NULL)
        snprintf(path, PATH_BYTES, FOLDER "/benchgate-%d-%u", (int)maker, number);
    else if (snprintf(path, PATH_BYTES, "%s/benchgate-%d-%u", disk(), (int)maker, number) >= PATH_BYTES)
        path[0] = 0; // there is no such file
}

// Only a run that uses files mounts it, so that others boot as before.
static int make_folder(void) {
    if (!port_is_guest || maker != 0 || disk() != NULL)
        return 0;
    if (mkdir(FOLDER, 0755) != 0 && errno != EEXIST)
        return -errno;
    return mount("tmpfs", FOLDER, "tmpfs", 0, NULL) == 0 ? 0 : -errno;
}

const char *port_file(size_t bytes) {
    char *path = port_shared(PATH_BYTES);
    if (path == NULL || make_folder() != 0)
        return NULL;
    maker = getpid();
    path_of(files, path);
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return NULL;
    files++;
    int made = ftruncate(file, (off_t)bytes);
    close(file);
    return made == 0 ? path : NULL;
}

void port_files_end(void) {
    char path[PATH_BYTES];
    for (; files > 0 && getpid() == maker; files--) {
        path_of(files - 1, path);
        unlink(path);
    }
}

int port_open(const char *path) {
    int file = open(path, O_RDWR | O_CLOEXEC);
    return file < 0 ? -errno : file;
}

int port_close(int file) {
    return close(file) == 0 ? 0 : -errno;
}

int64_t port_read(int file, void *bytes, size_t length) {
    ssize_t n = read(file, bytes, length);
    return n < 0 ? -errno : n;
}

int64_t port_write(int file, const void *bytes, size_t length) {
    ssize_t n = write(file, bytes, length);
    return n < 0 ? -errno : n;
}

int64_t port_size(const char *path) {
    struct stat found;
    return stat(path, &found) == 0 ? found.st_size : -errno;
}

// ---- signals

static volatile sig_atomic_t handled;
static pid_t me;

static void handle(int number) {
    (void)number;
    handled++;
}

void port_signal_ready(void) {
    struct sigaction action = {.sa_handler = handle};
    me = getpid();
    if (sigaction(SIGUSR1, &action, NULL) != 0)
        port_fail("sigaction failed");
}

// A process with one thread runs its handler before kill() returns.
uint64_t port_signal(void) {
    kill(me, SIGUSR1);
    return (uint64_t)handled;
}
