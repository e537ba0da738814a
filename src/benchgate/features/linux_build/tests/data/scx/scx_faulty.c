// Loads scx_faulty.bpf.c: scx_faulty [NAME], a fault of scx_faulty.h in small letters. Runs until it is
// ended.
#include <bpf/bpf.h>
#include <libgen.h>
#include <scx/common.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "scx_faulty.bpf.skel.h"
#include "scx_faulty.h"

static const char *const names[FAULTS] = {
    [FAULT_NONE] = "none", [FAULT_STARVE] = "starve", [FAULT_IDLE] = "idle",
    [FAULT_FLAT] = "flat", [FAULT_LONG] = "long",     [FAULT_TAIL] = "tail",
    [FAULT_DEAF] = "deaf", [FAULT_STICK] = "stick",   [FAULT_HALF] = "half",
    [FAULT_HOME] = "home", [FAULT_PONG] = "pong",     [FAULT_OLD_WEIGHT] = "old-weight",
    [FAULT_CREDIT] = "credit", [FAULT_KERNEL] = "kernel",
    [FAULT_GONE] = "gone", [FAULT_STARVE_ONE] = "starve-one",
};

static volatile sig_atomic_t ended;

static void end(int signal) {
    (void)signal;
    ended = 1;
}

static unsigned fault_of(const char *name) {
    for (unsigned i = 0; i < FAULTS; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    fprintf(stderr, "scx_faulty: there is no fault `%s`\n", name);
    _exit(2);
}

int main(int count, char **words) {
    signal(SIGINT, end);
    signal(SIGTERM, end);
    struct scx_faulty *skel = SCX_OPS_OPEN(faulty_ops, scx_faulty);
    skel->rodata->fault = count > 1 ? fault_of(words[1]) : FAULT_NONE;
    skel->rodata->cpus = (unsigned)libbpf_num_possible_cpus();
    SCX_OPS_LOAD(skel, faulty_ops, scx_faulty, uei);
    struct bpf_link *link = SCX_OPS_ATTACH(skel, faulty_ops, scx_faulty);
    while (!ended && !UEI_EXITED(skel, uei))
        sleep(1);
    bpf_link__destroy(link);
    UEI_REPORT(skel, uei);
    scx_faulty__destroy(skel);
    return 0;
}
