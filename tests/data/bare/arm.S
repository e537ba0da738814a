// Entry of every CPU, and of its interrupts.
        .section .text.entry, "ax"
        .globl entry, second
entry:
second: mrs x0, mpidr_el1
        and x0, x0, #0xff
        ldr x1, =vectors
        msr vbar_el1, x1
        isb
        ldr x1, =stacks
        add x2, x0, #1
        add x1, x1, x2, lsl #14
        mov sp, x1
        bl cpu_main

        .text
        .align 11
vectors:                                // interrupts have the sixth slot, calls the fifth and, of programs, the ninth
        .set slot, 0
        .rept 16
        .align 7
        .if slot == 4 || slot == 8
        b called
        .else
        b trap
        .endif
        .set slot, slot + 1
        .endr

        .macro handle function
        stp x0, x1, [sp, #-176]!
        stp x2, x3, [sp, #16]
        stp x4, x5, [sp, #32]
        stp x6, x7, [sp, #48]
        stp x8, x9, [sp, #64]
        stp x10, x11, [sp, #80]
        stp x12, x13, [sp, #96]
        stp x14, x15, [sp, #112]
        stp x16, x17, [sp, #128]
        stp x18, x29, [sp, #144]
        str x30, [sp, #160]
        mov x0, x8
        bl \function
        ldp x2, x3, [sp, #16]
        ldp x4, x5, [sp, #32]
        ldp x6, x7, [sp, #48]
        ldp x8, x9, [sp, #64]
        ldp x10, x11, [sp, #80]
        ldp x12, x13, [sp, #96]
        ldp x14, x15, [sp, #112]
        ldp x16, x17, [sp, #128]
        ldp x18, x29, [sp, #144]
        ldr x30, [sp, #160]
        ldp x0, x1, [sp], #176
        eret
        .endm

        .align 7
trap:   handle interrupted
called: handle call_made

// Runs program(x0) at EL0, until it makes the call 93.
        .globl run_program
run_program:
        stp x29, x30, [sp, #-16]!
        sub x1, sp, #4096
        msr sp_el0, x1
        adr x1, user
        msr elr_el1, x1
        mov x1, #0x3c0                  // EL0, interrupts masked
        msr spsr_el1, x1
        eret
user:   bl program
        mov x8, #93
        svc #0
        ldp x29, x30, [sp], #16         // EL1 again (call_made)
        ret

        .bss
        .align 4
stacks: .skip 8 << 14
