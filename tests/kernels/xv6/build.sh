# Builds xv6 for x86 in a copy of its sources, with our user program. $1: tests/data/kernels/xv6.
# Newer compilers warn about code of 2020. Its library's functions have other arguments than those on RISC-V.
sed -i 's/-Werror//; s/^UPROGS=\\$/UPROGS=_primes\\/' Makefile
{
    printf '#include "%s"\n' types.h user.h
    printf '#define printf(...) printf(1, __VA_ARGS__)\n'
    printf '#define %s(status) %s()\n' exit exit wait wait
    grep -v '^#include' "$1/primes.c"
} > primes.c
make kernel xv6.img fs.img
