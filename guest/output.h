// The output lines of the wire (docs/wire.md): what a program printed, in pieces that a line can carry.
//
// For one C file of each program that has them, because it defines functions.
#ifndef BENCH_OUTPUT_H
#define BENCH_OUTPUT_H

#include "bench.h"

static int is_plain(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == ':' || c == '-';
}

// The next piece of the output as one value of the wire, which has at most 64 plain characters: any other
// byte is `+` and two hex digits. Returns how many bytes it holds.
static size_t encode(const unsigned char *from, size_t length, char *to) {
    size_t used = 0, done = 0;
    for (; done < length && used + (is_plain(from[done]) ? 1 : 3) <= 64; done++) {
        if (is_plain(from[done])) {
            to[used++] = (char)from[done];
        } else {
            to[used++] = '+';
            to[used++] = "0123456789abcdef"[from[done] >> 4];
            to[used++] = "0123456789abcdef"[from[done] & 15];
        }
    }
    to[used] = 0;
    return done;
}

static void report_output(const unsigned char *text, size_t length) {
    static const char *const keys[] = {"a", "b", "c", "d", "e", "f"};
    char value[65];
    for (size_t at = 0; at < length;) {
        bench_line_begin("output");
        bench_line_u64("at", at);
        for (unsigned i = 0; i < 6 && at < length; i++) {
            at += encode(text + at, length - at, value);
            bench_line_word(keys[i], value);
        }
        bench_line_end();
    }
}

#endif
