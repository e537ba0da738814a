// RISC-V under OpenSBI, in S mode: a0 is the hart, a1 the device tree or, for harts that the first one starts,
// the CPU's number. (RISC-V Supervisor Binary Interface Specification, version 1.0, chapter 9.)
        .section .text.entry, "ax"
        .globl _start, other_start
_start: la      t0, first_hart
        sd      a0, 0(t0)
        la      t0, device_tree
        sd      a1, 0(t0)
        li      a1, 0
other_start:
        mv      tp, a1
        la      sp, stacks
        addi    t0, a1, 1
        slli    t0, t0, 14
        add     sp, sp, t0
        mv      a0, a1
        call    cpu_main
1:      wfi
        j       1b

        .bss
        .align  12
stacks: .skip   65 * 0x4000
        .section .note.GNU-stack, "", @progbits
