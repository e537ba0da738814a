// Where a program's threads begin: rdi and rsi as given to spawn, the stack as after a call.
.text
.globl _start
_start:
    xorl %ebp, %ebp
    call runtime_begin
    ud2
.section .note.GNU-stack, "", @progbits
