#include "core/options.h"

#include "core/fault.h"
#include "core/print.h"
#include "core/string.h"

#define LINE_BYTES 3072

static char line[LINE_BYTES], words[LINE_BYTES];
static size_t length;

enum fault fault_chosen;
uint64_t fault_value;

void options_read(const char *command_line) {
    for (length = 0; length < LINE_BYTES - 1 && command_line[length]; length++) {
        line[length] = command_line[length];
        words[length] = line[length] > ' ' ? line[length] : 0;
    }
    if (command_line[length])
        panic("why=command-line reason=too-long most=%u", LINE_BYTES - 1);
}

const char *options_all(void) {
    return line;
}

const char *option(const char *key) {
    size_t n = text_length(key);
    for (size_t i = 0; i < length; i += text_length(words + i) + 1)
        if (text_length(words + i) > n && memcmp(words + i, key, n) == 0 && words[i + n] == '=')
            return words + i + n + 1;
    return NULL;
}

bool option_is(const char *key, const char *value) {
    const char *is = option(key);
    return is != NULL && text_same(is, value);
}

static const struct {
    const char *name;
    enum fault fault;
} fault_names[] = {
    {"drop-ipi", FAULT_DROP_IPI},
    {"skip-shootdown", FAULT_SKIP_SHOOTDOWN},
    {"wrong-checksum", FAULT_WRONG_CHECKSUM},
    {"lost-wake", FAULT_LOST_WAKE},
    {"unbounded-steal", FAULT_UNBOUNDED_STEAL},
    {"unfair-weight", FAULT_UNFAIR_WEIGHT},
    {"lock-hold", FAULT_LOCK_HOLD},
    {"idle-spin", FAULT_IDLE_SPIN},
    {"panic", FAULT_PANIC},
};

// NAME or NAME:N
void fault_choose(const char *word) {
    if (word == NULL || text_same(word, "none"))
        return;
    if (!CONFIG_CHECKS)
        panic("why=option word=fault=%s reason=the-fast-profile-has-none", word);
    size_t n = 0;
    while (word[n] && word[n] != ':')
        n++;
    for (size_t i = n; word[i] && word[++i];) {
        if (word[i] < '0' || word[i] > '9' || fault_value > 1000000000)
            panic("why=option word=fault=%s reason=not-a-number", word);
        fault_value = fault_value * 10 + (uint64_t)(word[i] - '0');
    }
    for (unsigned i = 0; i < sizeof fault_names / sizeof *fault_names; i++)
        if (text_length(fault_names[i].name) == n && memcmp(fault_names[i].name, word, n) == 0)
            fault_chosen = fault_names[i].fault;
    if (fault_chosen == FAULT_DROP_IPI && fault_value == 0)
        fault_value = 1; // without N: all of them
    if (fault_chosen == FAULT_NONE)
        panic("why=option word=fault=%s reason=no-such-fault", word);
}
