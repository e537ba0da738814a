#define _GNU_SOURCE
#include "kept_back.h"

#include <sys/mman.h>

#define MOST 64

static struct {
    void *at;
    size_t length;
} parts[MOST];
static unsigned count;

void kept_back(void *at, size_t length) {
    if (count == MOST)
        return;
    parts[count].at = at;
    parts[count++].length = length;
}

bool kept_back_give(void) {
    for (unsigned i = 0; i < count; i++)
        if (madvise(parts[i].at, parts[i].length, MADV_DOFORK) != 0)
            return false;
    return count < MOST;
}
