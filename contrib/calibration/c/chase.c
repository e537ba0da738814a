// Pointer chases: every load needs the value of the one before, so the time of a load is its latency. The
// lines form one cycle in random order (a cyclic permutation), which no prefetcher foresees.
//
// Kinds of chase, which differ in what the TLB adds:
//   huge    all lines, on huge pages if the host gives them: a TLB of 64 entries then covers 128 MiB
//   small   all lines, on pages of 4 KiB: the TLB's misses are part of the figure
//   local   pages of 4 KiB, but all lines of a page before the next page: one TLB miss for 64 loads. A
//           prefetcher that works within a page can hide latency here
//   pages   one line on each page of 4 KiB, at a place that changes from page to page so that the caches'
//           sets are used evenly: the same number of lines as a small chase, and 64 times its pages
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LOADS 16384u // of a slice
#define LEAST_LOADS 1024u
#define SLICE_NS 100e3
#define WARM_LOADS (1u << 20)
#define LINES_A_PAGE (PAGE_BYTES / LINE_BYTES)

enum kind { HUGE, SMALL, LOCAL, PAGES, KINDS };
static const char *const kind_name[KINDS] = {"huge", "small", "local", "pages"};

struct plan {
    enum kind kind;
    unsigned cpu, home; // `home`: the CPU that touches the memory first, so that it lies on its node
    unsigned slices;
};

static void shuffle(uint32_t *what, size_t count) {
    for (size_t n = count; n > 1; n--) {
        size_t other = random_below(n);
        uint32_t held = what[n - 1];
        what[n - 1] = what[other];
        what[other] = held;
    }
}

static void count_up(uint32_t *what, size_t count) {
    for (size_t n = 0; n < count; n++)
        what[n] = (uint32_t)n;
}

// The numbers of the lines in the order of the chase.
static void local_order(uint32_t *order, size_t lines) {
    size_t pages = lines / LINES_A_PAGE;
    uint32_t *page = malloc(pages * sizeof *page);
    if (page == NULL)
        fail("no memory for the measurement");
    count_up(page, pages);
    shuffle(page, pages);
    for (size_t n = 0; n < pages; n++) {
        uint32_t *inside = order + n * LINES_A_PAGE;
        for (uint32_t line = 0; line < LINES_A_PAGE; line++)
            inside[line] = page[n] * LINES_A_PAGE + line;
        shuffle(inside, LINES_A_PAGE);
    }
    free(page);
}

static size_t fill_order(uint32_t *order, enum kind kind, size_t bytes) {
    size_t lines = bytes / LINE_BYTES;
    if (kind == LOCAL) {
        local_order(order, lines);
        return lines;
    }
    size_t count = kind == PAGES ? bytes / PAGE_BYTES : lines;
    count_up(order, count);
    shuffle(order, count);
    if (kind == PAGES)
        for (size_t n = 0; n < count; n++)
            order[n] = order[n] * LINES_A_PAGE + order[n] % LINES_A_PAGE;
    return count;
}

// Links the lines into a cycle, and gives its first one.
static void **linked(char *memory, enum kind kind, size_t bytes, size_t *count) {
    uint32_t *order = malloc(bytes / LINE_BYTES * sizeof *order);
    if (order == NULL)
        fail("no memory for the measurement");
    *count = fill_order(order, kind, bytes);
    for (size_t n = 0; n < *count; n++)
        *(void **)(void *)(memory + (size_t)order[n] * LINE_BYTES) =
            memory + (size_t)order[(n + 1) % *count] * LINE_BYTES;
    void **first = (void **)(void *)(memory + (size_t)order[0] * LINE_BYTES);
    free(order);
    return first;
}

void **follow(void **at, size_t loads) {
    for (; loads >= 8; loads -= 8) {
        at = *at, at = *at, at = *at, at = *at;
        at = *at, at = *at, at = *at, at = *at;
    }
    for (; loads; loads--)
        at = *at;
    __asm__ volatile("" : "+r"(at)); // the loads are needed
    return at;
}

void **cycle(char *memory, size_t bytes) {
    size_t count;
    return linked(memory, HUGE, bytes, &count);
}

static double time_of(void ***at, size_t loads) {
    double begin = now_ns();
    *at = follow(*at, loads);
    return (now_ns() - begin) / (double)loads;
}

// The time of one load: that of the fastest slice. A slice is short beside the time for which the host's
// scheduler runs a task, so there are some in which no other task ran or left its lines behind.
static double latency(void **at, size_t count, unsigned slices) {
    // Linking has brought the last lines of the cycle into the caches, as a whole traversal would.
    at = follow(at, count < WARM_LOADS ? 2 * count : WARM_LOADS);
    double best = time_of(&at, LEAST_LOADS), loads = SLICE_NS / best;
    size_t slice = loads > MOST_LOADS ? MOST_LOADS : loads < LEAST_LOADS ? LEAST_LOADS : (size_t)loads;
    for (unsigned n = 0; n < slices; n++) {
        double found = time_of(&at, slice);
        best = found < best || n == 0 ? found : best;
    }
    return best;
}

static void pass(struct plan plan, size_t most, unsigned sizes, char **words) {
    pin(plan.home);
    char *memory = map(most, plan.kind == HUGE ? HUGE_PAGES : SMALL_PAGES);
    pin(plan.cpu);
    for (unsigned n = 0; n < sizes; n++) {
        size_t count, bytes = bytes_of(words[n]);
        void **first = linked(memory, plan.kind, bytes, &count);
        printf("chase %zu %.4f\n", bytes, latency(first, count, plan.slices));
        fflush(stdout);
    }
    if (plan.kind == HUGE)
        sample("huge_share", huge_share(memory, most));
    unmap(memory, most);
}

int chase(unsigned count, char **words) {
    if (count < 6)
        return 2;
    struct plan plan = {.kind = 0, .cpu = number(words[0], 65535), .home = number(words[1], 65535)};
    while (plan.kind < KINDS && strcmp(words[2], kind_name[plan.kind]) != 0)
        plan.kind++;
    plan.slices = number(words[3], 1000);
    unsigned passes = number(words[4], 1000);
    if (plan.kind == KINDS || plan.slices == 0)
        return 2;
    size_t most = 0;
    for (unsigned n = 5; n < count; n++)
        most = bytes_of(words[n]) > most ? bytes_of(words[n]) : most;
    for (; passes; passes--)
        pass(plan, most, count - 5, words + 5);
    return 0;
}
