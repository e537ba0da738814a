#include "talk.h"

#include <stdlib.h>
#include <string.h>

void talk_begin(struct talk *t, uint64_t bytes, uint64_t now) {
    *t = (struct talk){.state = TALK_STOPPED,
                       .kind = bytes ? TALK_QUIET : TALK_START,
                       .limit = TALK_NEVER,
                       .heard = bytes,
                       .since = now};
}

static bool number(const char **text, uint64_t *value) {
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    *value = strtoull(*text, &end, 10);
    if (*end != ' ')
        return false;
    *text = end + 1;
    return true;
}

static int digit(char c) {
    static const char digits[] = "0123456789abcdef";
    const char *found = c ? strchr(digits, c) : NULL;
    return found ? (int)(found - digits) : -1;
}

static bool queue(struct talk *t, const char *hex, uint64_t now) {
    size_t many = strlen(hex) / 2;
    if (strcmp(hex, "-") == 0)
        return true;
    if (strlen(hex) % 2 || many == 0 || many > TALK_BYTES - t->waiting)
        return false;
    for (size_t i = 0; i < many; i++) {
        int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        t->bytes[t->waiting + i] = (uint8_t)(16 * high + low);
    }
    if (t->waiting == 0)
        t->next_byte = now;
    t->waiting += many;
    t->news = true;
    return true;
}

bool talk_answer(struct talk *t, const char *text, uint64_t now) {
    uint64_t quiet, limit, pace;
    if (strcmp(text, "free") == 0) {
        t->state = TALK_FREE;
        return true;
    }
    if (strcmp(text, "pause") == 0) {
        t->state = TALK_PAUSED;
        return true;
    }
    if (strncmp(text, "go ", 3) != 0)
        return false;
    text += 3;
    if (!number(&text, &quiet) || !number(&text, &limit) || !number(&text, &pace) || !queue(t, text, now))
        return false;
    t->quiet = quiet;
    t->limit = limit;
    t->pace = pace;
    t->state = TALK_RUNS;
    return true;
}

void talk_printed(struct talk *t, uint64_t bytes, uint64_t last) {
    if (bytes != t->heard && t->since < last)
        t->since = last;
}

bool talk_is_full(const struct talk *t, uint64_t bytes) {
    return t->state == TALK_RUNS && bytes - t->heard >= TALK_PRINTED;
}

bool talk_has_news(const struct talk *t, uint64_t bytes) {
    return t->news || bytes != t->heard;
}

int talk_take(struct talk *t, uint64_t now) {
    if (t->state == TALK_STOPPED || t->state == TALK_PAUSED || !t->waiting || t->next_byte > now)
        return -1;
    int byte = t->bytes[0];
    memmove(t->bytes, t->bytes + 1, --t->waiting);
    if (t->since < t->next_byte)
        t->since = t->next_byte;
    t->next_byte += t->pace;
    return byte;
}

static uint64_t quiet_from(const struct talk *t, uint64_t bytes) {
    if (t->waiting || !talk_has_news(t, bytes) || t->since > TALK_NEVER - t->quiet)
        return TALK_NEVER;
    return t->since + t->quiet;
}

uint64_t talk_next(const struct talk *t, uint64_t bytes) {
    uint64_t next = t->waiting ? t->next_byte : quiet_from(t, bytes);
    if (t->state != TALK_RUNS)
        return t->state == TALK_FREE && t->waiting ? next : TALK_NEVER;
    if (talk_is_full(t, bytes))
        return t->since;
    return next < t->limit ? next : t->limit;
}

enum talk_kind talk_stop(struct talk *t, uint64_t bytes, uint64_t now) {
    if (t->state != TALK_RUNS)
        return TALK_NONE;
    enum talk_kind why = now >= quiet_from(t, bytes) ? TALK_QUIET
                         : talk_is_full(t, bytes)    ? TALK_FULL
                         : now >= t->limit           ? TALK_LATE
                                                     : TALK_NONE;
    if (why == TALK_NONE)
        return why;
    t->state = TALK_STOPPED;
    t->kind = why;
    t->heard = bytes;
    t->news = false;
    return why;
}
