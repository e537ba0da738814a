// Whether two CPUs share a cache beyond their private ones. CPU `one` chases through an array that is larger
// than its private caches and smaller than the next level; then CPU `two`, which has not seen the array, does.
// If they share that level, `two` finds most lines there. Otherwise each load waits for memory or for a cache
// of `one`.
#include "measure.h"

#define SLICE_LOADS 1024u
#define MOST_SHARED_SLICES 4096u

// The median of slices of one traversal: each line is seen once only, because then `two` has it.
static double first_traversal(void **at, size_t lines) {
    static double found[MOST_SHARED_SLICES];
    unsigned slices = 0;
    for (; slices < MOST_SHARED_SLICES && lines >= SLICE_LOADS; slices++, lines -= SLICE_LOADS) {
        double begin = now_ns();
        at = follow(at, SLICE_LOADS);
        found[slices] = (now_ns() - begin) / SLICE_LOADS;
    }
    return median(found, slices);
}

int share(unsigned count, char **words) {
    if (count != 4)
        return 2;
    unsigned one = number(words[0], 65535), two = number(words[1], 65535);
    size_t bytes = bytes_of(words[3]), lines = bytes / LINE_BYTES;
    if (lines < SLICE_LOADS)
        return 2;
    for (unsigned passes = number(words[2], 1000); passes; passes--) {
        pin(one);
        char *memory = map(bytes, HUGE_PAGES);
        void **first = follow(cycle(memory, bytes), 4 * lines);
        sample("own", first_traversal(first, lines));
        pin(two);
        sample("other", first_traversal(first, lines));
        unmap(memory, bytes);
    }
    return 0;
}
