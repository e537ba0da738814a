// The functions that the compiler may call, and two for text.
#ifndef CORE_STRING_H
#define CORE_STRING_H

#include <stdbool.h>
#include <stddef.h>

void *memcpy(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);
void *memmove(void *to, const void *from, size_t bytes);
int memcmp(const void *a, const void *b, size_t bytes);
size_t text_length(const char *text);
bool text_same(const char *a, const char *b);

#endif
