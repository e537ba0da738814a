// mill ROUNDS: three processes fork, use pipes and memory, and wait, all at once, for xv6. Prints a sum that
// is the same in every order, and a line with `mill: ` for whatever goes wrong: for `benchgate explore`.
#include "kernel/types.h"
#include "user/user.h"

enum { KIDS = 3, MOST_ROUNDS = 16, PAGE = 4096, PAGES = 3 };

static void fail(char *what, int which)
{
    printf("mill: %s %d\n", what, which);
}

// Uses pages of its own, and sends its number by a copy of its end of the pipe.
static void grandchild(int who, int end)
{
    char *page = sbrk(PAGES * PAGE);
    int copy, mine = getpid();

    for (int i = 0; i < PAGES; i++)
        *(int *)(page + PAGE * i) = who * 1000 + i;
    copy = dup(end);
    close(end);
    for (int i = 0; i < PAGES; i++)
        if (*(int *)(page + PAGE * i) != who * 1000 + i)
            fail("the memory of another", i);
    if (write(copy, &mine, sizeof mine) != sizeof mine)
        fail("no write", who);
    exit(0);
}

static void round_of(int who, int out)
{
    int ends[2], word = 0, after, pid;

    if (pipe(ends) < 0) {
        fail("no pipe", who);
        exit(1);
    }
    pid = fork();
    if (pid < 0) {
        fail("no fork", who);
        exit(1);
    }
    if (pid == 0)
        grandchild(who, ends[1]);
    close(ends[1]);
    if (read(ends[0], &word, sizeof word) != sizeof word)
        fail("a short read", who);
    if (word != pid)
        fail("the word of another", word);
    if (read(ends[0], &after, sizeof after) != 0)
        fail("no end", who);
    close(ends[0]);
    if (wait(0) != pid)
        fail("the child of another", pid);
    int said[2] = {who, pid};
    if (write(out, said, sizeof said) != sizeof said)
        fail("no write", who);
}

int main(int argc, char *argv[])
{
    int rounds = argc == 2 ? atoi(argv[1]) : 0, count = 0, sum = 0;
    int ends[2], said[2], pids[KIDS * MOST_ROUNDS];

    if (rounds < 1 || rounds > MOST_ROUNDS || pipe(ends)) {
        printf("usage: mill ROUNDS\n");
        exit(1);
    }
    printf("begin\n");
    for (int who = 0; who < KIDS; who++)
        if (fork() == 0) {
            close(ends[0]);
            for (int n = 0; n < rounds; n++)
                round_of(who, ends[1]);
            exit(0);
        }
    close(ends[1]);
    while (read(ends[0], said, sizeof said) == sizeof said) {
        for (int i = 0; i < count; i++)
            if (pids[i] == said[1])
                fail("a number twice", said[1]);
        if (count < KIDS * MOST_ROUNDS)
            pids[count++] = said[1];
        sum += 1 + said[0];
    }
    for (int who = 0; who < KIDS; who++)
        if (wait(0) < 0)
            fail("no child", who);
    printf("sum=%d\n", sum);
    printf("end\n");
    exit(0);
}
