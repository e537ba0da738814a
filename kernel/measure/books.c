#include "measure/books.h"

#include "core/percpu.h"
#include "core/program.h"
#include "core/thread.h"
#include "measure/measure.h"
#include "ring/abi.h"

#define BOOKS 128
#define SAMPLES 64

// An entry is claimed by one atomic addition and then written by that CPU only.
bool books_on;

static struct { uint64_t field[RING_BOOK_FIELDS]; } books[BOOKS];
static _Atomic uint64_t book_count;

static struct {
    _Alignas(128) uint64_t count;
    uint64_t ip[SAMPLES];
} samples[MAX_CPUS]; // each is written by its own CPU only

void books_clear(void) {
    atomic_store(&book_count, 0);
    for (unsigned i = 0; i < cpu_count; i++)
        samples[i].count = 0;
}

void measure_thread_ended(const struct thread *thread) {
    if (!books_on)
        return;
    program_ended(thread);
    if (!measure_on)
        return;
    uint64_t place = atomic_fetch_add_explicit(&book_count, 1, memory_order_relaxed);
    if (place >= BOOKS)
        return;
    uint64_t *field = books[place].field;
    field[RING_BOOK_ID] = (uint64_t)thread->id;
    field[RING_BOOK_CPU] = thread->entity.cpu;
    field[RING_BOOK_RUNNING] = thread->spent[THREAD_RUNNING];
    field[RING_BOOK_RUNNABLE] = thread->spent[THREAD_RUNNABLE];
    field[RING_BOOK_BLOCKED] = thread->spent[THREAD_BLOCKED];
    field[RING_BOOK_LIFETIME] = thread->died - thread->born;
}

void measure_sample(uint64_t ip) {
    if (!measure_on || !measure_window_open())
        return;
    unsigned cpu = this_cpu()->index;
    if (samples[cpu].count < SAMPLES)
        samples[cpu].ip[samples[cpu].count++] = ip;
}

int64_t books_read(uint64_t index, uint64_t field) {
    uint64_t count = atomic_load(&book_count);
    if (index >= (count < BOOKS ? count : BOOKS) || field >= RING_BOOK_FIELDS)
        return -RING_EINVAL;
    return (int64_t)books[index].field[field];
}

int64_t books_sample(uint64_t cpu, uint64_t index) {
    if (cpu >= cpu_count || index >= samples[cpu].count)
        return -RING_EINVAL;
    return (int64_t)samples[cpu].ip[index];
}
