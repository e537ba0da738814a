// A reader may return before the call that wrote what it read has returned, on another CPU. So an object has
// either bytes that are written and not read, or bytes that are read and whose writer is not known yet.
#include "exchanges.h"

#include "returns.h"

#include <stdlib.h>

#define TABLE 8192 // a power of two
#define MOST 64    // of stretches of bytes in one object; those of one thread that follow each other are one

struct stretch {
    uint64_t thread, number, bytes; // `number` of the call that read them
};

struct object {
    uint64_t key; // 0: free
    bool is_read; // the stretches have been read, and wait for their writers
    unsigned first, count;
    struct stretch stretches[MOST];
};

static struct object *table[TABLE];

static struct object *find(uint64_t key) {
    uint64_t mixed = key * 0x9e3779b97f4a7c15u;
    for (unsigned i = 0; i < TABLE / 2; i++) {
        struct object **place = &table[((mixed >> 40) + i) % TABLE];
        if (!*place && (*place = calloc(1, sizeof **place)))
            (*place)->key = key;
        if (!*place || (*place)->key == key)
            return *place;
    }
    return NULL;
}

static bool append(struct object *o, bool is_read, uint64_t thread, uint64_t number, uint64_t bytes) {
    struct stretch *last = &o->stretches[(o->first + o->count - 1) % MOST];
    o->is_read = is_read;
    if (o->count && last->thread == thread && last->number == number) {
        last->bytes += bytes;
        return true;
    }
    if (o->count == MOST)
        return false;
    o->stretches[(o->first + o->count++) % MOST] = (struct stretch){thread, number, bytes};
    return true;
}

// Takes at most so many bytes from the front: their stretch, with as many as there were.
static struct stretch take(struct object *o, uint64_t most) {
    struct stretch *front = &o->stretches[o->first], taken = *front;
    if (taken.bytes > most)
        taken.bytes = most;
    front->bytes -= taken.bytes;
    if (!front->bytes) {
        o->first = (o->first + 1) % MOST;
        o->count--;
    }
    return taken;
}

bool exchanges_put(uint64_t key, uint64_t thread, unsigned vcpu, uint64_t bytes) {
    struct object *o = find(key);
    while (o && bytes && o->count && o->is_read) {
        struct stretch taken = take(o, bytes);
        bytes -= taken.bytes;
        if (taken.thread != thread)
            returns_exchanged(vcpu, taken.number, taken.bytes);
    }
    return o && (!bytes || append(o, false, thread, 0, bytes));
}

bool exchanges_got(uint64_t key, uint64_t thread, unsigned vcpu, uint64_t number, uint64_t bytes) {
    struct object *o = find(key);
    while (o && bytes && o->count && !o->is_read) {
        struct stretch taken = take(o, bytes);
        bytes -= taken.bytes;
        if (taken.thread != thread)
            returns_exchanged(vcpu, number, taken.bytes);
    }
    return o && (!bytes || append(o, true, thread, number, bytes));
}
