// The stack canary of the hardened profile. guard_init is called once, by a function that never returns,
// because it changes the canary under its callers.
#ifndef CORE_GUARD_H
#define CORE_GUARD_H

#include <stdint.h>

extern uint64_t __stack_chk_guard;
_Noreturn void __stack_chk_fail(void);
void guard_init(void);

#endif
