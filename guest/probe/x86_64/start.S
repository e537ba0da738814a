// The probe guest's entry: from PVH's 32-bit protected mode to 64-bit C, with as few steps as possible.
//
// It uses long mode because real guests do: a hypervisor may be fast in one mode and emulate the other. There
// is no IDT because it takes no interrupts. PVH: Xen's docs/misc/pvh.pandoc, "x86/HVM direct boot ABI".
// Paging and the switch to long mode: Intel SDM volume 3, 10.8.5.

        .section .note.Xen, "a", @note
        .align 4
        .long 4                         // name size
        .long 4                         // descriptor size
        .long 18                        // XEN_ELFNOTE_PHYS32_ENTRY
        .asciz "Xen"
        .long probe_entry

        .section .text.entry, "ax"
        .code32
        .globl probe_entry
probe_entry:
        cli
        movl $(pdpt + 3), pml4          // present, writable
        movl $(pd + 3), pdpt
        movl $0x83, pd                  // one 2 MiB page at 0, which contains the whole guest
        movl $pml4, %eax
        movl %eax, %cr3
        movl %cr4, %eax
        orl $0x20, %eax                 // PAE
        movl %eax, %cr4
        movl $0xc0000080, %ecx          // EFER
        rdmsr
        orl $0x100, %eax                // LME
        wrmsr
        movl %cr0, %eax
        orl $0x80000001, %eax           // PG, PE
        movl %eax, %cr0
        lgdt gdt_pointer
        ljmp $8, $long_mode

        .code64
long_mode:
        movl $16, %eax
        movl %eax, %ds
        movl %eax, %es
        movl %eax, %ss
        movl $stack_top, %esp
        call probe_main
halt:   cli
        hlt
        jmp halt

        .section .rodata
        .align 8
gdt:    .quad 0
        .quad 0x00af9b000000ffff        // 64-bit code
        .quad 0x00cf93000000ffff        // data
gdt_pointer:
        .word gdt_pointer - gdt - 1
        .long gdt

        .bss
        .align 4096
pml4:   .skip 4096
pdpt:   .skip 4096
pd:     .skip 4096
        .skip 4096
stack_top:

        .section .note.GNU-stack, "", @progbits
