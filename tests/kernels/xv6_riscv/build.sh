# Builds xv6 for RISC-V in a copy of its sources, with our user program. $1: tests/data/kernels/xv6.
sed -i 's/-Werror//; s|^UPROGS=\\$|UPROGS=$U/_primes\\|' Makefile
cp "$1/primes.c" user/primes.c
make TOOLPREFIX=riscv64-linux-gnu- kernel/kernel fs.img
