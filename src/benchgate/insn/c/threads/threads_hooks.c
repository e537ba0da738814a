#include "threads_hooks.h"

#include "lines.h"
#include "qemu_api.h"

#include <stdlib.h>
#include <string.h>

#if INSN_API >= 3

static uint64_t hex(struct lines *r) {
    size_t digits = strspn(r->rest, "0123456789abcdef");
    char after = r->rest[digits];
    if (r->failed || digits == 0 || digits > 16 || (after && after != ' ')) {
        lines_fail(r, "%s: `%s` does not begin with a hexadecimal number", r->key, r->rest);
        return 0;
    }
    uint64_t value = strtoull(r->rest, NULL, 16);
    r->rest += digits + (after == ' ');
    return value;
}

static void program(struct lines *r, const char *key, struct program *into) {
    lines_expect(r, key);
    if (!r->failed && !program_read(into, r->rest))
        lines_fail(r, "%s: `%s` is not an expression", key, r->rest);
}

static void optional(struct lines *r, const char *key, struct program *into) {
    if (lines_next_is(r, key))
        program(r, key, into);
}

// A name as in a system's YAML.
static bool is_name(const char *text) {
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return *text >= 'a' && *text <= 'z' && length <= HOOKS_NAME && !text[length];
}

static void kind(struct lines *r, struct hook *h) {
    static const char *const names[] = {"fork", "switch", "wake",  "send",    "ask",   "migrate", "allow", "exit",
                                        "tick", "yield", "may_wait", "syscall", "fault", "ipi",   "event", "put",
                                        "get"};
    const char event[] = "event ";
    lines_expect(r, "hook");
    if (r->failed)
        return;
    if (strncmp(r->rest, event, sizeof event - 1) == 0 && is_name(r->rest + sizeof event - 1)) {
        strcpy(h->name, r->rest + sizeof event - 1);
        h->kind = HOOK_EVENT;
        return;
    }
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (i != HOOK_EVENT && strcmp(names[i], r->rest) == 0) {
            h->kind = i;
            return;
        }
    lines_fail(r, "hook: `%s` is not a kind of event", r->rest);
}

static void hook(struct lines *r, struct hook *h) {
    kind(r, h);
    do {
        lines_expect(r, "at");
        if (h->places == HOOKS_PLACES)
            lines_fail(r, "at: there are more than %d addresses", HOOKS_PLACES);
        else
            h->at[h->places++] = hex(r);
        lines_end(r);
    } while (lines_next_is(r, "at"));
    if (lines_next_is(r, "only")) {
        lines_expect(r, "only");
        h->only_blocked = strcmp(r->rest, "blocked") == 0;
        if (!h->only_blocked)
            lines_fail(r, "only: `%s` is not known", r->rest);
    }
    optional(r, "when", &h->when);
    optional(r, "thread", &h->thread);
    optional(r, "from", &h->from);
    optional(r, "to", &h->to);
    optional(r, "blocked", &h->blocked);
    optional(r, "dead", &h->dead);
    optional(r, "cpu", &h->cpu);
    optional(r, "queue", &h->queue);
    optional(r, "mask", &h->mask);
    optional(r, "number", &h->number);
    optional(r, "bytes", &h->bytes);
    optional(r, "adds", &h->adds);
    optional(r, "object", &h->object);
    optional(r, "next", &h->next);
    optional(r, "which", &h->which);
}

// The number of this function; a new one if it was not named before.
static uint32_t function(struct lines *r, struct hooks *hooks) {
    uint64_t begin = hex(r), end = hex(r);
    for (unsigned i = 0; i < hooks->functions; i++)
        if (hooks->function[i].begin == begin)
            return HOOKS_FUNCTION + i;
    if (hooks->functions == HOOKS_FUNCTIONS || begin >= end) {
        lines_fail(r, "%s: there are more than %d functions, or this one is empty", r->key, HOOKS_FUNCTIONS);
        return 0;
    }
    hooks->function[hooks->functions] = (struct hook_function){begin, end};
    return HOOKS_FUNCTION + hooks->functions++;
}

static bool takes(struct lines *r, const char *word) {
    size_t length = strlen(word);
    bool is_it = !r->failed && strncmp(r->rest, word, length) == 0 && r->rest[length] == ' ';
    r->rest += is_it ? length + 1 : 0;
    return is_it;
}

static unsigned calls(struct lines *r, struct hooks *hooks, const char *key, uint32_t *into) {
    unsigned count = 0;
    do {
        lines_expect(r, key);
        if (count == HOOKS_CALLS)
            lines_fail(r, "%s: there are more than %d calls", key, HOOKS_CALLS);
        else if (takes(r, "call"))
            into[count++] = (uint32_t)lines_number(r, 0, HOOKS_FUNCTION - 1);
        else if (takes(r, "function"))
            into[count++] = function(r, hooks);
        else
            lines_fail(r, "%s: `%s` is neither a call nor a function", key, r->rest);
        lines_end(r);
    } while (lines_next_is(r, key));
    return count;
}

static void operation(struct lines *r, struct hooks *hooks, struct hook_operation *o) {
    lines_expect(r, "operation");
    size_t length = r->failed ? 0 : strlen(r->rest);
    if (length < 1 || length > HOOKS_NAME || strchr(r->rest, ' ')) {
        lines_fail(r, "operation: this is no name");
        return;
    }
    memcpy(o->name, r->rest, length + 1);
    if (lines_next_is(r, "from") && strcmp(r->rest, "wake") == 0) {
        lines_expect(r, "from");
        o->is_wake = true;
    }
    if (!o->is_wake || lines_next_is(r, "from"))
        o->begins = calls(r, hooks, "from", o->from);
    if (!lines_next_is(r, "record") || !o->is_wake)
        o->ends = calls(r, hooks, "to", o->to);
    if (lines_next_is(r, "record")) {
        lines_expect(r, "record");
        o->record = 1 + (unsigned)lines_number(r, 0, HOOKS_HISTOGRAMS - 1);
        hooks->recorder = hex(r);
        lines_end(r);
    }
    o->has_until = lines_next_is(r, "until");
    if (o->has_until)
        lines_single(r, "until", 1, 1);
}

static void read_all(struct lines *r, struct hooks *hooks) {
    if (lines_single(r, "insn-observe", 1, 1) != 1)
        return;
    lines_expect(r, "text");
    hooks->text_from = hex(r);
    hooks->text_to = hex(r);
    lines_end(r);
    optional(r, "id", &hooks->id);
    if (lines_next_is(r, "name")) {
        lines_expect(r, "name");
        hooks->name_size = lines_number(r, 1, KNOWN_NAME);
        if (!r->failed && !program_read(&hooks->name, r->rest))
            lines_fail(r, "name: `%s` is not an expression", r->rest);
    }
    optional(r, "allowed", &hooks->allowed);
    optional(r, "interrupt", &hooks->interrupt);
    while (lines_next_is(r, "hook") && hooks->count < HOOKS_MOST) {
        struct hook *h = &hooks->all[hooks->count++];
        hook(r, h);
        hooks->has[h->kind] = true;
    }
    hooks->accesses = lines_next_is(r, "accesses");
    if (hooks->accesses)
        lines_single(r, "accesses", 1, 1);
    hooks->restart = UINT32_MAX;
    if (lines_next_is(r, "restart"))
        hooks->restart = (uint32_t)lines_single(r, "restart", 0, HOOKS_FUNCTION - 1);
    while (lines_next_is(r, "operation") && hooks->operations < HOOKS_OPERATIONS)
        operation(r, hooks, &hooks->operation[hooks->operations++]);
    lines_finish(r);
}

const char *hooks_read(struct hooks *hooks, const char *path) {
    static char problem[200];
    struct lines r = {.in = fopen(path, "re"), .problem = problem, .size = sizeof problem};
    if (!r.in)
        return "the file that says what to observe cannot be read (option observe=FILE)";
    read_all(&r, hooks);
    fclose(r.in);
    return r.failed ? problem : NULL;
}

#endif
