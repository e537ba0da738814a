// schbench: message threads hand requests to worker threads; how long a wake-up and a request take, and how
// many requests a second there are.
//
// After the benchmark of that name by Chris Mason, written anew from its description. A worker is woken
// through a parked word, sleeps, multiplies matrices while it holds the lock of its CPU, and sleeps again.
// The lock makes preemption expensive: whoever is next on that CPU spins until the worker runs again and has
// finished.
//
// The threads of the harness are, in this order, the message threads, all their workers, and hogs: neighbours
// that use CPU time for a while. This file has the parts that are not timed; the other files of this folder
// are included once, here.
#include "messenger.h"
#include "state.h"
#include "worker.h"

static struct state *state;

// ---- before the window

static uint64_t *numbers(uint64_t count) {
    uint64_t *at = port_shared(count * sizeof *at);
    for (uint64_t i = 0; at != NULL && i < count; i++)
        at[i] = 0; // touch the pages, so that work() takes no page fault
    return at;
}

static const char *prepare_worker(struct worker *worker, unsigned number) {
    const struct options *options = &state->options;
    uint64_t square = (uint64_t)options->side * options->side;
    uint64_t *data = numbers(options->pipe != 0 ? options->pipe / sizeof *data : 3 * square);
    if (data == NULL)
        return "no memory for the footprints";
    worker->page = data;
    worker->matrices = (struct matrices){data, data + square, data + 2 * square};
    if (options->pipe == 0)
        matrices_fill(&worker->matrices, options->side, number + 1);
    return NULL;
}

// Workers are divided among the message threads as evenly as they can be. If there are more message threads
// than workers, some have none.
static void prepare_messengers(struct bench_job *job) {
    const struct options *options = &state->options;
    for (unsigned i = 0; i < options->messengers; i++) {
        unsigned first = options->workers * i / options->messengers;
        unsigned end = options->workers * (i + 1) / options->messengers;
        state->messenger[i].first = first;
        state->messenger[i].members = end - first;
        job->task[i][TASK_ROLE] = MESSENGER;
        job->task[i][TASK_OF] = end - first;
        job->task[i][TASK_GOAL] = goal_share(options->rps, first, end - first, options->workers);
        for (unsigned worker = first; worker < end; worker++) {
            job->task[options->messengers + worker][TASK_ROLE] = WORKER;
            job->task[options->messengers + worker][TASK_OF] = i;
        }
    }
}

static const char *prepare(struct bench_job *job) {
    state = port_shared(sizeof *state);
    if (state == NULL)
        return "no memory for the threads";
    struct options *options = &state->options;
    const char *wrong = read_options(options, job->cpus);
    for (unsigned i = 0; wrong == NULL && i < options->workers; i++)
        wrong = prepare_worker(&state->worker[i], i);
    if (wrong != NULL)
        return wrong;
    state->goal = options->rps;
    prepare_messengers(job);
    job->workers = options->messengers + options->workers + options->hogs;
    for (unsigned i = options->messengers + options->workers; i < job->workers; i++)
        job->task[i][TASK_ROLE] = HOG;
    job->data = state;
    return NULL;
}

// ---- the window

// In steps that are short enough for auto_rps to see what the hog has used.
static void run_hog(struct self *me) {
    uint64_t end = begin_of(me->job, state) + state->options.hog_time;
    while (port_now() < end && bench_running(me->job)) {
        for (volatile unsigned i = 0; i < 20000; i++)
            ;
        me->slot->value[VALUE_DONE]++;
        publish_spent(state, me->thread);
    }
}

// One value per whole interval: requests in it, as a rate per second.
static void record_rates(struct bench_job *job) {
    const struct options *options = &state->options;
    for (uint64_t span = 0; span < options->measured / options->interval; span++) {
        uint64_t done = 0;
        for (unsigned i = 0; i < job->workers; i++)
            done += state->inside[i][span];
        bench_record(bench_hist(job, 0, HIST_RPS), done * port_hz() / options->interval);
    }
}

static void wait_for_others(const struct bench_job *job) {
    for (;;) {
        mailbox_clear(&state->last);
        if (__atomic_load_n(&state->ended, __ATOMIC_ACQUIRE) == job->workers - 1)
            return;
        mailbox_await(&state->last, 0);
    }
}

static void work(struct bench_job *job, unsigned thread, struct bench_slot *slot) {
    const struct options *options = &state->options;
    struct self me = {.job = job, .state = state, .slot = slot, .thread = thread};
    if (thread < options->messengers) {
        me.messenger = &state->messenger[thread];
        run_messenger(&me);
    } else if (thread < options->messengers + options->workers) {
        me.messenger = &state->messenger[job->task[thread][TASK_OF]];
        me.worker = &state->worker[thread - options->messengers];
        run_worker(&me);
    } else {
        run_hog(&me);
    }
    if (thread == 0) {
        wait_for_others(job);
        record_rates(job);
    } else if (__atomic_add_fetch(&state->ended, 1, __ATOMIC_ACQ_REL) == job->workers - 1) {
        mailbox_post(&state->last, 0);
    }
}

// ---- after the window

static unsigned result(struct bench_job *job, struct bench_field *fields) {
    static const struct {
        const char *name;
        unsigned value;
    } sums[] = {{"due", VALUE_DUE},
                {"posted", VALUE_POSTED},
                {"pending", VALUE_PENDING},
                {"inside", VALUE_INSIDE}};
    unsigned count = 0;
    uint64_t completed = 0;
    for (; count < sizeof sums / sizeof *sums; count++) {
        fields[count] = (struct bench_field){sums[count].name, 0, 0};
        for (unsigned i = 0; i < job->workers; i++)
            fields[count].value += job->slot[i].value[sums[count].value];
    }
    for (unsigned i = 0; i < state->options.workers; i++)
        completed += job->slot[state->options.messengers + i].value[VALUE_DONE];
    fields[count++] = (struct bench_field){"completed", completed, 0};
    fields[count++] = (struct bench_field){"goal", state->goal, 0};
    fields[count++] = (struct bench_field){"measured", state->options.measured, 0};
    return count;
}

static const char *const param_names[] = {
    "message_threads", "threads",        "time_ns",   "warmup_ms", "interval_ms",     "zero_ms",
    "footprint_kb",    "operations",     "calibrate", "locking",   "sleep_before_us", "sleep_after_us",
    "rps",             "auto_rps",       "pipe",      "hogs",      "hog_ms",          NULL};
static const char *const task_names[] = {"role", "of", "goal", NULL};
static const char *const value_names[] = {"due",    "posted", "pending", "done", "timed",
                                          "inside", "woken",  "#sum",    NULL};
static const char *const hist_names[] = {"wakeup", "request", "rps", NULL};

const struct bench_workload bench_workload = {
    .name = "schbench",
    .mode = BENCH_THREAD,
    .param_names = param_names,
    .task_names = task_names,
    .value_names = value_names,
    .hist_names = hist_names,
    .prepare = prepare,
    .work = work,
    .result = result,
};
