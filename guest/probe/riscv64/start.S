// The probe guest's entry on RISC-V: in machine mode, without firmware. Only the first hart goes on.

        .section .text.entry, "ax"
        .globl probe_entry
probe_entry:
        csrr t0, mhartid
        bnez t0, halt
        la sp, stack_top
        call probe_main
halt:   wfi
        j halt

        .bss
        .align 4
        .skip 4096
stack_top:

        .section .note.GNU-stack, "", @progbits
