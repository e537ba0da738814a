# Builds xv6 for x86 in a copy of its sources, with our user programs. $1: tests/data/kernels/xv6.
# Newer compilers warn about code of 2020. Its library's functions have other arguments than those on RISC-V.
sed -i 's/-Werror//; s/^UPROGS=\\$/UPROGS=_primes _mill\\/' Makefile
for program in primes mill; do
    {
        printf '#include "%s"\n' types.h user.h
        printf '#define printf(...) printf(1, __VA_ARGS__)\n'
        printf '#define %s(status) %s()\n' exit exit wait wait
        grep -v '^#include' "$1/$program.c"
    } > "$program.c"
done
make kernel xv6.img fs.img
