// /bench of the small nested machine (contrib/nested_kvm/boot.py): loads KVM's modules, runs the QEMU of /argv,
// whose words end with a 0 byte, on the console that it was given, and says how it ended.
//
// Takes from the kernel's command line the parameters of a module,
// `nested.kvm-amd=pause_filter_count=0,npt=1`, how often the guest boots (`nested.times=3`), and
// `nested.count=1`: then it prints how often the guest left, by the exit's reason, as KVM's own tracepoint
// counted. Fails with a line `benchfail: nested: ...` and status 1.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TRACING "/sys/kernel/tracing"
#define EXITS TRACING "/events/kvm/kvm_exit"
#define MOST_WORDS 200

static _Noreturn void fail(const char *what) {
    printf("benchfail: nested: %s: %s\n", what, strerror(errno));
    exit(1);
}

static size_t contents(const char *path, char *to, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, to, size - 1);
    if (n < 0)
        fail(path);
    close(fd);
    to[n] = 0;
    return (size_t)n;
}

// The value of `nested.NAME=VALUE` with spaces for its commas; "" if the word is missing.
static const char *given(const char *name) {
    static char line[4096], key[64];
    snprintf(key, sizeof key, "nested.%s=", name);
    contents("/proc/cmdline", line, sizeof line);
    char *at = strstr(line, key);
    if (at == NULL)
        return "";
    at += strlen(key);
    at[strcspn(at, " \n")] = 0;
    for (char *one = at; *one; one++)
        if (*one == ',')
            *one = ' ';
    return at;
}

static void load(const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/k/%s.ko", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return; // it is part of this kernel, or of no use to it
    if (fd < 0 || syscall(SYS_finit_module, fd, given(name), 0) != 0)
        fail(path);
    close(fd);
}

static void count_exits(void) {
    if (mount("tracefs", TRACING, "tracefs", 0, NULL) != 0)
        fail(TRACING);
    static const char histogram[] = "hist:keys=exit_reason:size=256";
    int fd = open(EXITS "/trigger", O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, histogram, sizeof histogram - 1) < 0)
        fail(EXITS);
    close(fd);
}

static void print_exits(void) {
    FILE *file = fopen(EXITS "/hist", "re");
    if (file == NULL)
        fail(EXITS);
    char line[256];
    unsigned long reason, hits;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "{ exit_reason: %lu } hitcount: %lu", &reason, &hits) == 2)
            printf("nested: exits reason=%lx count=%lu\n", reason, hits);
    fclose(file);
}

static long long now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000ll + now.tv_nsec / 1000;
}

static int run_guest(void) {
    static char text[16384];
    char *words[MOST_WORDS + 1];
    size_t size = contents("/argv", text, sizeof text), count = 0;
    for (char *at = text; at < text + size && count < MOST_WORDS; at += strlen(at) + 1)
        words[count++] = at;
    words[count] = NULL;
    pid_t pid = fork();
    if (pid < 0)
        fail("fork");
    if (pid == 0) {
        char *const environment[] = {"LD_LIBRARY_PATH=/q/lib", NULL};
        execve(words[0], words, environment);
        fail(words[0]);
    }
    int status;
    while (waitpid(pid, &status, 0) != pid)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    mkdir("/tmp", 01777);
    load("irqbypass");
    load("kvm");
    load("kvm-amd");
    int times = atoi(given("times")), counts = *given("count") != 0;
    if (counts)
        count_exits();
    do {
        printf("nested: begin us=%lld\n", now_us());
        int status = run_guest();
        printf("\nnested: end us=%lld status=%d\n", now_us(), status);
    } while (--times > 0);
    if (counts)
        print_exits();
    return 0;
}
