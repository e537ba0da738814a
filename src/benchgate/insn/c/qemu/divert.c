#define _GNU_SOURCE
#include "divert.h"

#if INSN_API >= 3

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define JUMP_BYTES 14 // jmp *0(%rip), and the address behind it
#define CODE_BYTES 64
#define RETURN 0xc3

// The length of an instruction with which a function begins, and that does the same at any place; 0: it is
// another one.
static unsigned movable(const uint8_t *code) {
    unsigned rex = (code[0] & 0xf0) == 0x40;
    if (memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0) // endbr64
        return 4;
    if ((code[rex] & 0xf8) == 0x50) // push
        return rex + 1;
    if (rex && code[1] == 0x8d && code[2] >> 6 == 2 && (code[2] & 7) != 4) // lea of a register and 32 bits
        return 7;
    if ((code[rex] & 0xf8) == 0xb8 && !(code[0] & rex << 3)) // mov of 32 bits
        return rex + 5;
    return code[rex] == 0x89 && code[rex + 1] >> 6 == 3 ? rex + 2 : 0; // mov of registers
}

static void write_jump(uint8_t *at, const void *to) {
    memcpy(at, "\xff\x25\0\0\0\0", 6);
    memcpy(at + 6, &to, sizeof to);
}

static bool protect(const uint8_t *site, int more) {
    uintptr_t page = (uintptr_t)site & ~4095ul;
    return syscall(SYS_mprotect, page, 8192, PROT_READ | PROT_EXEC | more) == 0;
}

void *divert_calls(uint8_t *site, const void *to) {
    unsigned length = 0;
    for (unsigned next; length < JUMP_BYTES; length += next)
        if (!(next = movable(site + length)))
            return NULL;
    uint8_t *moved = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (moved == MAP_FAILED)
        return NULL;
    memcpy(moved, site, length);
    write_jump(moved + length, site + length);
    if (syscall(SYS_mprotect, moved, CODE_BYTES, PROT_READ | PROT_EXEC) != 0 || !protect(site, PROT_WRITE))
        return NULL;
    write_jump(site, to);
    protect(site, 0);
    return moved;
}

void divert_flush(bool keeps) {
    static uint8_t other = RETURN; // in place of the first byte of QEMU's function
    uint8_t *site = dlsym(RTLD_DEFAULT, "tb_flush"), was = site ? *site : 0;
    if (keeps == (was == RETURN) || !site || !protect(site, PROT_WRITE))
        return; // where the host forbids it no call is diverted either, and nothing is prepared
    *site = other;
    other = was;
    protect(site, 0);
}

#else

void divert_flush(bool keeps) {
    (void)keeps;
}

#endif
