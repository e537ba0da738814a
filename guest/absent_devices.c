// What a port links that has no such device, or no say in placement: functions which end the run, as those of
// absent.c.
//
// They are apart from those because the Linux port never links them, and its programs must not change.
#include "services.h"

#define ABSENT __attribute__((weak))

ABSENT int port_sync(int file) {
    (void)file;
    port_fail("port_sync: this system has no disk");
}

ABSENT int port_listen(void) {
    port_fail("port_listen: this system has no network");
}

ABSENT int port_accept(int listener) {
    (void)listener;
    port_fail("port_accept: this system has no network");
}

ABSENT int port_connect(int listener) {
    (void)listener;
    port_fail("port_connect: this system has no network");
}

ABSENT int port_allow(uint64_t cpus) {
    (void)cpus;
    port_fail("port_allow: this system has no placement");
}

ABSENT int port_group(void) {
    port_fail("port_group: this system has no placement");
}

ABSENT int port_cpu_online(unsigned cpu, int online) {
    (void)cpu, (void)online;
    port_fail("port_cpu_online: this system has no placement");
}
