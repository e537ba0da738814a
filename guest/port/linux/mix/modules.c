// Modules of the kernel, from /modules: Debian's kernel has its disk driver, veth and tbf only as modules.
//
// Takes a name such as virtio_blk; gives why it cannot be had. A kernel with the driver built in needs no
// file, so a missing one is no error here: whoever uses the driver notices.
#include "mix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COMPRESSED 4 // MODULE_INIT_COMPRESSED_FILE

static int loaded(const char *path, int flags) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    long status = syscall(SYS_finit_module, file, "", flags);
    int error = errno;
    close(file);
    errno = error;
    return status == 0 || error == EEXIST ? 0 : -1;
}

struct lack module_load(const char *name) {
    static const struct {
        const char *ending;
        int flags;
    } forms[] = {{".ko.xz", COMPRESSED}, {".ko.zst", COMPRESSED}, {".ko", 0}};
    char path[96];
    struct lack lack = {NULL, 0};
    for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
        snprintf(path, sizeof path, "/modules/%s%s", name, forms[i].ending);
        if (loaded(path, forms[i].flags) == 0)
            return (struct lack){NULL, 0};
        if (errno != ENOENT)
            lack = (struct lack){"module", errno};
    }
    return lack;
}
