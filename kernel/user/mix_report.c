// What tern's conductor reports after the stop: its numbers for the lines of guest/mix/lines.h.
//
// The kernel counts CPU time only. What it does not count is named, and never 0.
#include "user/mix.h"

static const char uncounted[] = "uncounted", no_device[] = "device";

// Runs that ended before the stop.
static uint32_t completed(const struct part *one, const struct window *window) {
    uint32_t runs = one->is_dummy ? 0 : one->runs;
    while (runs > 0 && one->run[runs - 1].end > window->end)
        runs--;
    return runs;
}

static void report_part(const struct part *one, const struct window *window) {
    struct mix_use use[USES];
    for (int i = 0; i < USES; i++)
        use[i] = (struct mix_use){MIX_NONE, i == USE_MEMORY ? uncounted : no_device, 0};
    use[USE_CPU] = (struct mix_use){(int64_t)mix_ns(one->cycles + one->runner_cycles), NULL, 0};
    const struct mix_part line = {
        .id = one->id,
        .is_dummy = one->is_dummy,
        .runs = completed(one, window),
        .oom_kills = MIX_NONE,
        .cpu_us = one->cpu_us,
        .period_us = one->period_us,
        .memory = MIX_NONE,
        .disk = MIX_NONE,
        .network = MIX_NONE,
    };
    mix_part_lines(&line, use);
}

static void report_run(const struct part *one, uint32_t number) {
    const struct run *run = &one->run[number];
    uint64_t kept = run->bytes < PART_OUTPUT_BYTES ? run->bytes : PART_OUTPUT_BYTES;
    const struct mix_run line = {
        .id = one->id,
        .number = number,
        .start = run->start,
        .end = run->end,
        .exit = (uint64_t)run->status < 256 ? (uint64_t)run->status : 255,
        .bytes = run->bytes,
    };
    mix_run_lines(&line, one->output + run->from, kept);
}

void report(const struct plan *plan, const struct window *window) {
    const struct mix_begin begin = {
        .nonce = plan->nonce,
        .system = "tern",
        .parts = parts,
        .online = info()->online,
        .least = plan->least,
        .limit_ms = plan->limit_ms,
        .memory_bytes = window->memory,
    };
    mix_begin_line(&begin);
    for (unsigned i = 0; i < parts; i++)
        report_part(&part[i], window);
    for (unsigned i = 0; i < parts; i++) {
        const struct part *one = &part[i];
        uint32_t good = completed(one, window);
        for (uint32_t number = 0; number < good; number++)
            report_run(one, number);
        if (one->stop == FAILED && good == one->runs && one->run[good].end <= window->end)
            report_run(one, good);
    }
    mix_end_lines(window->start, window->end, window->ended, (int64_t)window->foreign);
}
