#include "contention.h"

// The lines that were late lately. A line that takes another's place starts anew, so contention on more
// lines than there are places is noticed later, or not at all.
#define PLACES 64
#define FEWEST_LATE 3 // fewer late accesses to a line are a meeting and not contention
#define APART_NS 1000 // accesses that are further apart belong to different meetings

static struct late_line {
    uint64_t line, time;
    unsigned late;
} places[PLACES];

bool contention_at(uint64_t line, uint64_t time, bool late) {
    struct late_line *place = &places[line % PLACES];
    uint64_t apart = time > place->time ? time - place->time : place->time - time;
    if (place->line != line || apart > APART_NS) {
        if (!late)
            return false;
        *place = (struct late_line){.line = line};
    }
    place->time = time;
    place->late += late;
    return place->late >= FEWEST_LATE;
}
