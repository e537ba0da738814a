// A small kernel that answers TCP connections, for tests of `ports`. x86-64, one CPU, a card `ne2k_pci`.
//
// Prints `answerer: words=...`, its command line, and `answerer: listens`. Answers what arrives at any TCP port
// with `port N got: ...` and closes the connection; after the text `halt` it also ends QEMU with status 33.
#ifndef ANSWERER_H
#define ANSWERER_H

#include "../../stress/stress.h"
#include <stddef.h>

#define LONGEST 1536

void text(const char *at);
_Noreturn void halt(bool good);

// ---- card.c: frames of Ethernet
extern uint8_t own_address[6];
bool card_open(void);               // false: there is none
size_t card_receive(uint8_t *into); // 0: nothing has arrived
void card_send(const uint8_t *from, size_t length);

// ---- net.c
void net_frame(uint8_t *frame, size_t length); // may answer

#endif
