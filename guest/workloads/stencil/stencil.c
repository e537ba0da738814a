// stencil: a grid of cells, in `steps` steps; each worker has a block of rows and exchanges its edges.
//
// A cell is 32 bits. Its next value is the sum of its four neighbours and 5 * (c ^ c >> 13), where c is the
// cell itself; outside of the grid all is 0. A worker computes in memory of its own. Before each step it
// copies its first and last row to the neighbours' halos, posts them, and waits for theirs: it knows nothing
// of other workers. A halo has places for even and for odd steps, because a neighbour may be one step ahead.
#include "work.h"

#define ROWS_MAX 4096u
#define COLUMNS 512u
#define LINE (COLUMNS + 2) // a column of zeros at both ends
#define STEPS_MAX 100000u

enum { VALUE_CELLS, VALUE_HALOS, VALUE_FOLD };
enum { ABOVE, BELOW };

struct halo {
    struct bench_word posted; // how many steps' rows have come
    uint32_t row[2][LINE];
};

struct shared {
    uint64_t rows, steps;
    uint32_t *block[BENCH_MAX_WORKERS][2]; // each with a halo row at both ends
    struct halo halo[BENCH_MAX_WORKERS][2];
};

static uint32_t *make_block(uint64_t lo, uint64_t hi) {
    uint32_t *block = port_shared((hi - lo + 2) * LINE * sizeof *block);
    for (uint64_t row = lo; block != NULL && row < hi + 2; row++)
        for (unsigned c = 0; c < LINE; c++) {
            int inside = row > lo && row < hi + 1 && c > 0 && c < LINE - 1;
            block[(row - lo) * LINE + c] = inside ? (uint32_t)bench_mix((row - 1) * COLUMNS + c - 1) : 0;
        }
    return block;
}

static const char *prepare(struct bench_job *job) {
    uint64_t rows = bench_param_u64("rows", 0), steps = bench_param_u64("steps", 0);
    if (rows < BENCH_MAX_WORKERS || rows > ROWS_MAX)
        return "bench.rows must be 64 to 4096";
    if (steps < 1 || steps > STEPS_MAX)
        return "bench.steps must be 1 to 100000";
    struct shared *shared = port_shared(sizeof *shared);
    if (shared == NULL)
        return "no memory for the halos";
    shared->rows = rows;
    shared->steps = steps;
    bench_share(job, rows);
    for (unsigned k = 0; k < job->workers; k++)
        for (unsigned half = 0; half < 2; half++) {
            shared->block[k][half] = make_block(job->task[k][TASK_LO], job->task[k][TASK_HI]);
            if (shared->block[k][half] == NULL)
                return "no memory for the grid";
            for (unsigned c = 0; c < LINE; c++) // touches the pages, too
                shared->halo[k][half].row[0][c] = shared->halo[k][half].row[1][c] = 0;
        }
    job->data = shared;
    return NULL;
}

static void copy_row(uint32_t *to, const uint32_t *from) {
    for (unsigned c = 0; c < LINE; c++)
        to[c] = from[c];
}

static void give(struct halo *halo, uint32_t step, const uint32_t *row) {
    copy_row(halo->row[step % 2], row);
    bench_post(&halo->posted, step + 1);
}

static void get(struct halo *halo, uint32_t step, uint32_t *row) {
    bench_await(&halo->posted, step + 1);
    copy_row(row, halo->row[step % 2]);
}

// Returns how many halos came.
static unsigned exchange(struct bench_job *job, unsigned worker, uint32_t step, uint32_t *block,
                         uint64_t rows) {
    struct shared *shared = job->data;
    unsigned halos = 0;
    if (worker > 0)
        give(&shared->halo[worker - 1][BELOW], step, block + LINE);
    if (worker + 1 < job->workers)
        give(&shared->halo[worker + 1][ABOVE], step, block + rows * LINE);
    if (worker > 0) {
        get(&shared->halo[worker][ABOVE], step, block);
        halos++;
    }
    if (worker + 1 < job->workers) {
        get(&shared->halo[worker][BELOW], step, block + (rows + 1) * LINE);
        halos++;
    }
    return halos;
}

static uint64_t compute(uint32_t *to, const uint32_t *from, uint64_t rows) {
    uint64_t cells = 0;
    for (uint64_t row = 1; row <= rows; row++) {
        const uint32_t *cell = from + row * LINE, *above = cell - LINE, *below = cell + LINE;
        for (unsigned c = 1; c <= COLUMNS; c++)
            to[row * LINE + c] =
                above[c] + below[c] + cell[c - 1] + cell[c + 1] + 5 * (cell[c] ^ cell[c] >> 13);
        cells += COLUMNS;
    }
    return cells;
}

static uint64_t fold_block(const uint32_t *block, uint64_t rows, uint64_t fold) {
    for (uint64_t row = 1; row <= rows; row++)
        for (unsigned c = 1; c <= COLUMNS; c++)
            fold = bench_fold(fold, block[row * LINE + c]);
    return fold;
}

static void work(struct bench_job *job, unsigned worker, struct bench_slot *slot) {
    struct shared *shared = job->data;
    uint64_t rows = job->task[worker][TASK_HI] - job->task[worker][TASK_LO], cells = 0, halos = 0;
    for (uint32_t step = 0; step < shared->steps; step++) {
        uint32_t *from = shared->block[worker][step % 2], *to = shared->block[worker][(step + 1) % 2];
        halos += exchange(job, worker, step, from, rows);
        cells += compute(to, from, rows);
    }
    slot->value[VALUE_CELLS] = cells;
    slot->value[VALUE_HALOS] = halos;
    slot->value[VALUE_FOLD] = fold_block(shared->block[worker][shared->steps % 2], rows, 0);
}

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    const struct shared *shared = job->data;
    uint64_t cells = 0, fold = 0;
    for (unsigned k = 0; k < job->workers; k++) {
        cells += job->slot[k].value[VALUE_CELLS];
        fold = fold_block(shared->block[k][shared->steps % 2], job->task[k][TASK_HI] - job->task[k][TASK_LO],
                          fold);
    }
    fields[0] = (struct bench_field){"cells", cells, 0};
    fields[1] = (struct bench_field){"fold", fold, 1};
    return 2;
}

static const char *const param_names[] = {"rows", "steps", NULL};
static const char *const task_names[] = {"lo", "hi", NULL};
static const char *const value_names[] = {"cells", "halos", "#fold", NULL};

const struct bench_workload bench_workload = {
    .name = "stencil",
    .mode = BENCH_PROCESS,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
