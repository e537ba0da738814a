// What port.c leaves out in a part of a mix: the program's start, its window, and its lines.
//
// A part is not alone, so its window is no window of the kernel's, and what it prints goes to the conductor.
// Its shared memory does not end with its processes, so it is given back when the run is over.
#include "user/part.h"

#include "arch/layout.h"
#include "services.h"
#include "user/runtime.h"

#define MAPS_MOST 256

static struct part_run *run; // in the process that the conductor started; its workers have none
static struct {
    void *at;
    size_t bytes;
} map[MAPS_MOST];
static unsigned maps;

void *port_shared(size_t bytes) {
    int64_t where = RING_DO(RING_MAP, bytes, 1);
    if (where < 0)
        return NULL;
    if (maps < MAPS_MOST) {
        map[maps].at = (void *)where;
        map[maps++].bytes = bytes;
    }
    return (void *)where;
}

static int whole_run(struct part_run *of) {
    run = of;
    int status = bench_main(run->manifest);
    while (maps > 0) {
        maps--;
        port_unmap(map[maps].at, map[maps].bytes);
    }
    return status;
}

int program(uint64_t first, uint64_t second) {
    if (second == PART_RUN)
        return whole_run((struct part_run *)first);
    if (first < USER_IMAGE_END) // the body of a task or a child, as in port.c
        ((void (*)(uint64_t))first)(second);
    else
        bench_worker((struct bench_job *)first, (unsigned)second);
    return 0;
}

void port_window_open(void) {
}
void port_window_close(void) {
}

int port_foreign(uint64_t *value) {
    *value = 0;
    return -1; // the conductor knows it
}

void port_report(void) {
}

void port_line(const char *line, size_t length) {
    for (size_t i = 0; i < length && run->bytes + i < PART_OUTPUT_BYTES; i++)
        run->output[run->bytes + i] = (unsigned char)line[i];
    run->bytes += length;
}

static size_t length_of(const char *text) {
    size_t n = 0;
    while (text[n] != 0)
        n++;
    return n;
}

// The run has failed, and the conductor says so. A worker cannot tell it, and ends the whole mix.
void port_fail(const char *why) {
    static const char begin[] = "benchfail: ";
    if (run == NULL) {
        write_text(begin, sizeof begin - 1);
        write_text(why, length_of(why));
        write_text("\n", 1);
        kernel_call(RING_CALL_EXIT, 1, 1, 0);
        __builtin_unreachable();
    }
    port_line(begin, sizeof begin - 1);
    port_line(why, length_of(why));
    port_line("\n", 1);
    kernel_call(RING_CALL_EXIT, 1, 0, 0);
    __builtin_unreachable();
}
