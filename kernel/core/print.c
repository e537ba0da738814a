#include "core/print.h"

#include <stdint.h>

static size_t put(char *to, size_t size, size_t used, char c) {
    if (used + 1 < size)
        to[used++] = c;
    return used;
}

static size_t put_number(char *to, size_t size, size_t used, uint64_t v, unsigned base) {
    char digits[20];
    unsigned n = 0;
    do {
        digits[n++] = "0123456789abcdef"[v % base];
        v /= base;
    } while (v);
    while (n)
        used = put(to, size, used, digits[--n]);
    return used;
}

size_t format_list(char *to, size_t size, const char *p, va_list list) {
    size_t used = 0;
    for (; *p; p++) {
        if (*p != '%') {
            used = put(to, size, used, *p);
            continue;
        }
        int wide = *++p == 'l';
        p += wide;
        if (*p == 's') {
            for (const char *s = va_arg(list, const char *); *s; s++)
                used = put(to, size, used, *s);
        } else if (*p == 'c') {
            used = put(to, size, used, (char)va_arg(list, int));
        } else if (*p == 'd') {
            int64_t v = wide ? va_arg(list, int64_t) : va_arg(list, int);
            if (v < 0)
                used = put(to, size, used, '-');
            used = put_number(to, size, used, v < 0 ? -(uint64_t)v : (uint64_t)v, 10);
        } else if (*p == 'u' || *p == 'x') {
            uint64_t v = wide ? va_arg(list, uint64_t) : va_arg(list, unsigned);
            used = put_number(to, size, used, v, *p == 'x' ? 16 : 10);
        } else {
            used = put(to, size, used, *p);
        }
    }
    if (size)
        to[used] = 0;
    return used;
}

size_t format(char *to, size_t size, const char *pattern, ...) {
    va_list list;
    va_start(list, pattern);
    size_t used = format_list(to, size, pattern, list);
    va_end(list);
    return used;
}
