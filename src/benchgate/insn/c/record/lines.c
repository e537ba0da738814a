#include "lines.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void lines_fail(struct lines *r, const char *format, ...) {
    if (r->failed)
        return;
    r->failed = true;
    int used = snprintf(r->problem, r->size, "line %u: ", r->number);
    if (used < 0 || (size_t)used >= r->size)
        return;
    va_list values;
    va_start(values, format);
    vsnprintf(r->problem + used, r->size - (size_t)used, format, values);
    va_end(values);
}

static void next_line(struct lines *r) {
    if (r->failed)
        return;
    if (r->again) {
        r->again = false;
        return;
    }
    r->number++;
    r->key = "";
    if (!fgets(r->text, sizeof r->text, r->in)) {
        lines_fail(r, "the file ends here, without its last line `end`");
        return;
    }
    size_t length = strlen(r->text);
    if (length == 0 || r->text[length - 1] != '\n') {
        lines_fail(r, "the line is longer than %d bytes, holds a NUL byte or does not end", LINES_LENGTH - 2);
        return;
    }
    r->text[length - 1] = 0;
    if (length > 1 && r->text[length - 2] == ' ')
        lines_fail(r, "the line ends with a space");
    char *space = strchr(r->text, ' ');
    r->rest = space ? space + 1 : r->text + length - 1;
    if (space)
        *space = 0;
    r->key = r->text;
}

bool lines_next_is(struct lines *r, const char *key) {
    next_line(r);
    r->again = !r->failed;
    return !r->failed && strcmp(r->key, key) == 0;
}

void lines_expect(struct lines *r, const char *key) {
    next_line(r);
    if (!r->failed && strcmp(r->key, key) != 0)
        lines_fail(r, "expected `%s`, found `%s`", key, r->key);
}

uint64_t lines_number(struct lines *r, uint64_t least, uint64_t most) {
    if (r->failed)
        return least;
    size_t digits = strspn(r->rest, "0123456789");
    char after = r->rest[digits];
    if (digits == 0 || digits > 18 || (after && after != ' ')) {
        lines_fail(r, "%s: `%s` does not begin with a decimal number of up to 18 digits", r->key, r->rest);
        return least;
    }
    uint64_t value = strtoull(r->rest, NULL, 10);
    r->rest += digits + (after == ' ');
    if (value < least || value > most)
        lines_fail(r, "%s: %" PRIu64 " is not from %" PRIu64 " to %" PRIu64, r->key, value, least, most);
    return value;
}

void lines_end(struct lines *r) {
    if (!r->failed && *r->rest)
        lines_fail(r, "%s: there is more than expected: `%s`", r->key, r->rest);
}

uint64_t lines_single(struct lines *r, const char *key, uint64_t least, uint64_t most) {
    lines_expect(r, key);
    uint64_t value = lines_number(r, least, most);
    lines_end(r);
    return value;
}

void lines_finish(struct lines *r) {
    lines_expect(r, "end");
    if (!r->failed)
        lines_end(r);
    if (!r->failed && fgetc(r->in) != EOF)
        lines_fail(r, "there is more after `end`");
}
