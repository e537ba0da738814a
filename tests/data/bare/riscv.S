# Entry of every hart, and of its interrupts.
        .section .text.entry, "ax"
        .globl entry
entry:  csrr a0, mhartid
        la t0, trap
        csrw mtvec, t0
        beqz a0, 2f
        la t0, go
1:      .4byte 0x0100000f       # pause
        lw t1, (t0)
        beqz t1, 1b
2:      la sp, stacks
        addi t0, a0, 1
        slli t0, t0, 14
        add sp, sp, t0
        call cpu_main

        .align 4
trap:   addi sp, sp, -128
        .set at, 0
        .irp r, ra, t0, t1, t2, t3, t4, t5, t6, a0, a1, a2, a3, a4, a5, a6, a7
        sd \r, 8 * at(sp)
        .set at, at + 1
        .endr
        csrr a0, mcause
        mv a1, a7
        call interrupted
        .set at, 0
        .irp r, ra, t0, t1, t2, t3, t4, t5, t6, a0, a1, a2, a3, a4, a5, a6, a7
        ld \r, 8 * at(sp)
        .set at, at + 1
        .endr
        addi sp, sp, 128
        mret

# Runs program(a0) in user mode, until it makes the call 93.
        .globl run_program
run_program:
        addi sp, sp, -16
        sd ra, (sp)
        la t0, user
        csrw mepc, t0
        li t0, 0x1800           # the mode to go to
        csrc mstatus, t0
        mret
user:   call program
        li a7, 93
        ecall
        csrci mstatus, 8        # machine mode again (interrupted)
        ld ra, (sp)
        addi sp, sp, 16
        ret

        .bss
        .align 4
stacks: .skip 8 << 14
