// vCPUs that hand over turns through the clock's carrier, without QEMU: `turns WAY VCPUS ROUNDS`, with
// `best` for no WAY. Each has its own thread-local storage, errno, rounding mode, x87 precision, values in
// registers and a jump buffer, and counts what was changed when it goes on. Each 64th turn is handed over
// by another thread. With the word `bare` behind them there is nothing but hand-overs: how long do they
// take?
#define _GNU_SOURCE
#include "carrier.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST 256
#define BY_MAIN 64

uint64_t changed_registers(uint64_t value, unsigned vcpu, void (*wait)(unsigned));
__asm__(".globl changed_registers\n"
        ".type changed_registers, @function\n"
        "changed_registers:\n"
        "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n sub $8, %rsp\n"
        "mov %rdi, (%rsp)\n"
        "mov %rdi, %rbx\n lea 1(%rdi), %rbp\n lea 2(%rdi), %r12\n"
        "lea 3(%rdi), %r13\n lea 4(%rdi), %r14\n lea 5(%rdi), %r15\n"
        "mov %esi, %edi\n call *%rdx\n"
        "mov (%rsp), %rax\n"
        "sub %rax, %rbx\n sub %rax, %rbp\n dec %rbp\n sub %rax, %r12\n sub $2, %r12\n"
        "sub %rax, %r13\n sub $3, %r13\n sub %rax, %r14\n sub $4, %r14\n sub %rax, %r15\n sub $5, %r15\n"
        "mov %rbx, %rax\n or %rbp, %rax\n or %r12, %rax\n or %r13, %rax\n or %r14, %rax\n or %r15, %rax\n"
        "add $8, %rsp\n pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n ret\n");

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static unsigned vcpus, turn = MOST;
static bool bare;
static unsigned long rounds, done, wrong;

static sem_t for_main, at_end;
static long homes[MOST], ran_on[MOST];
static _Thread_local unsigned own;
static _Thread_local jmp_buf place;

static void lock(void) {
    pthread_mutex_lock(&mutex);
}

static void unlock(void) {
    pthread_mutex_unlock(&mutex);
    carrier_wake();
}

static void set_floating(unsigned c) {
    uint32_t mxcsr = 0x1f80 | (c % 4) << 13;
    uint16_t x87 = (uint16_t)(0x007f | (c % 2 ? 0x300 : 0x200) | (c % 4) << 10);
    __asm__ volatile("ldmxcsr %0\n fldcw %1" : : "m"(mxcsr), "m"(x87));
}

static bool floating_is(unsigned c) {
    uint32_t mxcsr;
    uint16_t x87;
    __asm__ volatile("stmxcsr %0\n fnstcw %1" : "=m"(mxcsr), "=m"(x87));
    return (mxcsr & 0x6000) == (c % 4) << 13 && (x87 & 0xf00) == ((c % 2 ? 0x300 : 0x200) | (c % 4) << 10);
}

static void give(unsigned to) {
    turn = to;
    carrier_release(to);
}

static void hand_over(unsigned c) {
    turn = MOST;
    if (++done == rounds)
        sem_post(&at_end);
    else if (!bare && done % BY_MAIN == 0)
        sem_post(&for_main);
    else
        give((c + 1 + (unsigned)(done % (vcpus - 1))) % vcpus);
}

static void check(unsigned c, pthread_t self) {
    ran_on[c] = syscall(SYS_gettid);
    if (own != c || errno != (int)c + 1000 || !pthread_equal(self, pthread_self()) || !floating_is(c))
        wrong++;
    if (setjmp(place) == 0)
        longjmp(place, 1);
}

static void *run(void *number) {
    unsigned c = (unsigned)(uintptr_t)number;
    pthread_t self = pthread_self();
    own = c;
    homes[c] = syscall(SYS_gettid);
    set_floating(c);
    lock();
    for (;;) {
        errno = (int)c + 1000;
        while (turn != c)
            if (bare)
                carrier_wait(c);
            else if (changed_registers(UINT64_C(0x1234567890) * (c + 1), c, carrier_wait))
                wrong++;
        if (!bare)
            check(c, self);
        hand_over(c);
    }
    return NULL;
}

static void *hand_on(void *unused) {
    for (;;) {
        sem_wait(&for_main);
        nanosleep(&(struct timespec){0, 2000000}, NULL); // until the carrier sleeps, too
        lock();
        give((unsigned)(done % vcpus));
        unlock();
    }
    return unused;
}

static double cpu_s(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec / 1e9;
}

int main(int count, char **words) {
    pthread_t thread;
    bare = count == 5 && strcmp(words[4], "bare") == 0;
    const char *wanted = count >= 4 && strcmp(words[1], "best") ? words[1] : NULL;
    const char *why = count == 4 || bare ? carrier_setup(wanted, &(struct carrier_calls){lock, unlock})
                                 : "usage: turns WAY VCPUS ROUNDS [bare]";
    if (why) {
        fprintf(stderr, "%s\n", why);
        return 1;
    }
    vcpus = (unsigned)atoi(words[2]);
    rounds = strtoul(words[3], NULL, 10);
    sem_init(&for_main, 0, 0);
    sem_init(&at_end, 0, 0);
    for (unsigned c = 0; c < vcpus; c++)
        pthread_create(&thread, NULL, run, (void *)(uintptr_t)c);
    pthread_create(&thread, NULL, hand_on, NULL);
    double before = cpu_s();
    sem_post(&for_main);
    sem_wait(&at_end);
    double took = cpu_s() - before;
    unsigned away = 0, others = 0;
    for (unsigned c = 0; c < vcpus; c++) {
        away += ran_on[c] != homes[c];
        others += ran_on[c] != ran_on[0];
    }
    printf("way %s done %lu wrong %lu away %u others %u ns %.0f\n", carrier_name(), done, wrong, away, others,
           took / (double)rounds * 1e9);
    return 0;
}
