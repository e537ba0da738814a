// The memory that QEMU keeps back from the processes that it forks: the guest's.
#ifndef KEPT_BACK_H
#define KEPT_BACK_H

#include <stdbool.h>
#include <stddef.h>

void kept_back(void *at, size_t length);
bool kept_back_give(void); // a process that is forked from now on has it, too; false: it has not

#endif
