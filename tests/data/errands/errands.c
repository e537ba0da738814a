// A second QEMU plugin that makes QEMU run a small job on every vCPU, at times that the host chooses. QEMU's
// background threads do the same occasionally; this plugin does it every `every` microseconds of host time:
// whenever the set of events that plugins subscribe to changes, QEMU queues a job for each vCPU and wakes it
// (plugins/core.c). The guest must not notice.
#define _GNU_SOURCE // usleep
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

typedef void simple_callback(uint64_t id);
void qemu_plugin_register_flush_cb(uint64_t id, simple_callback *callback);
void qemu_plugin_register_vcpu_init_cb(uint64_t id, void (*callback)(uint64_t id, unsigned vcpu));

EXPORT int qemu_plugin_version = QEMU_API;
EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

static uint64_t self;
static useconds_t every = 1000;

static void flushed(uint64_t id) {
    (void)id;
}

static void *send(void *unused) {
    (void)unused;
    for (;;) {
        qemu_plugin_register_flush_cb(self, flushed);
        usleep(every);
        qemu_plugin_register_flush_cb(self, NULL);
        usleep(every);
    }
    return NULL;
}

static void appeared(uint64_t id, unsigned vcpu) {
    pthread_t thread;
    (void)id;
    if (vcpu == 0 && pthread_create(&thread, NULL, send, NULL) != 0) {
        fprintf(stderr, "errands: cannot start a thread\n");
        exit(1);
    }
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv) {
    (void)info;
    self = id;
    if (argc == 1 && strncmp(argv[0], "every=", 6) == 0)
        every = (useconds_t)atoi(argv[0] + 6);
    qemu_plugin_register_vcpu_init_cb(id, appeared);
    return 0;
}
