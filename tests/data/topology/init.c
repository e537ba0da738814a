/* The first process of a Linux guest: prints what /sys tells of nodes, packages and capacities, and turns the machine off. */
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>

#define PLACE "/sys/devices/system/"

static void show(const char *pattern) {
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char line[256] = "";
        FILE *file = fopen(found.gl_pathv[i], "r");
        if (file != NULL && fgets(line, sizeof line, file) != NULL)
            line[strcspn(line, "\n")] = '\0';
        printf("@ %s = %s\n", found.gl_pathv[i] + strlen(PLACE), line);
        if (file != NULL)
            fclose(file);
    }
    globfree(&found);
}

int main(void) {
    mkdir("/sys", 0755);
    if (mount("sysfs", "/sys", "sysfs", 0, NULL) != 0)
        perror("sysfs");
    show(PLACE "node/node*/cpulist");
    show(PLACE "node/node*/distance");
    show(PLACE "node/node*/meminfo");
    show(PLACE "cpu/cpu*/topology/physical_package_id");
    show(PLACE "cpu/cpu*/topology/cluster_cpus_list");
    show(PLACE "cpu/cpu*/cpu_capacity");
    fflush(stdout);
    reboot(RB_POWER_OFF);
    return 1;
}
