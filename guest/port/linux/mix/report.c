// What the conductor reports after the stop: its numbers for the lines of guest/mix/lines.h.
//
// What a part printed is in output lines, in which its bytes can be no line of the wire.
#include "mix.h"

#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned online(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 0;
}

// Runs that ended before the stop. A runner on another CPU may have gone on for a moment.
static uint32_t completed(const struct part *one, const struct window *window) {
    uint32_t runs = one->is_dummy ? 0 : one->record->runs;
    while (runs > 0 && one->record->run[runs - 1].end > window->end)
        runs--;
    return runs;
}

// The run after the last good one, if it has failed before the stop.
static const struct run *failed(const struct part *one, const struct window *window) {
    const struct run *last = &one->record->run[one->record->runs];
    return one->record->stop == FAILED && last->end != 0 && last->end <= window->end ? last : NULL;
}

static int64_t used(const struct part *one, enum use use) {
    if (one->begin[use] == NONE || one->end[use] == NONE)
        return NONE;
    return use == USE_MEMORY ? one->end[use] : one->end[use] - one->begin[use];
}

static void report_part(const struct part *one, const struct window *window) {
    struct mix_use use[USES];
    for (int i = 0; i < USES; i++)
        use[i] = (struct mix_use){used(one, i), one->lack[i].why, (uint64_t)one->lack[i].error};
    const struct mix_part line = {
        .id = one->id,
        .is_dummy = one->is_dummy,
        .runs = completed(one, window),
        .oom_kills = group_number(one, "memory.events", "oom_kill "),
        .cpu_us = group_number(one, "cpu.max", ""),
        .period_us = one->period_us,
        .memory = group_number(one, "memory.max", ""),
        .disk = group_number(one, "io.max", "rbps="),
        .network = one->network,
    };
    mix_part_lines(&line, use);
}

static void report_run(const struct part *one, uint32_t number, const struct run *run) {
    static unsigned char text[RUN_BYTES];
    size_t length = run->bytes < sizeof text ? run->bytes : sizeof text;
    ssize_t read = pread(one->output, text, length, run->from);
    if (read < 0)
        mix_fail("its output cannot be read", one->id);
    const struct mix_run of = {
        .id = one->id,
        .number = number,
        .start = run->start,
        .end = run->end,
        .exit = WIFEXITED(run->status) ? (uint64_t)WEXITSTATUS(run->status)
                                       : 128u + (uint64_t)WTERMSIG(run->status),
        .bytes = run->bytes,
    };
    mix_run_lines(&of, text, (size_t)read);
}

static void report_runs(const struct part *one, const struct window *window) {
    uint32_t good = completed(one, window);
    const struct run *bad = failed(one, window);
    for (uint32_t number = 0; number < good; number++)
        report_run(one, number, &one->record->run[number]);
    if (bad != NULL)
        report_run(one, one->record->runs, bad);
}

void report(const struct plan *plan, const struct window *window) {
    const struct mix_begin begin = {
        .nonce = plan->nonce,
        .system = "linux",
        .parts = parts,
        .online = online(),
        .least = plan->least,
        .limit_ms = plan->limit_ms,
        .memory_bytes = window->memory == NONE ? 0 : (uint64_t)window->memory * 1024,
    };
    mix_begin_line(&begin);
    for (unsigned i = 0; i < parts; i++)
        report_part(&part[i], window);
    for (unsigned i = 0; i < parts; i++)
        if (!part[i].is_dummy)
            report_runs(&part[i], window);
    mix_end_lines(window->begin, window->end, window->ended, window->foreign);
}
