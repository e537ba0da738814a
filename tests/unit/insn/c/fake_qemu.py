"""A machine of a few registers and one piece of memory, in place of QEMU: the files of the plugin that watch
a guest run in it, instruction by instruction.

`build` gives a library of such files with MACHINE beside them, and what else a test defines for itself. What
MACHINE calls the clock is at the times that a test sets.
"""

from __future__ import annotations

import ctypes
from collections.abc import Collection
from pathlib import Path

from benchgate.insn.plugin import c_file, c_folders
from tests.ckit import linked

MACHINE = r"""
#include "arch.h"
#include "blocks.h"
#include "clock.h"
#include "journal.h"
#include "rehearsal.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
enum { RDI, RSI, RDX, RCX, RSP, RAX, CS, COUNT };
const struct arch *arch_guest = &arch_x86;
_Thread_local int clock_self;
uint64_t registers[COUNT], vcpu_times[256], shown, rows[4][64];
uint8_t memory[65536]; // of the addresses from 0x10000
bool is_unreadable;
int accessed; // QEMU_READS and QEMU_WRITES: what the next instruction does
unsigned reads;
char journal[1 << 20];
static const char *names[] = {"rdi", "rsi", "rdx", "rcx", "rsp", "rax", "cs"};
static struct { qemu_exec_callback *call; void *data; uint64_t *cell; } done[64];
static unsigned count;
void tick(uint64_t ns) {
    static struct arch coarse;
    coarse = arch_x86;
    coarse.clock_step = ns;
    arch_guest = &coarse;
}
void on_vcpu(int vcpu) { clock_self = vcpu; }
bool rehearsal_level(bool *is_user) { return false; }
bool rehearsal_read(uint64_t address, void *into, size_t size, bool *is_there) { return false; }
uint64_t clock_before(unsigned vcpu, uint64_t left) { return vcpu_times[vcpu] - left; }
uint64_t clock_last_shown(void) { return shown; }
uint64_t products[256];
__attribute__((weak)) uint64_t counts_products(unsigned vcpu) { return products[vcpu]; }
void journal_refuse(const char *format, ...) { puts(format); exit(98); }
size_t journal_line(const char *format, ...) {
    size_t used = strlen(journal);
    va_list arguments;
    va_start(arguments, format);
    vsprintf(journal + used, format, arguments);
    va_end(arguments);
    strcat(journal, "\n");
    return strlen(journal) - used;
}
struct qemu_bytes *g_byte_array_new(void) { return calloc(1, sizeof(struct qemu_bytes)); }
struct qemu_bytes *g_byte_array_set_size(struct qemu_bytes *b, unsigned n) {
    b->data = realloc(b->data, sizeof memory), b->length = n;
    return b;
}
struct newer { // a descriptor as QEMU 11.1 has it
    struct qemu_descriptor one;
    bool is_readonly;
};
unsigned g_array_get_element_size(const struct qemu_registers *all) { return sizeof(struct newer); }
struct qemu_registers *qemu_plugin_get_registers(void) {
    struct qemu_registers *all = calloc(1, sizeof *all);
    struct newer *each = calloc(COUNT, sizeof *each);
    for (int i = 0; i < COUNT; i++)
        each[i].one.name = names[i], each[i].one.handle = (void *)(uintptr_t)(i + 1);
    all->descriptors = (uint8_t *)each, all->count = COUNT;
    return all;
}
void qemu_plugin_read_register(struct qemu_register *handle, struct qemu_bytes *into) {
    unsigned n = (uintptr_t)handle - 1, size = n == CS ? 4 : 8;
    if (is_unreadable)
        return;
    g_byte_array_set_size(into, size);
    memcpy(into->data, &registers[n], size);
}
bool qemu_plugin_read_memory_vaddr(uint64_t at, struct qemu_bytes *into, size_t n) {
    reads++;
    if (at < 0x10000 || at + n > 0x10000 + sizeof memory)
        return false;
    g_byte_array_set_size(into, n);
    memcpy(into->data, memory + at - 0x10000, n);
    return true;
}
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t size) { return (void *)rows; }
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score, unsigned vcpu) { return rows[vcpu]; }
uint64_t qemu_plugin_u64_get(struct qemu_counter c, unsigned vcpu) { return rows[vcpu][c.offset / 8]; }
void qemu_plugin_u64_set(struct qemu_counter c, unsigned vcpu, uint64_t value) {
    rows[vcpu][c.offset / 8] = value;
}
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_exec_callback *call,
                                            int flags, void *data) {
    done[count].call = call, done[count].cell = NULL, done[count++].data = data;
}
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn, int op,
                                                         struct qemu_counter c, uint64_t value) {
    done[count].call = NULL, done[count++].cell = rows[0] + c.offset / 8;
}
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *tb, int op,
                                                       struct qemu_counter c, uint64_t value) {
    done[count].call = NULL, done[count++].cell = rows[0] + c.offset / 8;
}
void qemu_plugin_register_vcpu_mem_inline_per_vcpu(struct qemu_plugin_insn *insn, int accesses, int op,
                                                   struct qemu_counter c, uint64_t value) {
    for (int kind = accesses; accessed & kind; kind = 0)
        done[count].call = NULL, done[count++].cell = rows[0] + c.offset / 8;
}
void run(unsigned vcpu) {
    for (unsigned i = 0; i < count; i++)
        if (done[i].call)
            done[i].call(vcpu, done[i].data);
        else
            done[i].cell[64 * vcpu]++;
}
void forget(void) { count = 0; }
unsigned known(void) { return count; }
"""
KERNEL, USER = 0x10, 0x33
SYSCALL, NOP = "0f05", "90"
WORK_BEGIN, WORK_END, TOTAL_BEGIN, TOTAL_END = 1, 2, 3, 4
FLAGS = ("-std=gnu11", "-O1", "-shared", "-fPIC", "-DINSN_API=3", "-w")


class Insn(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_uint8 * 15), ("length", ctypes.c_size_t))

    @classmethod
    def of(cls, code: str) -> Insn:
        return cls((ctypes.c_uint8 * 15)(*bytes.fromhex(code)), len(code) // 2)


def build(
    made: Path,
    files: Collection[str],
    beside: Collection[str],
    own: str = "",
    change: tuple[str, str] = ("", ""),
) -> ctypes.CDLL:
    """A library of the files of the plugin. `own`: C of the test, behind MACHINE. `change` replaces a text of
    `files`, to prove that a test can fail."""
    texts = {name: c_file(f"{name}.c").read_text(encoding="utf-8") for name in (*files, *beside)}
    assert not change[0] or any(change[0] in texts[name] for name in files)
    sources = {"machine.c": MACHINE + own}
    for name, text in texts.items():
        sources[f"{name}.c"] = text.replace(*change) if change[0] and name in files else text
    words = (*FLAGS, *(f"-I{c_folder}" for c_folder in c_folders()))
    return ctypes.CDLL(str(linked(made, words, sources, {})))


def set_registers(
    library: ctypes.CDLL, args: Collection[int], stack: int = 0, rax: int = 0, cs: int = 0
) -> None:
    cells = (ctypes.c_uint64 * 7).in_dll(library, "registers")
    cells[:] = [*(*args, 0, 0, 0, 0)[:4], stack, rax, cs]


def set_time(library: ctypes.CDLL, vcpu: int, time: int) -> None:
    (ctypes.c_uint64 * 256).in_dll(library, "vcpu_times")[vcpu] = time


def poke(library: ctypes.CDLL, address: int, value: bytes) -> None:
    memory = (ctypes.c_uint8 * 65536).in_dll(library, "memory")
    memory[address - 0x10000 : address - 0x10000 + len(value)] = list(value)


def journal(library: ctypes.CDLL) -> list[str]:
    return (ctypes.c_char * (1 << 20)).in_dll(library, "journal").value.decode().splitlines()


def run(library: ctypes.CDLL, vcpu: int) -> None:
    """What was registered for one instruction, once."""
    library.run(vcpu)
    library.forget()
