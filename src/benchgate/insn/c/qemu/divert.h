// Replaces the begin of a function of QEMU by a jump, before anything calls it.
#ifndef DIVERT_H
#define DIVERT_H

#include <stdbool.h>
#include <stdint.h>

// The calls of `site` come to `to` from now on; gives what they came to before. NULL, and nothing is changed:
// its first instructions do something else at another place, or the host forbids it.
void *divert_calls(uint8_t *site, const void *to);
// Whether QEMU keeps all that it has translated when it loads a snapshot. Else it forgets it, because it was of another
// guest; what a template has prepared (rehearsal.h) is of no guest.
void divert_flush(bool keeps);

#endif
