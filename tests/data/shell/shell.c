// PID 1 of a Linux guest with a prompt, for tests: each line that is typed is a manifest for /bench, which reads
// it in place of the kernel's command line. `halt` turns the machine off.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define MANIFEST "/manifest"
#define SETTLE_MS 100 // Linux's own work after its boot is not in the window

static void need(int result, const char *what) {
    if (result >= 0)
        return;
    printf("shell: %s: %m\n", what);
    fflush(stdout);
    tcdrain(STDOUT_FILENO);
    reboot(RB_AUTOBOOT);
    _exit(1);
}

static void open_console(void) {
    mkdir("/dev", 0755);
    mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
    int fd = open("/dev/console", O_RDWR);
    for (int i = 0; i < 3; i++)
        dup2(fd, i);
}

static void obey(const char *manifest) {
    int fd = open(MANIFEST, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    need((int)write(fd, manifest, strlen(manifest)), MANIFEST);
    close(fd);
    const struct timespec settle = {0, SETTLE_MS * 1000000l};
    nanosleep(&settle, NULL);
    pid_t child = fork();
    if (child == 0) {
        execl("/bench", "/bench", (char *)NULL);
        _exit(127);
    }
    int status;
    need(waitpid(child, &status, 0), "waitpid");
    if (status != 0)
        printf("shell: bench ended with %d\n", status);
}

int main(void) {
    open_console();
    mkdir("/proc", 0755);
    mkdir("/sys", 0755);
    need(mount("proc", "/proc", "proc", 0, NULL), "/proc");
    need(mount("sysfs", "/sys", "sysfs", 0, NULL), "/sys");
    need(close(open(MANIFEST, O_WRONLY | O_CREAT, 0644)), MANIFEST);
    need(mount(MANIFEST, "/proc/cmdline", NULL, MS_BIND, NULL), "/proc/cmdline");
    printf("shell: %ld CPUs up\n", sysconf(_SC_NPROCESSORS_ONLN));
    static char line[4096];
    for (;;) {
        printf("$ ");
        fflush(stdout);
        if (fgets(line, sizeof line, stdin) == NULL || strcmp(line, "halt\n") == 0)
            break;
        obey(line);
    }
    printf("shell: halts\n");
    fflush(stdout);
    tcdrain(STDOUT_FILENO);
    reboot(RB_POWER_OFF);
}
