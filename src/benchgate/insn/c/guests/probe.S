# A guest of a few hundred bytes that measures whether its clocks follow the instructions that it executes.
#
# Multiboot, 32-bit, no paging. It prints one line on COM1 and leaves through isa-debug-exit:
#   probe loop=L pit=P sleep=S ap=A
#   L  TSC ticks of a marked loop of 2,000,000 instructions
#   P  ticks of the PIT (1,193,182 a second) during 12,000,000 instructions
#   S  TSC ticks of a sleep (hlt) that the PIT ends after 11,932 ticks, 10 ms
#   A  TSC ticks from the start signal to a second CPU until it has executed 2,000,000 instructions; 0 if
#      there is no second CPU
# If nothing is printed by the host's deadline, the guest hangs.
        .code32
        .section .text
        .align 4
multiboot:
        .long 0x1badb002, 0, -0x1badb002

        .globl start
start:  cli
        movl $stack, %esp
        lgdt gdt_register
        ljmp $8, $1f
1:      movw $16, %ax
        movw %ax, %ds
        movw %ax, %es
        movw %ax, %ss

        # all vectors share one handler, which sets `fired`; only the PIT's interrupt is unmasked
        movl $interrupt, %eax
        movl $idt, %edi
        movl $256, %ecx
1:      movw %ax, (%edi)
        movw $8, 2(%edi)
        movw $0x8e00, 4(%edi)
        movl %eax, %edx
        shrl $16, %edx
        movw %dx, 6(%edi)
        addl $8, %edi
        loop 1b
        lidt idt_register

        # interrupt controllers: vectors from 0x20 and 0x28; all masked except the PIT's
        movw $0x20, %dx
        movb $0x11, %al
        outb %al, $0x20
        outb %al, $0xa0
        movb $0x20, %al
        outb %al, $0x21
        movb $0x28, %al
        outb %al, $0xa1
        movb $4, %al
        outb %al, $0x21
        movb $2, %al
        outb %al, $0xa1
        movb $1, %al
        outb %al, $0x21
        outb %al, $0xa1
        movb $0xfe, %al
        outb %al, $0x21
        movb $0xff, %al
        outb %al, $0xa1

        # loop: 2,000,000 instructions between two marks and two reads of the TSC
        rdtsc
        movl %eax, %ebx
        .byte 0x0f, 0x1f, 0x84, 0x00
        .long 0x4c420100
        movl $1000000, %ecx
1:      decl %ecx
        jnz 1b
        .byte 0x0f, 0x1f, 0x84, 0x00
        .long 0x4c420200
        rdtsc
        subl %ebx, %eax
        movl %eax, loop_ticks

        # pit: channel 2 counts down from 0xffff during the loop
        inb $0x61, %al
        andb $0xfc, %al
        orb $1, %al
        outb %al, $0x61
        movb $0xb0, %al
        outb %al, $0x43
        movb $0xff, %al
        outb %al, $0x42
        outb %al, $0x42
        call read_pit
        movl %eax, %ebx
        movl $6000000, %ecx
1:      decl %ecx
        jnz 1b
        call read_pit
        subl %eax, %ebx
        movl %ebx, pit_ticks

        # sleep: channel 0 interrupts once after 11,932 ticks
        movb $0x30, %al
        outb %al, $0x43
        rdtsc
        movl %eax, %ebx
        movb $0x9c, %al
        outb %al, $0x40
        movb $0x2e, %al
        outb %al, $0x40
1:      sti
        hlt
        cli
        cmpl $0, fired
        je 1b
        rdtsc
        subl %ebx, %eax
        movl %eax, sleep_ticks

        # ap: INIT, start signal, the second CPU's loop, its flag. CPUS is defined on the command line
        cmpl $1, cpu_count
        je report
        movl $trampoline, %esi
        movl $0x8000, %edi
        movl $trampoline_end - trampoline, %ecx
        rep movsb
        movl $0x1ff, 0xfee000f0
        rdtsc
        movl %eax, %ebx
        movl $0x000c4500, 0xfee00300
        movl $5000000, %ecx
1:      decl %ecx
        jnz 1b
        movl $0x000c4608, 0xfee00300
1:      pause
        cmpl $0, ap_done
        je 1b
        rdtsc
        subl %ebx, %eax
        movl %eax, ap_ticks

report: movl $text_loop, %esi
        movl loop_ticks, %eax
        call print_item
        movl $text_pit, %esi
        movl pit_ticks, %eax
        call print_item
        movl $text_sleep, %esi
        movl sleep_ticks, %eax
        call print_item
        movl $text_ap, %esi
        movl ap_ticks, %eax
        call print_item
        movb $10, %al
        call print_char
        movl $0x10, %eax
        movw $0xf4, %dx
        outl %eax, %dx
1:      hlt
        jmp 1b

interrupt:
        pushl %eax
        movl $1, fired
        movb $0x20, %al
        outb %al, $0x20
        popl %eax
        iret

read_pit:                       # channel 2's count in %eax
        movb $0x80, %al
        outb %al, $0x43
        xorl %eax, %eax
        inb $0x42, %al
        movb %al, %dl
        inb $0x42, %al
        shll $8, %eax
        movb %dl, %al
        ret

print_item:                     # the text at %esi, then %eax as a decimal
        pushl %eax
1:      lodsb
        testb %al, %al
        jz 2f
        call print_char
        jmp 1b
2:      popl %eax
        movl $10, %ebx
        xorl %ecx, %ecx
3:      xorl %edx, %edx
        divl %ebx
        pushl %edx
        incl %ecx
        testl %eax, %eax
        jnz 3b
4:      popl %eax
        addb $48, %al
        call print_char
        loop 4b
        ret

print_char:
        movw $0x3f8, %dx
        outb %al, %dx
        ret

        .code16
trampoline:                     # real mode, 0x8000
        cli
        xorw %ax, %ax
        movw %ax, %ds
        lgdtl (gdt_register - trampoline + 0x8000)
        movl %cr0, %eax
        orb $1, %al
        movl %eax, %cr0
        ljmpl $8, $ap_start
        .align 4
gdt_register:
        .word 23
        .long gdt
trampoline_end:
        .code32
ap_start:
        movw $16, %ax
        movw %ax, %ds
        movl $1000000, %ecx
1:      decl %ecx
        jnz 1b
        movl $1, ap_done
1:      hlt
        jmp 1b

text_loop:  .asciz "probe loop="
text_pit:   .asciz " pit="
text_sleep: .asciz " sleep="
text_ap:    .asciz " ap="

        .section .data
        .align 8
gdt:    .quad 0, 0x00cf9b000000ffff, 0x00cf93000000ffff
idt_register:
        .word 2047
        .long idt
cpu_count:
        .long CPUS
        .section .bss
        .align 16
idt:    .skip 2048
loop_ticks:  .skip 4
pit_ticks:   .skip 4
sleep_ticks: .skip 4
ap_ticks:    .skip 4
ap_done:     .skip 4
fired:       .skip 4
        .skip 1024
stack:
