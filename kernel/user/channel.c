// Channels of guest/services.h: a queue of bytes in shared memory, with park.
//
// A channel has two ends, and each end a lock that its user keeps until its whole message has passed. So
// messages of several senders never mix, and between the ends there is one sender and one receiver at a time:
// their counts need no lock. A side that waits says so in `waits`; the other one reads that after it has
// moved its count, and wakes it. Without a waiter a message costs no system call.
#include "arch/layout.h"
#include "services.h"
#include "user/runtime.h"

#define CAPACITY 0x10000u // divides 2^32, so that counts may wrap
#define LOOKS 400         // at a lock before its waiter sleeps: about 1,700 instructions, those of a sleep

struct end {
    _Alignas(128) uint32_t lock; // 0: free, 1: taken, 2: taken, and others wait for it
    uint32_t count;              // bytes that have passed this end; wraps
    uint32_t waits;              // 1: the other end's user parks here until `count` changes
};

struct channel {
    struct end in, out;
    _Alignas(128) char bytes[CAPACITY];
};

// A channel's number is the page where it is: shared memory has the same address in every process.
int port_channel(void) {
    uint64_t where = (uint64_t)port_shared(sizeof(struct channel));
    return where == 0 ? -1 : (int)((where - USER_SHARED) / PAGE_SIZE);
}

static struct channel *channel_of(int number) {
    return (struct channel *)(USER_SHARED + (uint64_t)number * PAGE_SIZE);
}

static int try_to_take(uint32_t *lock) {
    uint32_t was = 0;
    // acquire: pairs with the release in drop, which makes the last user's count visible
    return __atomic_compare_exchange_n(lock, &was, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

// The third mutex of Drepper, Futexes Are Tricky (2011). A message passes in less time than it takes to sleep
// and be woken, so a thread looks for about that long before it sleeps: then it waits at most twice as long
// as it must (Karlin et al., Competitive Randomized Algorithms for Non-Uniform Problems, 1990). One who waits
// for bytes or for room keeps the lock for longer.
static void take(uint32_t *lock) {
    if (try_to_take(lock))
        return;
    for (unsigned i = 0; i < LOOKS; i++) {
        if (__atomic_load_n(lock, __ATOMIC_RELAXED) == 0 && try_to_take(lock))
            return;
        bench_relax();
    }
    while (__atomic_exchange_n(lock, 2, __ATOMIC_ACQUIRE) != 0) // acquire: as above
        port_wait(lock, 2, 0);
}

static void drop(uint32_t *lock) {
    if (__atomic_exchange_n(lock, 0, __ATOMIC_RELEASE) == 2)
        port_wake(lock, 1);
}

// Returns the other end's count once it is not `seen`; looks that often before it sleeps.
static uint32_t await(struct end *other, uint32_t seen, unsigned looks) {
    uint32_t is;
    while (looks-- != 0 && __atomic_load_n(&other->count, __ATOMIC_RELAXED) == seen)
        bench_relax();
    // acquire: pairs with the store in pass; the bytes, or the room, are there
    while ((is = __atomic_load_n(&other->count, __ATOMIC_ACQUIRE)) == seen) {
        // seq_cst, with pass: either it sees `waits`, or its count is seen here
        __atomic_store_n(&other->waits, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&other->count, __ATOMIC_SEQ_CST) == seen)
            port_wait(&other->waits, 1, 0);
    }
    return is;
}

static void pass(struct end *mine, uint32_t count) {
    __atomic_store_n(&mine->count, count, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&mine->waits, __ATOMIC_SEQ_CST) == 0)
        return;
    __atomic_store_n(&mine->waits, 0, __ATOMIC_SEQ_CST);
    port_wake(&mine->waits, 1);
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

int port_send(int number, const void *bytes, size_t length) {
    struct channel *channel = channel_of(number);
    const char *from = bytes;
    if (number < 0)
        return -1;
    take(&channel->in.lock);
    uint32_t at = channel->in.count;
    while (length != 0) {
        uint32_t room = CAPACITY - (at - await(&channel->out, at - CAPACITY, LOOKS));
        size_t part = least(least(length, room), CAPACITY - at % CAPACITY);
        memcpy(channel->bytes + at % CAPACITY, from, part);
        from += part;
        length -= part;
        pass(&channel->in, at += (uint32_t)part);
    }
    drop(&channel->in.lock);
    return 0;
}

int port_receive(int number, void *bytes, size_t length) {
    struct channel *channel = channel_of(number);
    char *to = bytes;
    if (number < 0)
        return -1;
    take(&channel->out.lock);
    uint32_t at = channel->out.count;
    while (length != 0) {
        uint32_t filled = await(&channel->in, at, 0) - at;
        size_t part = least(least(length, filled), CAPACITY - at % CAPACITY);
        memcpy(to, channel->bytes + at % CAPACITY, part);
        to += part;
        length -= part;
        pass(&channel->out, at += (uint32_t)part);
    }
    drop(&channel->out.lock);
    return 0;
}
