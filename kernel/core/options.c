#include "core/options.h"

#include "core/print.h"
#include "core/string.h"

#define LINE_BYTES 3072

static char line[LINE_BYTES], words[LINE_BYTES];
static size_t length;

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
