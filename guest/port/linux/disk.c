// The service `disk` of services.h on Linux: the bytes of a file, and its device.
//
// Takes a file that port_open() gave. Without a device, as on a tmpfs, there is nothing to wait for. A call that
// fails gives the negative error.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "../../services.h"

int port_sync(int file) {
    if (fsync(file) != 0)
        return -errno;
    return -posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED); // whoever reads next finds nothing in memory
}
