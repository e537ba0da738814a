// Operations that one thread does alone: calls, files, a pipe, memory, signals.
#ifndef MICRO_CALLS_H
#define MICRO_CALLS_H

#include "op.h"

static uint64_t chunk[2][CHUNK_WORDS]; // of this worker: it is a process

static unsigned mine(const struct me *me) {
    return me->common->one ? 0 : me->worker;
}

static const char *path_of(const struct me *me) {
    return me->common->path[mine(me)];
}

// ---- getpid: the number of each worker's process, which no two workers may share

static void before_getpid(struct me *me) {
    me->expected = port_process();
}

static uint64_t run_getpid(struct me *me, uint64_t n) {
    uint64_t good = 0;
    for (uint64_t i = 0; i < n; i++)
        good += port_process() == me->expected;
    me->proof = me->expected;
    return good;
}

// ---- read_null, write_null: one byte; the device is always at its end, and takes everything

static void open_file(struct me *me, const char *path) {
    me->file = port_open(path);
    if (me->file < 0)
        port_fail("a file could not be opened");
}

static void before_null(struct me *me) {
    open_file(me, "/dev/null");
}

static uint64_t run_read_null(struct me *me, uint64_t n) {
    uint64_t good = 0;
    char byte = 0;
    for (uint64_t i = 0; i < n; i++)
        good += port_read(me->file, &byte, 1) == 0;
    return good;
}

static uint64_t run_write_null(struct me *me, uint64_t n) {
    uint64_t good = 0;
    char byte = 0;
    for (uint64_t i = 0; i < n; i++)
        good += port_write(me->file, &byte, 1) == 1;
    me->bytes += good;
    return good;
}

static void after_file(struct me *me) {
    if (port_close(me->file) != 0)
        port_fail("a file could not be closed");
}

// ---- pipe: 4 KB out and in. The first, the last and one more word have the chunk's number, at another place
// each time. With share=one a worker may receive another's chunk, so only the sum over all workers is known.

static const char *make_channel(struct common *common, unsigned number) {
    common->channel[number] = port_channel();
    return common->channel[number] < 0 ? "a channel could not be made" : NULL;
}

static void before_pipe(struct me *me) {
    (void)me;
    for (unsigned i = 0; i < CHUNK_WORDS; i++)
        chunk[0][i] = FILLING;
}

static uint64_t run_pipe(struct me *me, uint64_t n) {
    int channel = me->common->channel[mine(me)];
    uint64_t *out = chunk[0], *in = chunk[1], good = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t number = (uint64_t)me->worker << 32 | ++me->expected;
        unsigned at = 1 + (unsigned)(number % (CHUNK_WORDS - 2));
        out[0] = out[at] = out[CHUNK_WORDS - 1] = number;
        if (port_send(channel, out, PAGE_BYTES) != 0 || port_receive(channel, in, PAGE_BYTES) != 0)
            return good;
        out[at] = FILLING;
        uint64_t got = in[0], where = 1 + got % (CHUNK_WORDS - 2);
        int whole = in[where] == got && in[CHUNK_WORDS - 1] == got && in[where == 1 ? 2 : 1] == FILLING;
        good += whole && (me->common->one || got == number);
        me->proof += got;
        me->bytes += PAGE_BYTES;
    }
    return good;
}

// ---- open_close and stat, of a file on a file system in memory

static const char *make_file(struct common *common, unsigned number) {
    common->path[number] = port_file(FILE_BYTES + number);
    return common->path[number] == NULL ? "a file could not be made" : NULL;
}

static uint64_t run_open_close(struct me *me, uint64_t n) {
    const char *path = path_of(me);
    uint64_t good = 0;
    for (uint64_t i = 0; i < n; i++) {
        int file = port_open(path);
        good += file >= 0 && port_close(file) == 0;
    }
    return good;
}

// A file that was never open cannot be read to its end.
static void after_open_close(struct me *me) {
    static char byte[FILE_BYTES + BENCH_MAX_WORKERS];
    open_file(me, path_of(me));
    int64_t length = port_read(me->file, byte, sizeof byte);
    me->proof = length < 0 ? 0 : (uint64_t)length;
    after_file(me);
}

static uint64_t run_stat(struct me *me, uint64_t n) {
    const char *path = path_of(me);
    int64_t expected = FILE_BYTES + mine(me);
    uint64_t good = 0;
    for (uint64_t i = 0; i < n; i++) {
        int64_t size = port_size(path);
        good += size == expected;
        me->proof += (uint64_t)size;
    }
    return good;
}

// ---- mmap_fault: a new region, one write to each of its pages, and its end. The rest of a page is zero, and
// no two pages are one: after the last write each still has its own number. A page's last word is not left
// zero, so that a page which comes back without having been cleared is noticed.

static uint64_t run_mmap_fault(struct me *me, uint64_t n) {
    char *at = port_private(n * PAGE_BYTES);
    if (at == NULL)
        return 0;
    uint64_t good = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t *page = (uint64_t *)(at + i * PAGE_BYTES);
        page[0] = ++me->expected;
        good += page[CHUNK_WORDS - 1] == 0;
    }
    for (uint64_t i = 0; i < n; i++) {
        volatile uint64_t *page = (volatile uint64_t *)(at + i * PAGE_BYTES);
        me->proof += page[0];
        page[CHUNK_WORDS - 1] = FILLING;
    }
    me->bytes += n * PAGE_BYTES;
    return port_unmap(at, n * PAGE_BYTES) == 0 ? good : 0;
}

// ---- signal_delivery: the handler has run when the call returns

static void before_signal(struct me *me) {
    (void)me;
    port_signal_ready();
}

static uint64_t run_signal(struct me *me, uint64_t n) {
    uint64_t good = 0;
    for (uint64_t i = 0; i < n; i++)
        good += port_signal() == ++me->expected;
    me->proof += good;
    return good;
}

#endif
