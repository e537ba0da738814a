// What a port links that has no such service: functions which end the run.
//
// They are weak, so those of a port that has the service replace them. The plan skips a workload whose system
// lists no such service, so they are called only by a system whose YAML lists a service that its port lacks.
#include "services.h"

#define ABSENT __attribute__((weak))

ABSENT const char *port_file(size_t bytes) {
    (void)bytes;
    port_fail("port_file: this system has no files");
}

ABSENT void port_files_end(void) {}

ABSENT int port_open(const char *path) {
    (void)path;
    port_fail("port_open: this system has no files");
}

ABSENT int port_close(int file) {
    (void)file;
    port_fail("port_close: this system has no files");
}

ABSENT int64_t port_read(int file, void *bytes, size_t length) {
    (void)file, (void)bytes, (void)length;
    port_fail("port_read: this system has no files");
}

ABSENT int64_t port_write(int file, const void *bytes, size_t length) {
    (void)file, (void)bytes, (void)length;
    port_fail("port_write: this system has no files");
}

ABSENT int64_t port_size(const char *path) {
    (void)path;
    port_fail("port_size: this system has no files");
}

ABSENT void port_signal_ready(void) {
    port_fail("port_signal_ready: this system has no signals");
}

ABSENT uint64_t port_signal(void) {
    port_fail("port_signal: this system has no signals");
}
