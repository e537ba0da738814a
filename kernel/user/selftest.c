// Runs if the command line names no workload. Prints one line per check: `selftest: NAME ok` or `selftest:
// NAME FAILED line=N`. A check that failed leaves its ring and its children as they are, so none is run after
// it. Exit status 0 if all passed. selftest=quick (the default: the smokes that run before a
// measurement), =hostile, =bombs, =stress or =all chooses the checks, only=NAME one of them.
#include "user/selftest.h"

#include <stddef.h>

#include "arch/layout.h"

#define SELFTEST_BOARD USER_SHARED // the address of the first shared mapping

struct board *board;

int program(uint64_t first, uint64_t second);

int64_t start(enum ring_spawn kind, body *what, uint64_t argument) {
    // Another process has its own data, but finds the board at the same address.
    return RING_DO(RING_SPAWN, kind, (uint64_t)what, argument);
}

int64_t start_weighted(body *what, uint64_t argument, uint64_t weight) {
    return RING_DO(RING_SPAWN, RING_SPAWN_THREAD, (uint64_t)what, argument, weight);
}

int64_t finish(enum ring_spawn kind, int64_t id) {
    return join(kind, id);
}

uint64_t clock_us(void) {
    uint32_t lo, hi;
    __asm__ volatile("lfence; rdtsc" : "=a"(lo), "=d"(hi)::"memory");
    return ((uint64_t)hi << 32 | lo) / info()->cycles_per_us;
}

static const char *option(const char *key) {
    const char *line = info()->command_line;
    for (size_t i = 0; line[i]; i++) {
        size_t n = 0;
        while (key[n] && line[i + n] == key[n])
            n++;
        if ((i == 0 || line[i - 1] == ' ') && !key[n] && line[i + n] == '=')
            return line + i + n + 1;
    }
    return NULL;
}

uint64_t option_number(const char *key, uint64_t otherwise) {
    const char *text = option(key);
    if (text == NULL)
        return otherwise;
    uint64_t v = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        v = v * 10 + (uint64_t)(*text - '0');
    return v;
}

int option_is(const char *key, const char *value) {
    const char *text = option(key);
    while (text != NULL && *value && *text == *value)
        text++, value++;
    return text != NULL && !*value && (!*text || *text == ' ');
}

// ---- lines

static char line[128];
static size_t used;

static void put(const char *text) {
    while (*text && used < sizeof line)
        line[used++] = *text++;
}

static void put_number(uint64_t v) {
    char digits[21];
    size_t n = sizeof digits;
    digits[--n] = 0;
    do
        digits[--n] = (char)('0' + v % 10);
    while (v /= 10);
    put(digits + n);
}

static unsigned checks_run;
static const char none[] = "selftest: FAILED: no check has that name\n";

static int run(const struct check *check) {
    checks_run++;
    for (unsigned i = 0; i < 64; i++) {
        board->word[i] = 0;
        board->number[i] = 0;
    }
    uint64_t begin = clock_us();
    int failed = check->run();
    used = 0;
    put("selftest: ");
    put(check->name);
    put(failed ? " FAILED line=" : " ok us=");
    put_number(failed ? (uint64_t)failed : clock_us() - begin);
    put("\n");
    write_text(line, used);
    return failed != 0;
}

static int run_all(const struct check *check) {
    int failed = 0;
    for (; check->name != NULL && !failed; check++)
        if (option("only") == NULL || option_is("only", check->name))
            failed = run(check);
    return failed;
}

int program(uint64_t first, uint64_t second) {
    board = (struct board *)SELFTEST_BOARD;
    if (first != 0)
        return ((body *)first)(second);
    if (RING_DO(RING_MAP, sizeof *board, 1) != (int64_t)board)
        return 1;
    int all = option_is("selftest", "all"), failed = 0;
    int quick = all || option("selftest") == NULL || option_is("selftest", "quick");
    if (quick)
        failed = run_all(basic_checks);
    if (quick && !failed)
        failed = run_all(service_checks);
    if ((all || option_is("selftest", "hostile")) && !failed)
        failed = run_all(hostile_checks);
    if ((all || option_is("selftest", "bombs")) && !failed)
        failed = run_all(bomb_checks);
    if ((all || option_is("selftest", "stress")) && !failed)
        failed = run_all(stress_checks);
    if (checks_run == 0) { // no check has that name: not a success
        write_text(none, sizeof none - 1);
        failed = 1;
    }
    used = 0;
    put("selftest: done failed=");
    put_number((uint64_t)failed);
    put("\n");
    write_text(line, used);
    return failed != 0;
}
