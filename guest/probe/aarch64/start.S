// The probe guest's entry on AArch64: at exception level 1, without memory management.

        .section .text.entry, "ax"
        .globl probe_entry
probe_entry:
        adrp x0, stack_top
        add x0, x0, :lo12:stack_top
        mov sp, x0
        bl probe_main
halt:   wfi
        b halt

        .bss
        .align 4
        .skip 4096
stack_top:

        .section .note.GNU-stack, "", @progbits
