#include "mix/lines.h"

#include "harness.h"
#include "output.h"

static const char *const use_name[USES] = {"cpu_ns", "memory_bytes", "disk_read_bytes", "disk_written_bytes",
                                           "network_bytes"};

static void number(const char *key, int64_t value) {
    if (value == MIX_NONE)
        bench_line_word(key, "na");
    else
        bench_line_u64(key, (uint64_t)value);
}

void mix_begin_line(const struct mix_begin *of) {
    bench_line_begin("begin");
    bench_line_word("v", "2");
    bench_line_word("nonce", of->nonce);
    bench_line_word("system", of->system);
    bench_line_word("workload", "mix");
    bench_line_word("mode", "process");
    bench_line_u64("workers", of->parts);
    bench_line_u64("online", of->online);
    bench_line_word("unit", "ns");
    bench_line_u64("hz", 1000000000u);
    bench_line_u64("least", of->least);
    bench_line_u64("limit_ms", of->limit_ms);
    bench_line_u64("memory_bytes", of->memory_bytes);
    bench_line_end();
}

void mix_part_lines(const struct mix_part *of, const struct mix_use use[USES]) {
    bench_line_begin("part");
    bench_line_u64("id", of->id);
    bench_line_word("kind", of->is_dummy ? "dummy" : "program");
    bench_line_u64("runs", of->runs);
    number("oom_kills", of->oom_kills);
    number("cpu_us", of->cpu_us);
    number("period_us", of->period_us);
    number("memory", of->memory);
    number("disk", of->disk);
    number("network", of->network);
    bench_line_end();
    for (int i = 0; i < USES; i++) {
        bench_line_begin("use");
        bench_line_u64("id", of->id);
        bench_line_word("name", use_name[i]);
        number("value", use[i].value);
        bench_line_word("why", use[i].why == 0 ? "na" : use[i].why);
        bench_line_u64("error", use[i].error);
        bench_line_end();
    }
}

void mix_run_lines(const struct mix_run *of, const unsigned char *text, uint64_t length) {
    bench_line_begin("run");
    bench_line_u64("id", of->id);
    bench_line_u64("run", of->number);
    bench_line_u64("start", of->start);
    bench_line_u64("end", of->end);
    bench_line_u64("exit", of->exit);
    bench_line_u64("bytes", of->bytes);
    bench_line_end();
    report_output(text, length);
}

void mix_end_lines(uint64_t start, uint64_t end, const char *ended, int64_t foreign) {
    bench_line_begin("window");
    bench_line_u64("start", start);
    bench_line_u64("end", end);
    bench_line_word("ended", ended);
    bench_line_end();
    bench_line_begin("foreign");
    number("time", foreign);
    bench_line_end();
    uint64_t before = wire_lines();
    bench_line_begin("end");
    bench_line_u64("lines", before);
    bench_line_end();
}
