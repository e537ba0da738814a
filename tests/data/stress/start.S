// Start of the stress guest: PVH entry, long mode with the first 4 GiB mapped, the other CPUs' trampoline.
// PVH: Xen's docs/misc/pvh.pandoc, "x86/HVM direct boot ABI". Paging and the mode switch: Intel SDM volume 3,
// 10.8.5.

        .section .note.Xen, "a", @note
        .align 4
        .long 4                         // name size
        .long 4                         // descriptor size
        .long 18                        // XEN_ELFNOTE_PHYS32_ENTRY
        .asciz "Xen"
        .long entry

        .section .text.entry, "ax"
        .code32
        .globl entry
entry:
        cli
        movl %ebx, start_info
        movl $(pdpt + 3), pml4          // present, writable
        movl $pdpt, %edi
        movl $(pages + 3), %eax
        movl $4, %ecx
1:      movl %eax, (%edi)
        addl $4096, %eax
        addl $8, %edi
        loop 1b
        movl $pages, %edi
        movl $0x83, %eax                // 2 MiB pages
        movl $2048, %ecx
1:      movl %eax, (%edi)
        addl $0x200000, %eax
        addl $8, %edi
        loop 1b
protected:
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
        andl $0x9fffffff, %eax          // caches on
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
        movl $0xfee00020, %eax          // the local APIC's id: which CPU this is
        movl (%rax), %edi
        shrl $24, %edi
        movl %edi, %eax
        incl %eax
        shll $14, %eax
        leaq stacks(%rax), %rsp
        call cpu_main
1:      cli
        hlt
        jmp 1b

        .code16
        .globl trampoline, trampoline_end
trampoline:                             // copied to 0x8000
        cli
        xorw %ax, %ax
        movw %ax, %ds
        lgdtl (gdt_pointer_low - trampoline + 0x8000)
        movl %cr0, %eax
        orl $1, %eax
        movl %eax, %cr0
        ljmpl $24, $(protected_low - trampoline + 0x8000)
        .code32
protected_low:
        movl $16, %eax
        movl %eax, %ds
        movl %eax, %es
        movl %eax, %ss
        movl $protected, %eax
        jmp *%eax
        .align 4
gdt_pointer_low:
        .word 31
        .long gdt
trampoline_end:

        .section .rodata
        .align 8
gdt:    .quad 0
        .quad 0x00af9b000000ffff        // 64-bit code
        .quad 0x00cf93000000ffff        // data
        .quad 0x00cf9b000000ffff        // 32-bit code
gdt_pointer:
        .word gdt_pointer - gdt - 1
        .long gdt

        .data
        .globl start_info
start_info: .long 0

        .bss
        .align 4096
pml4:   .skip 4096
pdpt:   .skip 4096
pages:  .skip 4 * 4096
stacks: .skip 65 * 0x4000

        .section .note.GNU-stack, "", @progbits
