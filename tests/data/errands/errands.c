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

#if QEMU_API >= 7 // a callback is given the pointer with which it was registered, and no id
#define DATA , NULL
typedef void simple_callback(void *data);
typedef void vcpu_callback(unsigned vcpu, void *data);
void qemu_plugin_register_flush_cb(uint64_t id, simple_callback *callback, void *data);
void qemu_plugin_register_vcpu_init_cb(uint64_t id, vcpu_callback *callback, void *data);
#else
#define DATA
typedef void simple_callback(uint64_t id);
typedef void vcpu_callback(uint64_t id, unsigned vcpu);
void qemu_plugin_register_flush_cb(uint64_t id, simple_callback *callback);
void qemu_plugin_register_vcpu_init_cb(uint64_t id, vcpu_callback *callback);
#endif

EXPORT int qemu_plugin_version = QEMU_API;
EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

static uint64_t self;
static useconds_t every = 1000;

#if QEMU_API >= 7
static void flushed(void *data) {
    (void)data;
}
#else
static void flushed(uint64_t id) {
    (void)id;
}
#endif

static void *send(void *unused) {
    (void)unused;
    for (;;) {
        qemu_plugin_register_flush_cb(self, flushed DATA);
        usleep(every);
        qemu_plugin_register_flush_cb(self, NULL DATA);
        usleep(every);
    }
    return NULL;
}

static void begin(unsigned vcpu) {
    pthread_t thread;
    if (vcpu == 0 && pthread_create(&thread, NULL, send, NULL) != 0) {
        fprintf(stderr, "errands: cannot start a thread\n");
        exit(1);
    }
}

#if QEMU_API >= 7
static void appeared(unsigned vcpu, void *data) {
    (void)data, begin(vcpu);
}
#else
static void appeared(uint64_t id, unsigned vcpu) {
    (void)id, begin(vcpu);
}
#endif

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv) {
    (void)info;
    self = id;
    if (argc == 1 && strncmp(argv[0], "every=", 6) == 0)
        every = (useconds_t)atoi(argv[0] + 6);
    qemu_plugin_register_vcpu_init_cb(id, appeared DATA);
    return 0;
}
