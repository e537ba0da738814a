// The arithmetic of a request: products of square matrices, modulo 2^64, that an oracle can repeat.
//
// Each operation multiplies a worker's matrix by one that never changes, so after n operations it is A * B^n:
// one operation that is left out changes the result. B is odd on its diagonal and even above it, so its
// determinant is odd, no product loses information, and no two counts of operations give the same result by
// vanishing.
#ifndef SCHBENCH_MATRIX_H
#define SCHBENCH_MATRIX_H

#include <stdint.h>

struct matrices {
    uint64_t *now, *next, *factor; // side * side numbers each; now and next swap
};

// Element `index` of the splitmix64 sequence for `seed`.
static uint64_t splitmix64(uint64_t seed, uint64_t index) {
    uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

static void matrices_fill(struct matrices *m, unsigned side, uint64_t seed) {
    for (uint64_t i = 0; i < side; i++)
        for (uint64_t j = 0; j < side; j++) {
            uint64_t at = i * side + j, factor = splitmix64(0, at);
            m->now[at] = splitmix64(seed, at);
            m->next[at] = 0;
            m->factor[at] = i == j ? factor | 1 : j > i ? factor & ~1ull : factor;
        }
}

static void matrices_multiply(struct matrices *m, unsigned side) {
    const uint64_t *a = m->now, *b = m->factor;
    uint64_t *to = m->next;
    for (unsigned i = 0; i < side; i++)
        for (unsigned j = 0; j < side; j++) {
            uint64_t sum = 0;
            for (unsigned k = 0; k < side; k++)
                sum += a[i * side + k] * b[k * side + j];
            to[i * side + j] = sum;
        }
    m->next = m->now;
    m->now = to;
}

// Depends on the place of every number.
static uint64_t matrices_digest(const struct matrices *m, unsigned side) {
    uint64_t sum = 0;
    for (uint64_t at = 0; at < (uint64_t)side * side; at++)
        sum += m->now[at] * (2 * at + 1);
    return sum;
}

#endif
