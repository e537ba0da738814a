#include "threads_program.h"

#include "qemu_api.h"
#include "threads_guest.h"

#include <stdlib.h>
#include <string.h>

#if INSN_API >= 3

#define DEPTH 12

static bool number(const char *text, int base, uint64_t most, uint64_t *value) {
    char *end;
    if (!*text || strlen(text) > 16 || strspn(text, "0123456789abcdef") != strlen(text))
        return false;
    *value = strtoull(text, &end, base);
    return !*end && *value <= most;
}

// Reads one word; `depth` is how many values there are before and after it.
static bool step(struct program *p, const char *word, int *depth) {
    uint64_t value = 0;
    int needs = 0, gives = 1;
    if (*word == '#')
        needs = number(word + 1, 16, UINT64_MAX, &value) ? 0 : -1;
    else if (*word == 'a')
        needs = number(word + 1, 10, GUEST_ARGUMENTS - 1, &value) ? 0 : -1;
    else if (*word == 'l')
        needs = number(word + 1, 10, 8, &value) && value && !(value & (value - 1)) ? 1 : -1;
    else if (word[1] || !strchr("tv+-*&|=<>!", *word))
        return false;
    else
        needs = *word == 't' || *word == 'v' ? 0 : *word == '!' ? 1 : 2;
    if (needs < 0 || *depth < needs || *depth - needs + gives > DEPTH || p->length == PROGRAM_STEPS)
        return false;
    *depth += gives - needs;
    p->steps[p->length].what = *word;
    p->steps[p->length++].value = value;
    return true;
}

bool program_read(struct program *p, const char *text) {
    int depth = 0;
    p->length = 0;
    while (*text) {
        char word[20] = "";
        size_t length = strcspn(text, " ");
        if (length == 0 || length >= sizeof word)
            return false;
        memcpy(word, text, length);
        if (!step(p, word, &depth))
            return false;
        text += length + (text[length] == ' ');
    }
    return depth == 1;
}

static uint64_t combine(char what, uint64_t a, uint64_t b) {
    switch (what) {
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '*':
        return a * b;
    case '&':
        return a & b;
    case '|':
        return a | b;
    case '=':
        return a == b;
    case '>':
        return a >> (b & 63);
    default:
        return a < b;
    }
}

static uint64_t load(unsigned vcpu, uint64_t address, size_t size) {
    uint64_t value = 0;
    guest_read(vcpu, address, &value, size);
    return value;
}

uint64_t program_run(const struct program *p, unsigned vcpu, uint64_t thread) {
    uint64_t stack[DEPTH] = {0};
    unsigned top = 0; // program_read has checked that it stays within
    for (unsigned i = 0; i < p->length; i++) {
        uint64_t value = p->steps[i].value;
        switch (p->steps[i].what) {
        case '#':
            stack[top++] = value;
            break;
        case 'a':
            stack[top++] = guest_argument(vcpu, (unsigned)value);
            break;
        case 't':
            stack[top++] = thread;
            break;
        case 'v':
            stack[top++] = vcpu;
            break;
        case 'l':
            stack[top - 1] = load(vcpu, stack[top - 1], value);
            break;
        case '!':
            stack[top - 1] = !stack[top - 1];
            break;
        default:
            top--;
            stack[top - 1] = combine(p->steps[i].what, stack[top - 1], stack[top]);
        }
    }
    return stack[0];
}

#endif
