// A program's interface to the kernel: its ring, one operation at a time, and the info page.
#ifndef USER_RUNTIME_H
#define USER_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#include "ring/abi.h"

// The program's entry. Its first main thread has first = 0; every other thread and process has the arguments
// given to spawn.
int program(uint64_t first, uint64_t second);

const struct ring_info *info(void);
struct ring *my_ring(void);
int64_t kernel_call(enum ring_call call, uint64_t first, uint64_t second, uint64_t third);

void *memcpy(void *to, const void *from, size_t bytes);
void *memset(void *to, int byte, size_t bytes);

// Submits one operation and waits until it is complete. words may be NULL.
int64_t ring_do(enum ring_operation operation, const uint64_t argument[5], uint64_t words[2]);
#define RING_DO(operation, ...) ring_do(operation, (const uint64_t[5]){__VA_ARGS__}, 0)

int64_t spawn(enum ring_spawn kind, uint64_t first, uint64_t second);
int64_t join(enum ring_spawn kind, int64_t id);  // the exit status, or a negative error
void wait_while(uint32_t *word, uint32_t value); // parks while *word == value
void wake(uint32_t *word, uint64_t most);
void write_text(const char *text, uint64_t length);

#endif
