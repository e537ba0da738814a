// What the files of the conductor share. It runs several workloads ("parts") at once in one Linux guest.
//
// main.c reads the plan, opens the gate and stops all; plan.c reads /mix; groups.c has the control groups of
// the parts; disk.c and network.c give a part its folder and its addresses; runner.c runs one part's program
// again and again; others.c counts the rest; report.c prints.
#ifndef BENCH_MIX_H
#define BENCH_MIX_H

#define _GNU_SOURCE
#include <stdint.h>
#include <sys/types.h>

#include "harness.h"
#include "mix/lines.h"

#define PARTS_MOST 64
#define RUNS_MOST 2000                // of one part
#define RUN_BYTES 65536               // of the output of one run
#define OUTPUT_BYTES (16 * RUN_BYTES) // of all runs of one part
#define WORDS_MOST 96                 // of one part's manifest
#define UID_FIRST 1000
#define NONE MIX_NONE

// One execution of a part's program. Written by its runner, read by the conductor.
struct run {
    uint64_t start, end; // end 0: it was cut off
    uint32_t from, bytes;
    int32_t status; // as from waitpid
};

enum stop { GOES_ON, FAILED, FULL }; // FULL: there is no room for another run

// Shared with the runner of the part.
struct record {
    uint32_t runs; // completed
    uint32_t stop;
    struct run run[RUNS_MOST + 1];
};

// Why something cannot be used or counted: a word for the host, and errno.
struct lack {
    const char *why; // NULL: nothing is lacking
    int error;
};

struct part {
    unsigned id;
    int is_dummy;
    char *word[WORDS_MOST + 1]; // the manifest, without what only a run knows
    unsigned words;
    const char *program, *folder; // what is executed; where the files of an existing program are
    const char *cpus;             // a list as cpuset.cpus takes it; NULL: all
    int64_t cpu_us, period_us, memory, disk, network; // limits; NONE: no limit
    int needs_disk, needs_network;
    int output, listener; // descriptors
    struct record *record;
    pid_t runner;
    int64_t begin[USES], end[USES]; // what was counted at the gate and at the stop
    struct lack lack[USES];
};

extern struct part part[PARTS_MOST];
extern unsigned parts;
extern uint32_t *gate; // 0 closed, 1 open, 2: a part could not be prepared
extern uint32_t *news; // raised by a runner when the conductor should look

// ---- main.c
_Noreturn void mix_fail(const char *what, unsigned id); // prints benchfail with errno, then ends
uint64_t mix_now(void);
void mix_wait(uint32_t *word, uint32_t seen, uint64_t timeout_ns);
void mix_wake(uint32_t *word);

// ---- plan.c
struct plan {
    uint64_t least, limit_ms;
    char nonce[41];
};
void plan_read(struct plan *plan);
int64_t plan_number(const char *text); // NONE if it is none

// ---- groups.c. A limit that cannot be set ends the run; a counter that cannot be read is NONE.
void groups_make(void);
void group_make(struct part *one);
void group_enter(const struct part *one); // the calling process
void groups_freeze(void);                 // all parts stand still
void groups_end(void);                    // and are no more
int64_t group_number(const struct part *one, const char *file, const char *key);
int64_t number_in(const char *path, const char *key); // the first number after a key
void uses_read(const struct part *one, int64_t to[USES]);

// ---- disk.c, network.c, modules.c
struct lack module_load(const char *name);
void disk_open(void); // once, if a part needs it
void disk_make(struct part *one);
const char *disk_device(void); // `MAJOR:MINOR`; NULL: there is none
void network_open(void);
void network_make(struct part *one); // in the runner: its namespaces, its addresses, the listening socket

// ---- others.c
int64_t others_cpu(pid_t conductor); // NONE if this kernel does not count it

// ---- runner.c
_Noreturn void runner(struct part *one, const struct plan *plan);

// ---- report.c
struct window {
    uint64_t begin, end;
    const char *ended;
    int64_t foreign;
    int64_t memory; // what the kernel could give to the parts at the gate
};
void report(const struct plan *plan, const struct window *window);

#endif
