// The plan of a mix: /mix, and the nonce from the kernel's command line.
//
// Takes lines of words: `mix least=N limit_ms=N`, then for each part `part KEY=VALUE ... -- WORD ...`, where
// the words after `--` are its manifest. benchgate writes the file (build/mix_image.py), so anything odd
// ends the run.
#include "mix.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char text[262144], command_line[4096];

static void contents(const char *path, char *to, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, to, size);
    if (n < 0 || (size_t)n == size)
        port_fail("the plan of the mix cannot be read, or is too long");
    to[n] = 0;
    close(fd);
}

int64_t plan_number(const char *from) {
    char *after;
    errno = 0;
    long long value = strtoll(from, &after, 10);
    return after == from || errno != 0 || value < 0 ? NONE : value;
}

static int is_set(const char *word, const char *key, const char **value) {
    size_t length = strlen(key);
    if (strncmp(word, key, length) != 0 || word[length] != '=')
        return 0;
    *value = word + length + 1;
    return 1;
}

static void take(struct part *one, const char *word) {
    const char *value;
    if (is_set(word, "program", &value))
        one->program = value;
    else if (is_set(word, "folder", &value))
        one->folder = value;
    else if (is_set(word, "cpus", &value))
        one->cpus = value;
    else if (is_set(word, "cpu_us", &value))
        one->cpu_us = plan_number(value);
    else if (is_set(word, "period_us", &value))
        one->period_us = plan_number(value);
    else if (is_set(word, "memory", &value))
        one->memory = plan_number(value);
    else if (is_set(word, "disk", &value))
        one->disk = plan_number(value);
    else if (is_set(word, "network", &value))
        one->network = plan_number(value);
    else if (strcmp(word, "dummy") == 0)
        one->is_dummy = 1;
    else if (strcmp(word, "needs_disk") == 0)
        one->needs_disk = 1;
    else if (strcmp(word, "needs_network") == 0)
        one->needs_network = 1;
    else
        port_fail("the plan of the mix has an unknown word");
}

static void read_part(char *words) {
    struct part *one = &part[parts];
    char *place = NULL;
    int manifest = 0;
    if (parts == PARTS_MOST)
        port_fail("the plan of the mix has more than 64 parts");
    *one = (struct part){.id = parts++, .listener = -1};
    one->cpu_us = one->period_us = one->memory = one->disk = one->network = NONE;
    for (char *word = strtok_r(words, " ", &place); word != NULL; word = strtok_r(NULL, " ", &place)) {
        if (!manifest && strcmp(word, "--") == 0)
            manifest = 1;
        else if (!manifest)
            take(one, word);
        else if (one->words == WORDS_MOST - 4) // the runner adds up to four
            port_fail("a part of the mix has too many parameters");
        else
            one->word[one->words++] = word;
    }
    if (!one->is_dummy && one->program == NULL)
        port_fail("a part of the mix has no program");
}

static void read_mix(struct plan *plan, char *words) {
    char *place = NULL;
    const char *value;
    for (char *word = strtok_r(words, " ", &place); word != NULL; word = strtok_r(NULL, " ", &place)) {
        if (is_set(word, "least", &value))
            plan->least = (uint64_t)plan_number(value);
        else if (is_set(word, "limit_ms", &value))
            plan->limit_ms = (uint64_t)plan_number(value);
        else
            port_fail("the plan of the mix has an unknown word");
    }
}

static void read_nonce(struct plan *plan) {
    char *place = NULL;
    const char *value;
    contents("/proc/cmdline", command_line, sizeof command_line);
    for (char *word = strtok_r(command_line, " \n", &place); word != NULL;
         word = strtok_r(NULL, " \n", &place))
        if (is_set(word, "bench.nonce", &value))
            snprintf(plan->nonce, sizeof plan->nonce, "%s", value);
    if (plan->nonce[0] == 0)
        port_fail("parameter nonce is missing from the manifest");
}

void plan_read(struct plan *plan) {
    char *place = NULL;
    *plan = (struct plan){0};
    read_nonce(plan);
    contents("/mix", text, sizeof text);
    for (char *line = strtok_r(text, "\n", &place); line != NULL; line = strtok_r(NULL, "\n", &place)) {
        if (strncmp(line, "part ", 5) == 0)
            read_part(line + 5);
        else if (strncmp(line, "mix ", 4) == 0)
            read_mix(plan, line + 4);
        else
            port_fail("the plan of the mix has an unknown line");
    }
    if (parts == 0 || plan->least == 0 || plan->least > RUNS_MOST || plan->limit_ms == 0)
        port_fail("the plan of the mix has no parts, no number of runs or no limit");
}
