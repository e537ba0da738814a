// The start of each CPU, words of the kernel's command line, and output.
#include "talker.h"

static bool same_until(const char *at, const char *text, const char **after) {
    while (*text && *at == *text)
        at++, text++;
    *after = at;
    return !*text;
}

bool starts(const char *line, const char *with) {
    const char *after;
    return same_until(line, with, &after);
}

// What follows KEY= on the kernel's command line, or an empty text.
static const char *word(const char *key) {
    for (const char *at = machine_words(), *after; *at; at++)
        if ((at == machine_words() || at[-1] == ' ') && same_until(at, key, &after) && *after == '=')
            return after + 1;
    return "";
}

bool word_is(const char *key, const char *value) {
    const char *after;
    return same_until(word(key), value, &after) && (*after == ' ' || *after == '\0');
}

uint64_t word_number(const char *key) {
    uint64_t value = 0;
    for (const char *at = word(key); *at >= '0' && *at <= '9'; at++)
        value = 10 * value + (uint64_t)(*at - '0');
    return value;
}

void text(const char *at) {
    static int crlf = -1;
    if (crlf < 0)
        crlf = word_is("lines", "crlf");
    for (; *at; at++) {
        if (*at == '\n' && crlf)
            machine_put('\r');
        machine_put(*at);
    }
}

static void digits(uint64_t value) {
    if (value >= 10)
        digits(value / 10);
    machine_put((char)('0' + value % 10));
}

void say(const char *before, uint64_t value, const char *after) {
    text(before);
    digits(value);
    text(after);
}

void talker_main(unsigned me) {
    if (me)
        primes_workers(me);
    text("talker: boots\n");
    disk_counts("it booted\n");
    if (word_is("countdown", "shown"))
        text("talker: any key stops it:  2 \b\b\b 1 \b\b\b 0 \n");
#ifdef FIXED_CPUS // built for so many: it waits for them, and uses no more
    unsigned wanted = FIXED_CPUS;
    text("talker: built for a fixed number of CPUs\n");
#else
    unsigned wanted = machine_cpus();
#endif
    for (unsigned cpu = 1; cpu < wanted && !lie("one-cpu"); cpu++)
        machine_start(cpu);
    while (!lie("one-cpu") && __atomic_load_n(&online, __ATOMIC_ACQUIRE) < wanted)
        bench_relax();
    lie_at_boot();
    if (!word_is("online", "unsaid"))
        say("talker: ", wanted, " CPUs up\n");
    talk();
}
