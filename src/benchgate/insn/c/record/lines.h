// Reads a small text file that benchgate writes: one `key value ...` a line, in a fixed order.
//
// After the first problem nothing more is read; what is wrong, and on which line, is in `problem`.
#ifndef LINES_H
#define LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define LINES_LENGTH 512

struct lines {
    FILE *in;
    unsigned number; // of the line
    char text[LINES_LENGTH];
    char *rest; // of the line: what has not been read
    const char *key;
    bool again; // the line has not been taken yet
    char *problem;
    size_t size;
    bool failed;
};

__attribute__((format(printf, 2, 3))) void lines_fail(struct lines *r, const char *format, ...);
bool lines_next_is(struct lines *r, const char *key); // the line is still to be read
void lines_expect(struct lines *r, const char *key);  // goes to the next line, which has this key
uint64_t lines_number(struct lines *r, uint64_t least, uint64_t most); // the next value of the line
void lines_end(struct lines *r);                                       // it has no more values
uint64_t lines_single(struct lines *r, const char *key, uint64_t least, uint64_t most); // a line of one value
void lines_finish(struct lines *r); // the last line is `end`

#endif
