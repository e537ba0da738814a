// The virtio disk of a mix, and the folder of each part that asks for one.
//
// The first disk that comes up is mounted on /disk; the host has made its file system. Without it a part that
// needs a folder could do no work, so that ends the run.
#include "mix.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DISK "/dev/vda"
#define FOLDER "/disk"
#define TRIES 500   // times 2 ms, for the driver to find its disk
#define TYPE "ext4" // the driver; the file system is ext2, which has no journal

static char device[32];

const char *disk_device(void) {
    return device[0] != 0 ? device : NULL;
}

static int appears(void) {
    const struct timespec pause = {0, 2000000};
    for (int i = 0; i < TRIES; i++, nanosleep(&pause, NULL))
        if (access(DISK, F_OK) == 0)
            return 1;
    return 0;
}

void disk_open(void) {
    char line[32] = "";
    if (disk_device() != NULL)
        return;
    if (module_load("virtio_blk").why != NULL || !appears())
        port_fail("this kernel brings up no virtio disk (module virtio_blk), which a part needs");
    mkdir(FOLDER, 0755);
    if (mount(DISK, FOLDER, TYPE, MS_NOATIME, NULL) != 0)
        port_fail("this kernel cannot mount the disk (ext2, by its driver ext4), which a part needs");
    FILE *file = fopen("/sys/block/vda/dev", "re");
    if (file == NULL || fscanf(file, "%31s", line) != 1)
        port_fail("this kernel does not say the number of its disk");
    fclose(file);
    snprintf(device, sizeof device, "%s", line);
}

void disk_make(struct part *one) {
    char path[32];
    snprintf(path, sizeof path, FOLDER "/%u", one->id);
    if (mkdir(path, 0700) != 0 || chown(path, UID_FIRST + one->id, UID_FIRST + one->id) != 0)
        mix_fail("its folder on the disk cannot be made", one->id);
}
