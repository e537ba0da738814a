// Makes and frees the state of a machine.
#include "memory_state.h"

#include <stdlib.h>
#include <string.h>

static bool setup_cpu(struct memory *m, uint32_t number) {
    const struct memory_shape *shape = &m->state->shape;
    struct memory_state_cpu *c = &m->state->cpu[number];
    bool done = memory_cache_setup(&c->data, &shape->l1d, true);
    done = memory_cache_setup(&c->code, &shape->l1i, true) && done;
    done = memory_cache_setup(&c->second, &shape->l2, false) && done;
    if (shape->tlb_entries) {
        done = memory_tlb_setup(&c->data_tlb, shape->tlb_entries, shape->tlb_ways) && done;
        done = memory_tlb_setup(&c->code_tlb, shape->tlb_entries, shape->tlb_ways) && done;
    }
    m->front[number] =
        (struct memory_front){.data = c->data.first, .code = c->code.first, .pages = c->data_tlb.cache.first};
    return done;
}

static bool setup_third(struct memory_state *s, uint32_t number) {
    uint32_t cluster = s->shape.cpu[number].cluster;
    if (!s->shape.l3.sets || s->third[cluster].first.tags)
        return true;
    s->leader[cluster] = number;
    return memory_cache_setup(&s->third[cluster], &s->shape.l3, false);
}

static bool setup(struct memory *m) {
    struct memory_state *s = m->state;
    const struct memory_shape *shape = &s->shape;
    const struct memory_range *last = &shape->range[shape->ranges - 1];
    const uint32_t latency[MEMORY_PLACES] = {1,
                                             shape->l2.latency,
                                             shape->l3.latency,
                                             shape->local,
                                             shape->remote,
                                             shape->cluster,
                                             shape->across,
                                             shape->socket};
    memcpy(s->latency, latency, sizeof latency);
    bool done = memory_directory_setup(&s->directory, (last->first + last->bytes) / shape->line, shape->cpus);
    for (uint32_t c = 0; c < shape->cpus; c++)
        done = setup_cpu(m, c) && setup_third(s, c) && done;
    for (uint32_t i = 0; i < shape->ranges && shape->bandwidth; i++) {
        struct memory_queue *q = &s->queue[shape->range[i].node];
        done = (q->taken || memory_queue_setup(q, shape->bandwidth)) && done;
    }
    return done;
}

struct memory *memory_new(const struct memory_shape *shape) {
    struct memory *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->front = calloc(shape->cpus, sizeof *m->front);
    m->state = calloc(1, sizeof *m->state);
    m->line_bits = (uint32_t)__builtin_ctz(shape->line);
    if (m->state) {
        m->state->shape = *shape;
        m->state->cpu = calloc(shape->cpus, sizeof *m->state->cpu);
    }
    if (m->front && m->state && m->state->cpu && setup(m))
        return m;
    memory_free(m);
    return NULL;
}

void memory_free(struct memory *m) {
    struct memory_state *s = m->state;
    for (uint32_t c = 0; s && s->cpu && c < s->shape.cpus; c++) {
        memory_cache_free(&s->cpu[c].data);
        memory_cache_free(&s->cpu[c].code);
        memory_cache_free(&s->cpu[c].second);
        memory_tlb_free(&s->cpu[c].data_tlb);
        memory_tlb_free(&s->cpu[c].code_tlb);
    }
    for (unsigned i = 0; s && i < MEMORY_CLUSTERS; i++)
        memory_cache_free(&s->third[i]);
    for (unsigned i = 0; s && i < MEMORY_NODES; i++)
        memory_queue_free(&s->queue[i]);
    if (s) {
        memory_directory_free(&s->directory);
        free(s->cpu);
    }
    free(s);
    free(m->front);
    free(m);
}
