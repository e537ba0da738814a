// What tool.c shares with the C file that benchgate generates for a workload with `program:` in its YAML.
#ifndef BENCH_PORT_LINUX_TOOL_H
#define BENCH_PORT_LINUX_TOOL_H

#include "../../bench.h"

// The command, NULL-terminated: the file to execute, then what becomes its argv. `{tool}` stands for the
// folder of its files and any other `{name}` for the value of bench.name.
extern const char *const tool_run[];

extern const char *const tool_tasks[];
extern const char *const tool_values[];
const char *tool_prepare(struct bench_job *job);
void tool_work(struct bench_job *job, unsigned worker, struct bench_slot *slot);
unsigned tool_result(struct bench_job *job, struct bench_field *fields);

#endif
