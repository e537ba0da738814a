// The functions of QEMU's plugin interface that the clock uses, as QEMU documents them
// (docs/devel/tcg-plugins); distributions ship no header for them. INSN_API is the requested version: 1 (QEMU
// 7.2), 2 (QEMU 9.0), 3 (QEMU 9.1: per-CPU counters in translated code, conditional callbacks) or 7 (QEMU 11.1,
// which takes no older one: a callback is given the pointer with which it was registered, and no plugin's id).
#ifndef QEMU_API_H
#define QEMU_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_scoreboard;

struct qemu_counter {
    struct qemu_plugin_scoreboard *score;
    size_t offset;
};

struct qemu_info {
    const char *target_name;
    struct {
        int min, cur;
    } version;
    bool system_emulation;
    struct {
        int smp_vcpus, max_vcpus;
    } system;
};

enum { QEMU_NO_REGS = 0, QEMU_READS_REGS = 1, QEMU_INLINE_ADD = 0, QEMU_INLINE_STORE = 1, QEMU_COND_EQ = 2, QEMU_COND_NE = 3, QEMU_COND_GE = 7 };
enum { QEMU_READS = 1, QEMU_WRITES = 2, QEMU_READS_AND_WRITES = 3 };

struct qemu_hwaddr; // where in the guest's physical memory an access was

typedef void qemu_exec_callback(unsigned vcpu, void *data);
typedef void qemu_mem_callback(unsigned vcpu, uint32_t info, uint64_t address, void *data);

#if INSN_API >= 7
typedef void qemu_vcpu_callback(unsigned vcpu, void *data);
typedef void qemu_trans_callback(struct qemu_plugin_tb *tb, void *data);
typedef void qemu_exit_callback(void *data);
#define QEMU_DATA , void *data
#else
typedef void qemu_vcpu_callback(uint64_t id, unsigned vcpu);
typedef void qemu_trans_callback(uint64_t id, struct qemu_plugin_tb *tb);
typedef void qemu_exit_callback(uint64_t id, void *data);
#define QEMU_DATA
#endif

void qemu_plugin_register_vcpu_init_cb(uint64_t id, qemu_vcpu_callback *cb QEMU_DATA);
void qemu_plugin_register_vcpu_idle_cb(uint64_t id, qemu_vcpu_callback *cb QEMU_DATA);
void qemu_plugin_register_vcpu_resume_cb(uint64_t id, qemu_vcpu_callback *cb QEMU_DATA);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, qemu_trans_callback *cb QEMU_DATA);
void qemu_plugin_register_atexit_cb(uint64_t id, qemu_exit_callback *cb, void *data);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, qemu_exec_callback *cb, int flags,
                                          void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, qemu_exec_callback *cb, int flags,
                                            void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, qemu_mem_callback *cb, int flags,
                                      int accesses, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t index);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);

#if INSN_API >= 3
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *into, size_t length);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn); // in QEMU's own memory; NULL: not in RAM
// Call this inside the callback of the access only.
struct qemu_hwaddr *qemu_plugin_get_hwaddr(uint32_t info, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_hwaddr *where);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_hwaddr *where);
unsigned qemu_plugin_mem_size_shift(uint32_t info);
void qemu_plugin_register_vcpu_tb_exec_inline_per_vcpu(struct qemu_plugin_tb *tb, int op,
                                                       struct qemu_counter counter, uint64_t value);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *insn, int op,
                                                         struct qemu_counter counter, uint64_t value);
void qemu_plugin_register_vcpu_tb_exec_cond_cb(struct qemu_plugin_tb *tb, qemu_exec_callback *cb, int flags,
                                               int condition, struct qemu_counter counter, uint64_t value,
                                               void *data);
void qemu_plugin_register_vcpu_insn_exec_cond_cb(struct qemu_plugin_insn *insn, qemu_exec_callback *cb,
                                                 int flags, int condition, struct qemu_counter counter,
                                                 uint64_t value, void *data);
void qemu_plugin_register_vcpu_mem_inline_per_vcpu(struct qemu_plugin_insn *insn, int accesses, int op,
                                                   struct qemu_counter counter, uint64_t value);
struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t element_size);
// The vCPU's element; it moves when a vCPU appears.
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *score, unsigned vcpu);
uint64_t qemu_plugin_u64_get(struct qemu_counter counter, unsigned vcpu);
void qemu_plugin_u64_set(struct qemu_counter counter, unsigned vcpu, uint64_t value);
// In arrays of glib. NULL in a QEMU that is too old: 9.0 for registers, 9.2 for memory.
struct qemu_register;
struct qemu_bytes {
    uint8_t *data;
    unsigned length;
};
struct qemu_descriptor { // of a register; newer QEMUs have more in it
    struct qemu_register *handle;
    const char *name, *feature;
};
struct qemu_registers {
    const uint8_t *descriptors;
    unsigned count;
};
unsigned g_array_get_element_size(const struct qemu_registers *array);
struct qemu_bytes *g_byte_array_new(void);
struct qemu_bytes *g_byte_array_set_size(struct qemu_bytes *array, unsigned length);
// Call both in the vCPU's own thread; the second one in a callback with QEMU_READS_REGS only. It appends what
// it reads, and nothing if it fails. (Its result, which is not declared, has another type since API 6.)
__attribute__((weak)) struct qemu_registers *qemu_plugin_get_registers(void);
__attribute__((weak)) void qemu_plugin_read_register(struct qemu_register *handle, struct qemu_bytes *into);
__attribute__((weak)) bool qemu_plugin_read_memory_vaddr(uint64_t address, struct qemu_bytes *into,
                                                         size_t length);
#else
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
#endif

#endif
