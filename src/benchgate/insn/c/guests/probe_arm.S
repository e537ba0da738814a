// What probe.S measures, for the `virt` machine of AArch64 with a GICv2.
//
// It prints one line on the UART and leaves by semihosting:
//   probe loop=L timer=T sleep=S ap=A
//   L  the virtual counter, in ns, during a marked loop of 2,000,000 instructions
//   T  the physical counter, in ns, during 12,000,000 instructions
//   S  the virtual counter, in ns, over a sleep (wfi) that the virtual timer ends after 10 ms
//   A  the virtual counter, in ns, during 10,000,000 instructions and the wait for a second CPU, which is started
//      after them (PSCI) and executes 2,000,000 instructions; 0 if there is no second CPU
        .equ UART, 0x09000000
        .equ GICD, 0x08000000
        .equ GICC, 0x08010000
        .equ TIMER_INTERRUPT, 27
        .section .text
        .globl start
start:  ldr x0, =stack
        mov sp, x0
        mrs x0, cntfrq_el0
        ldr x28, =1000000000
        udiv x28, x28, x0       // ns in a tick of both counters

        // loop: 2,000,000 instructions between two marks
        mrs x19, cntvct_el0
        movz xzr, #0x4c01
        ldr x0, =1000000
1:      subs x0, x0, #1
        b.ne 1b
        movz xzr, #0x4c02
        mrs x20, cntvct_el0
        sub x20, x20, x19
        mul x20, x20, x28

        // timer
        mrs x19, cntpct_el0
        ldr x0, =6000000
1:      subs x0, x0, #1
        b.ne 1b
        mrs x21, cntpct_el0
        sub x21, x21, x19
        mul x21, x21, x28

        // sleep: the interrupt is enabled at the GIC but never taken
        ldr x0, =GICD
        mov w1, #1
        str w1, [x0]
        mov w1, #1 << TIMER_INTERRUPT
        str w1, [x0, #0x100]
        ldr x0, =GICC
        mov w1, #0xff
        str w1, [x0, #4]
        mov w1, #1
        str w1, [x0]
        mrs x19, cntvct_el0
        ldr x0, =10000000
        udiv x0, x0, x28
        add x0, x0, x19
        msr cntv_cval_el0, x0
        mov x0, #1
        msr cntv_ctl_el0, x0
        isb
1:      wfi
        mrs x0, cntv_ctl_el0
        tbz x0, #2, 1b
        mrs x22, cntvct_el0
        sub x22, x22, x19
        mul x22, x22, x28
        msr cntv_ctl_el0, xzr

        // ap
        mov x23, #0
        mov x0, #CPUS
        cmp x0, #1
        b.eq report
        mrs x19, cntvct_el0
        ldr x0, =5000000
1:      subs x0, x0, #1
        b.ne 1b
        ldr x0, =0xc4000003     // CPU_ON
        mov x1, #1
        ldr x2, =second
        hvc #0
        ldr x1, =ap_done
1:      ldr w0, [x1]
        cbz w0, 1b
        mrs x23, cntvct_el0
        sub x23, x23, x19
        mul x23, x23, x28

report: ldr x0, =text_loop
        mov x1, x20
        bl print_item
        ldr x0, =text_timer
        mov x1, x21
        bl print_item
        ldr x0, =text_sleep
        mov x1, x22
        bl print_item
        ldr x0, =text_ap
        mov x1, x23
        bl print_item
        ldr x3, =UART
        mov w2, #10
        str w2, [x3]
        mov x0, #0x20           // SYS_EXIT_EXTENDED
        ldr x1, =exit_block
        hlt #0xf000
1:      wfi
        b 1b

second: ldr x0, =1000000
1:      subs x0, x0, #1
        b.ne 1b
        ldr x1, =ap_done
        mov w0, #1
        str w0, [x1]
1:      wfi
        b 1b

print_item:                     // the text at x0, then x1 as a decimal
        ldr x3, =UART
1:      ldrb w2, [x0], #1
        cbz w2, 2f
        str w2, [x3]
        b 1b
2:      ldr x0, =digits_end
        mov x4, #10
3:      udiv x5, x1, x4
        msub x2, x5, x4, x1
        mov x1, x5
        add w2, w2, #48
        strb w2, [x0, #-1]!
        cbnz x1, 3b
        ldr x4, =digits_end
4:      ldrb w2, [x0], #1
        str w2, [x3]
        cmp x0, x4
        b.ne 4b
        ret

        .ltorg
        .align 3
exit_block: .quad 0x20026, 33   // ADP_Stopped_ApplicationExit, exit status
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
        .align 4
stack:
