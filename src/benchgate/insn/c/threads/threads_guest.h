// Reads the registers and the memory of the guest inside a callback that QEMU gave permission to read registers.
#ifndef THREADS_GUEST_H
#define THREADS_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GUEST_ARGUMENTS 4 // of a function that are in registers on every architecture, and that can be named

bool guest_can_read(void);        // whether this QEMU lets plugins read memory
bool guest_has_registers(void);   // and registers
bool guest_vcpu(unsigned vcpu);   // it appeared; in its own thread. False: a register has another name here
void guest_begin(unsigned vcpu);  // a new event: what was read before may have changed
uint64_t guest_argument(unsigned vcpu, unsigned number);
uint64_t guest_stack(unsigned vcpu);
uint64_t guest_link(unsigned vcpu); // the register that holds the return address; 0: there is none
uint64_t guest_result(unsigned vcpu); // of a system call or a function that has just returned
uint64_t guest_call(unsigned vcpu); // the number of a system call, when it is made
// Whether it runs a program, and not the kernel; also while a block is translated. False: it cannot be read.
bool guest_level(unsigned vcpu, bool *is_user);
// False, and zeroes, if an address is not mapped.
bool guest_read(unsigned vcpu, uint64_t address, void *into, size_t size);

#endif
