#include "threads_known.h"

#include <stdlib.h>

#define BUCKETS 4096
#define MOST 1000000 // threads that have not ended; a guest with a wrong offset shows numbers without end

static struct known *table[BUCKETS];
static unsigned count;

static struct known **place(uint64_t id) {
    struct known **at = &table[id % BUCKETS];
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    return at;
}

struct known *known_thread(uint64_t id, uint64_t allowed) {
    struct known **at = place(id);
    if (!*at && count < MOST && (*at = calloc(1, sizeof **at))) {
        (*at)->id = id;
        (*at)->allowed = allowed;
        count++;
    }
    return *at;
}

void known_forget(uint64_t id) {
    struct known **at = place(id), *gone = *at;
    if (!gone)
        return;
    *at = gone->next;
    free(gone);
    count--;
}
