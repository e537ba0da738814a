# What probe.S measures, for the `virt` machine of RISC-V (64 bits), in machine mode without firmware.
#
# It prints one line on the UART and leaves through the SiFive test device:
#   probe loop=L timer=T sleep=S ap=A
#   L  `mcycle` during a marked loop of 2,000,000 instructions
#   T  ticks of the machine timer (10,000,000 a second) during 12,000,000 instructions
#   S  `mcycle` over a sleep (wfi) that the machine timer ends after 100,000 ticks, 10 ms
#   A  `mcycle` during 10,000,000 instructions and the wait for a second hart, which is woken after them and
#      executes 2,000,000 instructions; 0 if there is no second hart
        .equ UART, 0x10000000
        .equ TEST, 0x100000
        .equ MSIP, 0x2000000
        .equ MTIMECMP, 0x2004000
        .equ MTIME, 0x200bff8
        .option norvc
        .section .text
        .globl start
start:  csrr t0, mhartid
        bnez t0, second
        la sp, stack

        # loop: 2,000,000 instructions between two marks
        csrr s0, mcycle
        slti x0, s2, 0x401
        li t0, 1000000
1:      addi t0, t0, -1
        bnez t0, 1b
        slti x0, s2, 0x402
        csrr s1, mcycle
        sub s3, s1, s0

        # timer
        li s0, MTIME
        ld s1, (s0)
        li t0, 6000000
1:      addi t0, t0, -1
        bnez t0, 1b
        ld s4, (s0)
        sub s4, s4, s1

        # sleep: the interrupt is enabled but never taken
        li t0, 0x80
        csrw mie, t0
        csrr s1, mcycle
        ld t0, (s0)
        li t1, 100000
        add t0, t0, t1
        li t1, MTIMECMP
        sd t0, (t1)
1:      wfi
        csrr t0, mip
        andi t0, t0, 0x80
        beqz t0, 1b
        csrr s5, mcycle
        sub s5, s5, s1
        csrw mie, x0

        # ap
        li s6, 0
        li t0, CPUS
        li t1, 1
        beq t0, t1, report
        csrr s1, mcycle
        li t0, 5000000
1:      addi t0, t0, -1
        bnez t0, 1b
        li t0, MSIP
        sw t1, 4(t0)
        la t0, ap_done
1:      lw t1, (t0)
        beqz t1, 1b
        csrr s6, mcycle
        sub s6, s6, s1

report: la a0, text_loop
        mv a1, s3
        jal print_item
        la a0, text_timer
        mv a1, s4
        jal print_item
        la a0, text_sleep
        mv a1, s5
        jal print_item
        la a0, text_ap
        mv a1, s6
        jal print_item
        li t0, 10
        li t1, UART
        sb t0, (t1)
        li t0, TEST
        li t1, 0x215555         # success, exit status 33
        sw t1, (t0)
1:      wfi
        j 1b

second: li t0, 8
        csrw mie, t0
1:      wfi
        csrr t0, mip
        andi t0, t0, 8
        beqz t0, 1b
        li t0, 1000000
1:      addi t0, t0, -1
        bnez t0, 1b
        la t0, ap_done
        li t1, 1
        sw t1, (t0)
        csrw mie, x0
1:      wfi
        j 1b

print_item:                     # the text at a0, then a1 as a decimal
        li t1, UART
1:      lbu t0, (a0)
        beqz t0, 2f
        sb t0, (t1)
        addi a0, a0, 1
        j 1b
2:      la a0, digits_end
        li t2, 10
3:      remu t0, a1, t2
        divu a1, a1, t2
        addi t0, t0, 48
        addi a0, a0, -1
        sb t0, (a0)
        bnez a1, 3b
        la t2, digits_end
4:      lbu t0, (a0)
        sb t0, (t1)
        addi a0, a0, 1
        bltu a0, t2, 4b
        ret

text_loop:  .asciz "probe loop="
text_timer: .asciz " timer="
text_sleep: .asciz " sleep="
text_ap:    .asciz " ap="

        .section .bss
        .align 4
ap_done:     .skip 8
digits:      .skip 24
digits_end:
        .skip 1024
stack:
