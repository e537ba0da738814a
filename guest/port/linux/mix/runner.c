// Runs the program of one part again and again, back to back, until it is ended from outside.
//
// It is a process in the part's control group, so starting and awaiting a program is the part's own cost.
// Every run has a nonce of its own, and writes into the part's memory file. A run that fails ends the series.
#include "mix.h"

#include "port/linux/written.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXTRA_BYTES 128

static char nonce[EXTRA_BYTES], place[EXTRA_BYTES], address[EXTRA_BYTES], listening[EXTRA_BYTES];
static char tool[EXTRA_BYTES] = "BENCHGATE_TOOL=", temporary[] = "TMPDIR=/tmp";

// Of each run, with what only the part's place in the mix says.
static void complete_manifest(struct part *one) {
    one->word[one->words++] = nonce;
    if (one->needs_disk) {
        snprintf(place, sizeof place, "bench.disk=/disk/%u", one->id);
        one->word[one->words++] = place;
    }
    if (one->needs_network) {
        snprintf(address, sizeof address, "bench.network=10.77.%u.2:7000", one->id);
        snprintf(listening, sizeof listening, "bench.listen=%d", one->listener);
        one->word[one->words++] = address;
        one->word[one->words++] = listening;
    }
    one->word[one->words] = NULL;
}

// Without privileges: it can neither end another part nor write to the console.
static _Noreturn void become_program(struct part *one) {
    char *environment[] = {temporary, one->folder != NULL ? tool : NULL, NULL};
    char *argument[WORDS_MOST + 2] = {(char *)(uintptr_t)one->program};
    memcpy(argument + 1, one->word, (one->words + 1) * sizeof *one->word);
    uid_t user = UID_FIRST + one->id;
    int null = open("/dev/null", O_RDWR);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || !written("/proc/self/oom_score_adj", "0") || null < 0 ||
        dup2(null, 0) < 0 || dup2(one->output, 1) < 0 || dup2(one->output, 2) < 0 || chdir("/tmp") != 0 ||
        setgroups(0, NULL) != 0 || setgid(user) != 0 || setuid(user) != 0)
        _exit(126);
    execve(one->program, argument, environment);
    dprintf(2, "benchfail: %s cannot be run: %s\n", one->program, strerror(errno));
    _exit(127);
}

static uint32_t output_bytes(const struct part *one) {
    off_t at = lseek(one->output, 0, SEEK_CUR);
    return at < 0 ? OUTPUT_BYTES : (uint32_t)at;
}

// 0: the run completed.
static int run_once(struct part *one, const struct plan *plan, struct run *run) {
    int status;
    run->from = output_bytes(one);
    run->start = mix_now();
    snprintf(nonce, sizeof nonce, "bench.nonce=%s.p%u.r%u", plan->nonce, one->id, one->record->runs);
    pid_t pid = fork();
    if (pid == 0)
        become_program(one);
    if (pid < 0)
        return -1;
    while (waitpid(pid, &status, 0) != pid)
        if (errno != EINTR)
            return -1;
    run->bytes = output_bytes(one) - run->from;
    run->status = status;
    run->end = mix_now();
    return status;
}

static void tell(void) {
    __atomic_add_fetch(news, 1, __ATOMIC_RELEASE);
    mix_wake(news);
}

static enum stop repeat(struct part *one, const struct plan *plan) {
    struct record *record = one->record;
    for (uint32_t number = 0; number < RUNS_MOST; number++) {
        if (output_bytes(one) > OUTPUT_BYTES - RUN_BYTES)
            return FULL;
        if (run_once(one, plan, &record->run[number]) != 0)
            return FAILED;
        __atomic_store_n(&record->runs, number + 1, __ATOMIC_RELEASE); // pairs with the acquire in main.c
        if (number + 1 == plan->least)
            tell();
    }
    return FULL;
}

_Noreturn void runner(struct part *one, const struct plan *plan) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (one->needs_network)
        network_make(one);
    // The kernel looks for memory in the programs of the part, and not here.
    if (!written("/proc/self/oom_score_adj", "-1000"))
        mix_fail("oom_score_adj", one->id);
    if (one->folder != NULL)
        strncat(tool, one->folder, sizeof tool - sizeof "BENCHGATE_TOOL=");
    complete_manifest(one);
    group_enter(one);
    tell(); // ready
    while (__atomic_load_n(gate, __ATOMIC_ACQUIRE) == 0)
        mix_wait(gate, 0, 0);
    if (!one->is_dummy) {
        enum stop stop = repeat(one, plan);
        __atomic_store_n(&one->record->stop, stop, __ATOMIC_RELEASE); // pairs with the acquire in main.c
        tell();
    }
    for (;;)
        pause();
}
