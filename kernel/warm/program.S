// The place of a program that comes after a warm start, page-aligned, and the table with its one entry, which
// warm.c fills in (core/image.h).
.section .rodata
    .balign 4096
room:
    .skip 0x100000
room_end:
    .balign 8
.globl images
images:
    .quad 0, room, room_end
    .quad 0, 0, 0
.section .note.GNU-stack, "", @progbits
