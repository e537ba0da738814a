// Repeatable random values: each is a hash of its purpose and not drawn from a stream, so an event without
// effect does not shift later ones. Pure.
#ifndef CHANCE_H
#define CHANCE_H

#include <stdint.h>

// splitmix64's finaliser (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators).
static inline uint64_t chance_mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// `salt` tells one use from another.
static inline uint64_t chance_of(uint64_t seed, uint64_t salt, uint64_t when, uint64_t who) {
    return chance_mix(chance_mix(chance_mix(seed ^ salt) ^ when) ^ who);
}

#endif
