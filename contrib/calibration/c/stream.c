// The bandwidth of reading: each of these CPUs reads an array of its own from its first byte to its last, all
// at the same time. Independent loads of neighbouring lines, which prefetchers foresee: the opposite of a chase.
#define _GNU_SOURCE
#include "measure.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#define MOST_CPUS 1024u

static struct reader {
    pthread_t thread;
    unsigned cpu;
    double begin, end;
} readers[MOST_CPUS];
static unsigned reader_count;
static size_t bytes;
static unsigned slices;
static pthread_barrier_t together;

static uint64_t read_all(const uint64_t *array, size_t count) {
    uint64_t a = 0, b = 0, c = 0, d = 0;
    for (size_t n = 0; n + 32 <= count; n += 32) { // a word of each of four lines
        a += array[n];
        b += array[n + 8];
        c += array[n + 16];
        d += array[n + 24];
    }
    return a + b + c + d;
}

// From the first that begins to the last that ends: if one of them lost its CPU, the sample says too little
// and not too much.
static void report(void) {
    double begin = readers[0].begin, end = readers[0].end;
    for (unsigned n = 1; n < reader_count; n++) {
        begin = readers[n].begin < begin ? readers[n].begin : begin;
        end = readers[n].end > end ? readers[n].end : end;
    }
    sample("stream", (double)bytes * reader_count / ((end - begin) / 1e9));
}

static void *work(void *given) {
    struct reader *self = given;
    pin(self->cpu);
    uint64_t *array = map(bytes, HUGE_PAGES);
    for (unsigned n = 0; n < slices; n++) {
        pthread_barrier_wait(&together);
        self->begin = now_ns();
        uint64_t sum = read_all(array, bytes / sizeof *array);
        __asm__ volatile("" : : "r"(sum)); // the loads are needed
        self->end = now_ns();
        pthread_barrier_wait(&together);
        if (self == readers)
            report();
    }
    unmap(array, bytes);
    return NULL;
}

int stream(unsigned count, char **words) {
    if (count < 3 || count - 2 > MOST_CPUS)
        return 2;
    slices = number(words[0], 1000);
    bytes = bytes_of(words[1]);
    reader_count = count - 2;
    pthread_barrier_init(&together, NULL, reader_count);
    for (unsigned n = 0; n < reader_count; n++) {
        readers[n].cpu = number(words[n + 2], 65535);
        errno = pthread_create(&readers[n].thread, NULL, work, &readers[n]);
        if (errno != 0)
            fail("cannot start a thread for each CPU");
    }
    for (unsigned n = 0; n < reader_count; n++)
        pthread_join(readers[n].thread, NULL);
    return 0;
}
