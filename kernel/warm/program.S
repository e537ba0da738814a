// The place of a program that comes after a warm start, page-aligned, and the table with its one entry, which
// warm.c fills in (core/image.h). Linked into warm.elf in the place of the Makefile's images.S.
#include "arch/layout.h"
.section .images, "a"
    .balign 4096
from_later:
    .skip IMAGES_ROOM
.section .images.table, "a"
    .balign 8
.globl image_table
image_table:
    .quad warm_begin
    .quad 0, from_later, from_later + IMAGES_ROOM
    .quad 0, 0, 0
.section .note.GNU-stack, "", @progbits
