// Objects that threads give bytes to and take them from, in order: pipes and connections. Who takes bytes, and who
// gave them?
#ifndef EXCHANGES_H
#define EXCHANGES_H

#include <stdbool.h>
#include <stdint.h>

// A call of `thread` has returned on vCPU `vcpu`: it put `bytes` into the object, or got them from there. How many
// bytes are known since then to be exchanged goes to returns_exchanged(). False: nothing more can be known of it.
bool exchanges_put(uint64_t object, uint64_t thread, unsigned vcpu, uint64_t bytes);
bool exchanges_got(uint64_t object, uint64_t thread, unsigned vcpu, uint64_t number, uint64_t bytes);

#endif
