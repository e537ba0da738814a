// The stack canary of the hardened profile: the compiler reads it in each prologue and checks it in each
// epilogue.
#include "core/guard.h"

#include "arch/tsc.h"
#include "core/print.h"

uint64_t __stack_chk_guard = 0x5b1ad0c0ffee0a00;

void __stack_chk_fail(void) {
    panic("why=stack-guard caller=%lx", (uint64_t)__builtin_return_address(0));
}

void guard_init(void) {
    __stack_chk_guard ^= now() << 8; // the lowest byte stays zero, which stops string functions
}
