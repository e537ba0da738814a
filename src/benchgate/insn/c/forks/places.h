// Where a file is that the command line names: a fork has its own of those in its template's folder.
#ifndef PLACES_H
#define PLACES_H

void places_move(const char *from, const char *to); // of folders; both stay valid
const char *places_own(const char *path); // valid until the next call

#endif
