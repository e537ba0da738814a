// Declarations that the files of the harness share: bench.c, wire.c, hist.c and services.c.
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include "services.h"

uint64_t wire_lines(void); // how many lines were printed so far

// Histograms of a job, if the workload names any: memory for all workers, the page faults of one worker, and
// the lines of the report.
void hist_make(struct bench_job *job);
void hist_touch(struct bench_job *job, unsigned worker);
void hist_report(struct bench_job *job);

#endif
