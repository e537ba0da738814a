#define _GNU_SOURCE
#include "memory_keep.h"

#include "memory_state.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE 4096

struct visit {
    int file;
    off_t at;
    bool (*part)(struct visit *v, char *bytes, size_t length);
};

// Writes what is not zero.
static bool put(struct visit *v, char *bytes, size_t length) {
    static const char zero[PIECE];
    for (size_t i = 0; i < length; i += PIECE) {
        size_t size = length - i < PIECE ? length - i : PIECE;
        if (memcmp(bytes + i, zero, size) == 0)
            continue;
        if (pwrite(v->file, bytes + i, size, v->at + (off_t)i) != (ssize_t)size)
            return false;
    }
    v->at += (off_t)length;
    return true;
}

// Reads what is no hole: the arrays of a new machine are zero.
static bool get(struct visit *v, char *bytes, size_t length) {
    off_t begin = v->at, end = begin + (off_t)length;
    v->at = end;
    while (begin < end) {
        off_t data = lseek(v->file, begin, SEEK_DATA), hole;
        if (data < 0 || data >= end)
            break;
        hole = lseek(v->file, data, SEEK_HOLE);
        if (hole < 0 || hole > end)
            hole = end;
        for (begin = data; begin < hole;) {
            ssize_t n = pread(v->file, bytes + (begin - (end - (off_t)length)), (size_t)(hole - begin), begin);
            if (n <= 0)
                return false;
            begin += n;
        }
    }
    return true;
}

static bool cache(struct visit *v, struct memory_cache *c) {
    size_t ways = (size_t)c->first.sets * c->first.ways;
    return (!c->first.tags || v->part(v, (char *)c->first.tags, ways * sizeof *c->first.tags)) &&
           (!c->first.times || v->part(v, (char *)c->first.times, ways * sizeof *c->first.times));
}

static bool queue(struct visit *v, struct memory_queue *q) {
    return !q->taken || (v->part(v, (char *)&q->end, sizeof q->end) &&
                         v->part(v, (char *)q->taken, MEMORY_QUEUE_SLOTS / 8));
}

static bool visit_all(struct visit *v, struct memory_state *s) {
    bool good = v->part(v, s->directory.lines, s->directory.bytes);
    for (uint32_t c = 0; c < s->shape.cpus; c++) {
        struct memory_state_cpu *cpu = &s->cpu[c];
        good = good && cache(v, &cpu->data) && cache(v, &cpu->code) && cache(v, &cpu->second) &&
               cache(v, &cpu->data_tlb.cache) && cache(v, &cpu->code_tlb.cache);
    }
    for (unsigned i = 0; i < MEMORY_CLUSTERS; i++)
        good = good && cache(v, &s->third[i]);
    for (unsigned i = 0; i < MEMORY_NODES; i++)
        good = good && queue(v, &s->queue[i]);
    return good;
}

const char *memory_keep(struct memory *m, const char *path) {
    struct visit v = {open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), 0, put};
    if (v.file < 0)
        return "the file for the state of the caches cannot be made";
    bool good = visit_all(&v, m->state) && ftruncate(v.file, v.at) == 0;
    return close(v.file) == 0 && good ? NULL : "the state of the caches cannot be written";
}

static bool nothing(struct visit *v, char *bytes, size_t length) {
    (void)bytes;
    v->at += (off_t)length;
    return true;
}

const char *memory_take_back(struct memory *m, const char *path) {
    struct visit v = {open(path, O_RDONLY | O_CLOEXEC), 0, nothing};
    struct stat status;
    bool good = v.file >= 0 && fstat(v.file, &status) == 0 && visit_all(&v, m->state);
    if (good && status.st_size != v.at) {
        close(v.file);
        return "the state of the caches is of another machine";
    }
    v.at = 0;
    v.part = get;
    good = good && visit_all(&v, m->state);
    if (v.file >= 0)
        close(v.file);
    return good ? NULL : "the state of the caches cannot be read";
}
