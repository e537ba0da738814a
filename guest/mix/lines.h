// The lines with which a conductor reports a mix (docs/wire.md, "A mix"), on any system.
//
// Takes numbers and words; gives lines by bench_line_*. A number that is not known, and a limit that there is
// not, is MIX_NONE.
#ifndef BENCH_MIX_LINES_H
#define BENCH_MIX_LINES_H

#include <stdint.h>

#define MIX_NONE INT64_MIN

enum use { USE_CPU, USE_MEMORY, USE_READ, USE_WRITTEN, USE_NETWORK, USES };

struct mix_begin {
    const char *nonce, *system;
    uint64_t parts, online, least, limit_ms, memory_bytes;
};

struct mix_part {
    uint64_t id, runs;
    int is_dummy;
    int64_t oom_kills, cpu_us, period_us, memory, disk, network;
};

struct mix_use {
    int64_t value;
    const char *why; // there is no value; NULL: there is one
    uint64_t error;
};

struct mix_run {
    uint64_t id, number, start, end, exit, bytes;
};

void mix_begin_line(const struct mix_begin *of);
void mix_part_lines(const struct mix_part *of, const struct mix_use use[USES]);
// `length` bytes of what it printed are at `text`; less than it printed, if that is too much.
void mix_run_lines(const struct mix_run *of, const unsigned char *text, uint64_t length);
void mix_end_lines(uint64_t start, uint64_t end, const char *ended, int64_t foreign);

#endif
