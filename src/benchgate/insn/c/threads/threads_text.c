#define _GNU_SOURCE
#include "threads_text.h"

#include <stddef.h>
#include <stdio.h>

#define MOST_BYTES (60u << 20) // insn/threads_log.py reads at most 64 MiB

static FILE *file;
static size_t written;
static bool is_full;

bool text_open(const char *path) {
    file = fopen(path, "we");
    return file;
}

bool text_is_open(void) {
    return file;
}

bool text_is_full(void) {
    return is_full;
}

void text_put(char c) {
    if (is_full)
        return;
    putc_unlocked(c, file);
    written++;
}

void text_say(const char *word) {
    while (*word)
        text_put(*word++);
}

void text_digits(uint64_t value, unsigned base) {
    char reversed[20];
    unsigned count = 0;
    do
        reversed[count++] = "0123456789abcdef"[value % base];
    while (value /= base);
    while (count)
        text_put(reversed[--count]);
}

void text_number(uint64_t value) {
    text_put(' ');
    text_digits(value, 10);
}

static void line(const char *word, uint64_t time) {
    text_say(word);
    text_number(time);
    text_put('\n');
}

void text_restored(uint64_t start) {
    if (!file)
        return;
    text_say("start");
    text_number(start);
    text_put('\n');
}

void text_limit(uint64_t time) {
    if (is_full || written <= MOST_BYTES)
        return;
    line("full", time);
    is_full = true;
}

void text_flush(void) {
    fflush(file);
}

void text_end(uint64_t time) {
    is_full = false;
    line("end", time);
    fclose(file);
    file = NULL;
}
