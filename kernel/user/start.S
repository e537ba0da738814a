// The entry of a program's threads: rdi and rsi as given to spawn, the stack as after a call.
.text
.globl _start
_start:
    xorl %ebp, %ebp
    call runtime_begin
    ud2
.section .note.GNU-stack, "", @progbits
