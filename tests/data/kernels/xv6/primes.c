// primes WORKERS HI: counts the primes below HI with so many processes, for xv6 on x86 and on RISC-V.
// Prints when the work begins, the count, and the ticks that it took. Copy it into the user programs of xv6.
#include "kernel/types.h"
#include "user/user.h"

// The primes in this worker's blocks of 32 numbers. By single numbers, one of two would get all the even ones.
static int count(int worker, int workers, int hi)
{
    int found = 0;

    for (int n = 2; n < hi; n++) {
        int divisor = 2;

        if (n / 32 % workers != worker)
            continue;
        while (divisor * divisor <= n && n % divisor)
            divisor++;
        found += divisor * divisor > n;
    }
    return found;
}

int main(int argc, char *argv[])
{
    int workers = argc == 3 ? atoi(argv[1]) : 0, hi = argc == 3 ? atoi(argv[2]) : 0, ends[2], sum = 0;

    if (workers < 1 || workers > 8 || hi < 1 || pipe(ends)) {
        printf("usage: primes WORKERS HI\n");
        exit(1);
    }
    printf("begin\n");
    int start = uptime();
    for (int worker = 0; worker < workers; worker++)
        if (fork() == 0) {
            int found = count(worker, workers, hi);

            write(ends[1], &found, sizeof found);
            exit(0);
        }
    for (int worker = 0; worker < workers; worker++) {
        int found = 0;

        read(ends[0], &found, sizeof found);
        sum += found;
    }
    int ticks = uptime() - start;
    for (int worker = 0; worker < workers; worker++)
        wait(0);
    printf("primes=%d\n", sum);
    printf("end ticks=%d\n", ticks);
    exit(0);
}
