// A template: a machine that has no guest yet, or one that was restored and has not begun. It is forked whenever the
// host asks. Each child goes on as a machine that was started by itself, with a seed, a folder, a console, sockets and
// files of its own. A child without a guest then loads the snapshot that it was given.
//
// The host sends one message for each child: descriptors, and texts with a zero between them: "fork SEED MARK NUMBERS
// FOLDER"; of its snapshot, "start TIME:BYTES" and "memory FOLDER"; and "file NAME PATH" for each file that its guest
// finds under this name in QEMU's fw_cfg device. NUMBERS, such as 1:2:3, are the child's for all descriptors but the
// first, which is a socket that only the child has: it sends "pid NUMBER" there, and then "ready" or "failed WHY". What
// the template itself refuses it answers there: "refused WHY". With "can" in place of "fork" it forks nothing and
// answers "yes", or why it could not. The child is a child of the template's parent and dies with it. A template ends
// when its socket is closed.
#ifndef FORKS_H
#define FORKS_H

#include "clock.h"

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

// The same socket takes a machine that has not begun to a moment of its own: "hold TIME" and a descriptor. It answers
// there "held NOW LATEST" when it stands (clock.h), and from then on takes "fork" and "can" as a template does. A fork
// of such a machine goes on from there, with its log and what it has recorded so far; SEED is then the text of the
// plugin's option `turn`, of this moment, or "-" if all rules stay.

// What a child begins with.
struct forks_own {
    uint64_t seed;
    struct clock_moment start;
    const char *snapshot; // its folder
};

// `socket`: where the host asks. `mark` stands in the command line; each child has another of the same length. `log`: the
// path of the template's log. `begins` is called in the child, when its log is open, and gives NULL or why it failed.
// `goes_on`: the same, in a fork of a machine that had begun: it writes the header of its log.
const char *forks_setup(int socket, const char *mark, const char *log, const char *(*begins)(const struct forks_own *),
                        void (*goes_on)(void));
int forks_socket(void); // -1: this is no template
// In the main thread, while no guest runs and no lock is held: forks if the host has asked for it.
void forks_serve(void);
// In the main thread, while the machine is held: does what the host asks, until it goes on.
void forks_stand(void);
// In a fork, at its end: writes how much memory it shares with nobody.
void forks_report(void);

#endif
