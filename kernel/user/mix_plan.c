// The plan of a mix, from the kernel's command line: the words that the Linux guest reads from /mix
// (guest/port/linux/mix/plan.c), one after the other: `mix least=N limit_ms=N`, then for each part
// `part KEY=VALUE ... -- WORD ...`. `part same`: as the part before.
//
// benchgate writes them (guest/mix_guest.py of features/mix), so anything odd ends the run.
#include "user/mix.h"

#define LINE_BYTES 4096
#define LINE_WORDS 1024

static char line[LINE_BYTES];
static const char *words[LINE_WORDS + 1]; // NULL after the last one

static void split(const char *from) {
    unsigned count = 0, i = 0;
    for (; from[i] != 0 && i < LINE_BYTES - 1; i++) {
        line[i] = from[i] == ' ' ? 0 : from[i];
        if (line[i] == 0 || (i > 0 && line[i - 1] != 0))
            continue;
        if (count == LINE_WORDS)
            port_fail("mix: the plan has too many words");
        words[count++] = &line[i];
    }
}

static int same(const char *word, const char *text) {
    while (*text != 0 && *word == *text)
        word++, text++;
    return *word == *text;
}

static const char *value_of(const char *word, const char *key) {
    while (*key != 0 && *word == *key)
        word++, key++;
    return *key == 0 && *word == '=' ? word + 1 : NULL;
}

static uint64_t number(const char *text) {
    uint64_t value = 0;
    for (const char *c = text; *c != 0; c++) {
        if (*c < '0' || *c > '9' || value > UINT64_MAX / 100)
            port_fail("mix: a number of the plan is none");
        value = value * 10 + (uint64_t)(*c - '0');
    }
    return value;
}

static void like(struct part *one, const struct part *other) {
    one->program = other->program;
    one->manifest = other->manifest;
    one->cpu_us = other->cpu_us;
    one->period_us = other->period_us;
}

static void take(struct part *one, const char *word) {
    const char *value;
    if ((value = value_of(word, "program")) != NULL)
        one->program = value;
    else if ((value = value_of(word, "cpu_us")) != NULL)
        one->cpu_us = (int64_t)number(value);
    else if ((value = value_of(word, "period_us")) != NULL)
        one->period_us = (int64_t)number(value);
    else if (same(word, "dummy"))
        one->is_dummy = 1;
    else if (same(word, "same") && one->id > 0)
        like(one, &one[-1]);
    else
        port_fail("mix: this kernel does not know a word of the plan");
}

// From the word after `part`; gives the word after the part.
static const char **read_part(const char **word) {
    if (parts == PARTS_MOST)
        port_fail("mix: more than 64 parts");
    struct part *one = &part[parts];
    one->id = parts++;
    one->cpu_us = one->period_us = MIX_NONE;
    for (; *word != NULL && !same(*word, "part") && !same(*word, "--"); word++)
        take(one, *word);
    if (*word != NULL && same(*word, "--"))
        one->manifest = (const char *const *)++word;
    while (*word != NULL && !same(*word, "part"))
        word++;
    if (!one->is_dummy && (one->program == NULL || one->manifest == NULL))
        port_fail("mix: a part has no program");
    return word;
}

static void keep_nonce(struct plan *plan, const char *value) {
    unsigned i = 0;
    for (; value[i] != 0 && i < NONCE_BYTES - 1; i++)
        plan->nonce[i] = value[i];
    plan->nonce[i] = 0;
}

void plan_read(struct plan *plan, const char *from) {
    const char **word = words, *value;
    split(from);
    for (; *word != NULL && !same(*word, "part"); word++) {
        if ((value = value_of(*word, "least")) != NULL)
            plan->least = number(value);
        else if ((value = value_of(*word, "limit_ms")) != NULL)
            plan->limit_ms = number(value);
        else if ((value = value_of(*word, "bench.nonce")) != NULL)
            keep_nonce(plan, value);
    }
    while (*word != NULL)
        word = read_part(word + 1);
    if (parts == 0 || plan->nonce[0] == 0 || plan->limit_ms == 0 || plan->least == 0 || plan->least > RUNS_MOST)
        port_fail("mix: the plan has no parts, no nonce, no number of runs or no limit");
}
