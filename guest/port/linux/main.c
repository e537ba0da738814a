// Entry of the Linux program, in a guest and on a host: reads the manifest and writes lines.
//
// With arguments, the arguments are the manifest and the system is `native`. Without arguments, the kernel's
// command line is the manifest and the system is `linux`. The exit status is 0, or 1 after a `benchfail:`
// line.
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../../services.h"
#include "port.h"

int port_is_guest;

static void write_all(const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t n = write(STDOUT_FILENO, bytes, length);
        if (n <= 0)
            _exit(1); // the output is closed, so the error cannot be reported
        bytes += n;
        length -= (size_t)n;
    }
}

void port_line(const char *line, size_t length) {
    write_all(line, length);
}

// In a forked worker it ends that worker only; the coordinator sees the exit status.
_Noreturn void port_fail(const char *why) {
    char line[256];
    size_t used = 0;
    for (const char *c = "benchfail: "; *c != 0; c++)
        line[used++] = *c;
    for (const char *c = why; *c != 0 && used < sizeof line - 1; c++)
        line[used++] = *c;
    line[used++] = '\n';
    write_all(line, used);
    port_files_end(); // of a forked worker: nothing, its coordinator fails next
    _exit(1);
}

const char *port_system(void) {
    return port_is_guest ? "linux" : "native";
}

static char manifest[4096];

static void manifest_from_arguments(int count, char **argument) {
    size_t used = 0;
    for (int i = 1; i < count; i++) {
        size_t length = strlen(argument[i]);
        if (used + length + 2 > sizeof manifest)
            port_fail("the arguments are longer than 4094 bytes");
        memcpy(manifest + used, argument[i], length);
        used += length;
        manifest[used++] = ' ';
    }
}

static void manifest_from_kernel(void) {
    int fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, manifest, sizeof manifest - 1);
    if (n < 0)
        port_fail("/proc/cmdline cannot be read");
    close(fd);
}

int main(int count, char **argument) {
    port_is_guest = count < 2;
    if (port_is_guest)
        manifest_from_kernel();
    else
        manifest_from_arguments(count, argument);
    return bench_main(manifest);
}
