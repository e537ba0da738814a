// Writes the file of the guest's threads. An event is a few short lines, and there are up to two events per microsecond:
// printf would cost as much as all the reading.
#ifndef THREADS_TEXT_H
#define THREADS_TEXT_H

#include <stdbool.h>
#include <stdint.h>

bool text_open(const char *path);
bool text_is_open(void);
bool text_is_full(void); // then nothing more is written but the end
void text_restored(uint64_t start); // the guest begins where a snapshot was taken: it has threads already
void text_put(char c);
void text_say(const char *word);
void text_digits(uint64_t value, unsigned base);
void text_number(uint64_t value); // with a space before it
void text_limit(uint64_t time);   // if the file is full now, says since when
void text_flush(void);
void text_end(uint64_t time);

#endif
