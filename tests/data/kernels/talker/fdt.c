// The kernel's command line in a flattened device tree (Devicetree Specification, version 0.4, chapter 5).
#include "talker.h"

enum { BEGIN_NODE = 1, END_NODE = 2, PROPERTY = 3, NOP = 4 };

static uint32_t big_endian(const uint8_t *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static bool same(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

// The first property of that name, or an empty text.
static const char *property(const uint8_t *tree, const char *name) {
    const uint8_t *at = tree + big_endian(tree + 8);
    const char *names = (const char *)tree + big_endian(tree + 12);
    for (;;) {
        uint32_t token = big_endian(at), length = big_endian(at + 4);
        at += 4;
        if (token == BEGIN_NODE) {
            while (*at)
                at++;
            at = (const uint8_t *)(((uintptr_t)at + 4) & ~(uintptr_t)3);
        } else if (token == PROPERTY) {
            if (same(names + big_endian(at + 4), name))
                return (const char *)at + 8;
            at += 8 + ((length + 3) & ~3u);
        } else if (token != END_NODE && token != NOP)
            return "";
    }
}

const char *fdt_words(const void *tree) {
    static const char *found; // a search takes longer than a short window may be off
    if (!found)
        found = property(tree, "bootargs");
    return found;
}
