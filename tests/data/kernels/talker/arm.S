// AArch64 at EL1, as QEMU starts an ELF file on virt: CPU 0 only. PSCI starts the others with their number in x0.
// The MMU stays off.
        .section .text.entry, "ax"
        .globl _start, other_start
_start: mov     x0, #0
other_start:
        adrp    x1, stacks
        add     x1, x1, :lo12:stacks
        add     x2, x0, #1
        add     x1, x1, x2, lsl #14
        mov     sp, x1
        msr     tpidr_el1, x0
        adrp    x1, vectors
        add     x1, x1, :lo12:vectors
        msr     vbar_el1, x1
        bl      cpu_main
1:      wfi
        b       1b

        .align  11
vectors:
        .rept   5
        b       .                       // any exception but an interrupt: the test sees the deadline
        .align  7
        .endr
        b       interrupt               // of the current exception level, with its own stack pointer
        .align  7
        .rept   10
        b       .
        .align  7
        .endr

interrupt:
        sub     sp, sp, #176
        stp     x0, x1, [sp, #0]
        stp     x2, x3, [sp, #16]
        stp     x4, x5, [sp, #32]
        stp     x6, x7, [sp, #48]
        stp     x8, x9, [sp, #64]
        stp     x10, x11, [sp, #80]
        stp     x12, x13, [sp, #96]
        stp     x14, x15, [sp, #112]
        stp     x16, x17, [sp, #128]
        stp     x18, x30, [sp, #144]
        bl      on_interrupt
        ldp     x18, x30, [sp, #144]
        ldp     x16, x17, [sp, #128]
        ldp     x14, x15, [sp, #112]
        ldp     x12, x13, [sp, #96]
        ldp     x10, x11, [sp, #80]
        ldp     x8, x9, [sp, #64]
        ldp     x6, x7, [sp, #48]
        ldp     x4, x5, [sp, #32]
        ldp     x2, x3, [sp, #16]
        ldp     x0, x1, [sp, #0]
        add     sp, sp, #176
        eret                            // interrupts do not nest, so ELR and SPSR are untouched

        .bss
        .align  12
stacks: .skip   65 * 0x4000
        .section .note.GNU-stack, "", %progbits
