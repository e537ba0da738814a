#include "core/string.h"

#include <stdint.h>

void *memcpy(void *to, const void *from, size_t bytes) {
    void *result = to;
    size_t words = bytes / 8;
    bytes %= 8;
    __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(words)::"memory");
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes)::"memory");
    return result;
}

void *memset(void *to, int byte, size_t bytes) {
    void *result = to;
    size_t words = bytes / 8;
    bytes %= 8;
    uint64_t pattern = (uint8_t)byte * 0x0101010101010101ul;
    __asm__ volatile("rep stosq" : "+D"(to), "+c"(words) : "a"(pattern) : "memory");
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(pattern) : "memory");
    return result;
}

void *memmove(void *to, const void *from, size_t bytes) {
    if ((uintptr_t)to - (uintptr_t)from >= bytes)
        return memcpy(to, from, bytes);
    for (char *t = to; bytes--;)
        t[bytes] = ((const char *)from)[bytes];
    return to;
}

int memcmp(const void *a, const void *b, size_t bytes) {
    const unsigned char *x = a, *y = b;
    for (; bytes--; x++, y++)
        if (*x != *y)
            return *x - *y;
    return 0;
}

size_t text_length(const char *text) {
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

bool text_same(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}
