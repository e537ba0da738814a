// Takes what is to be started from QEMU's fw_cfg device, by its DMA interface (QEMU's docs/specs/fw_cfg.rst).
//
// That device needs no driver of the kernel's, no thread of the host and hardly any time of the guest: QEMU copies
// the bytes at the instruction that asks for them. A disk would need all three, and a line that is typed
// at the console 100 us for each byte.
#define _GNU_SOURCE
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define LOOK_MS 100      // between two looks for something to start; a snapshot is taken in the first wait
#define DIRECTORY 0x19   // selects the list of files
#define READ_BIT 2       // in `control`
#define SKIP_BIT 4       // the same
#define SELECT_BIT 8     // the same; the upper 16 bits are what is selected
#define ERROR_BIT 1
#define NOTHING_BYTES 16 // a file that is not larger stands for one that comes later

static uint16_t big16(uint16_t value) {
    return __builtin_bswap16(value);
}

static uint32_t big32(uint32_t value) {
    return __builtin_bswap32(value);
}

static uint64_t big64(uint64_t value) {
    return __builtin_bswap64(value);
}

struct transfer {
    uint32_t control, length;
    uint64_t address;
};

struct entry {
    uint32_t size;
    uint16_t select, reserved;
    char name[56];
};

static _Alignas(PAGE) union {
    struct transfer transfer;
    uint8_t bytes[PAGE];
} request;
static _Alignas(PAGE) uint8_t page[PAGE];

// ---- the device

#if defined(__x86_64__)
#include <sys/io.h>

#define DMA_PORT 0x514

static const char *open_device(void) {
    return ioperm(DMA_PORT, 8, 1) == 0 ? NULL : "ioperm";
}

// Programs inherit the permission, and with one the kernel has more to do at each return to a program: 52
// instructions after every system call.
static const char *close_device(void) {
    return ioperm(DMA_PORT, 8, 0) == 0 ? NULL : "ioperm";
}

static void submit(uint64_t address) {
    outl(big32((uint32_t)(address >> 32)), DMA_PORT);
    outl(big32((uint32_t)address), DMA_PORT + 4);
}
#else
#if defined(__aarch64__)
#define DEVICE 0x09020000 // of QEMU's machine virt
#else
#define DEVICE 0x10100000
#endif
#define DMA_OFFSET 16

static volatile uint8_t *device;

static const char *open_device(void) {
    int fd = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, DEVICE);
    if (fd >= 0)
        close(fd);
    device = at;
    return at == MAP_FAILED ? "/dev/mem" : NULL;
}

static const char *close_device(void) {
    return munmap((void *)(uintptr_t)device, PAGE) == 0 ? NULL : "/dev/mem";
}

static void submit(uint64_t address) {
    *(volatile uint64_t *)(device + DMA_OFFSET) = big64(address);
}
#endif

// The guest-physical address of a page that is in memory and stays there.
static uint64_t physical(const void *at) {
    uint64_t entry = 0;
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : pread(fd, &entry, sizeof entry, (off_t)((uintptr_t)at / PAGE * sizeof entry));
    if (fd >= 0)
        close(fd);
    return n == sizeof entry ? (entry & ((UINT64_C(1) << 55) - 1)) * PAGE : 0;
}

static uint64_t request_place, page_place;

// Both pages are locked and this process sleeps, so they stay where they are until it has looked for something to
// start. To ask the kernel after a snapshot costs each run a thousand blocks of code that QEMU must translate.
static int locate(void) {
    request_place = physical(&request);
    page_place = physical(page);
    return request_place != 0 && page_place != 0;
}

static int transfer(uint64_t place, uint32_t length, uint32_t control) {
    volatile struct transfer *asked = &request.transfer;
    asked->length = big32(length);
    asked->address = big64(place);
    asked->control = big32(control);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    submit(request_place);
    return asked->control == 0;
}

// Reads on in what is selected, or from its begin if `select` is not 0.
static int read_page(uint32_t length, uint16_t select) {
    return transfer(page_place, length, READ_BIT | (select ? SELECT_BIT | (uint32_t)select << 16 : 0));
}

static int read_device(void *into, uint32_t length, uint16_t select) {
    if (!read_page(length, select))
        return 0;
    memcpy(into, page, length);
    return 1;
}

// ---- its files

static int find(const char *name, struct entry *found) {
    uint32_t count = 0;
    if (!read_device(&count, sizeof count, DIRECTORY))
        return 0;
    for (uint32_t i = 0; i < big32(count); i++) {
        if (!read_device(found, sizeof *found, 0))
            return 0;
        if (strncmp(found->name, name, sizeof found->name) == 0)
            return 1;
    }
    return 0;
}

// False if there is none, or only one that stands for it.
static int find_later(const char *name, struct entry *found) {
    return find(name, found) && big32(found->size) > NOTHING_BYTES;
}

// ---- the archive, in the form `newc` (Linux's driver-api/early-userspace/buffer-format.rst)

#define HEAD 110

static size_t field(const uint8_t *head, unsigned number) {
    char text[9] = "";
    memcpy(text, head + 6 + 8 * number, 8);
    return strtoul(text, NULL, 16);
}

static size_t padded(size_t length) {
    return (length + 3) / 4 * 4;
}

// Takes bytes of the archive, which is selected, or goes over them.
static int skip(size_t length) {
    return length == 0 || transfer(0, (uint32_t)length, SKIP_BIT);
}

static int write_all(int fd, const uint8_t *bytes, size_t length) {
    while (length > 0) {
        ssize_t n = write(fd, bytes, length);
        if (n <= 0)
            return 0;
        bytes += n;
        length -= (size_t)n;
    }
    return 1;
}

static int create(const char *name, mode_t mode) {
    return open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode & 07777);
}

// Every archive has this file, so it is created before the snapshot.
#define PROGRAM "bench"

static int program;

// This program is running, and devices have a file system of their own.
static int is_there(const char *name) {
    return strcmp(name, "init") == 0 || strcmp(name, "dev") == 0;
}

// A page of it is in memory at a time: to hold all of it costs more than to write it.
static int take(const char *name, mode_t mode, size_t length) {
    if (is_there(name))
        return skip(length);
    if (S_ISDIR(mode) && mkdir(name, mode & 07777) != 0 && errno != EEXIST)
        return 0;
    if (!S_ISREG(mode))
        return skip(length);
    int fd = strcmp(name, PROGRAM) == 0 ? program : create(name, mode), good = fd >= 0;
    while (good && length > 0) {
        uint32_t part = length < PAGE ? (uint32_t)length : PAGE;
        good = read_page(part, 0) && write_all(fd, page, part);
        length -= part;
    }
    return fd >= 0 && close(fd) == 0 && good;
}

// QEMU's file is what this session built, so its lengths are right; another one ends the guest.
static const char *unpack(const struct entry *archive) {
    size_t length = big32(archive->size);
    uint8_t head[HEAD];
    char name[PAGE];
    for (size_t at = 0; at + HEAD <= length;) {
        if (!read_device(head, HEAD, at ? 0 : big16(archive->select)) || memcmp(head, "070701", 6) != 0)
            break;
        size_t size = field(head, 6), name_size = field(head, 11), data = padded(at + HEAD + name_size);
        size_t named = data - at - HEAD, next = padded(data + size);
        if (name_size == 0 || named > sizeof name || data > length || size > length - data || next > length)
            break;
        if (!read_device(name, (uint32_t)named, 0) || name[name_size - 1] != 0)
            break;
        if (strcmp(name, "TRAILER!!!") == 0)
            return NULL;
        if (!take(name, (mode_t)field(head, 1), size) || !skip(next - data - size))
            return "an archived file";
        at = next;
    }
    return "the archive";
}

#define WORDS "/cmdline"

static int words_file;

// Every program reads its words where the kernel has them. Until they arrive, the file in that place is empty.
static const char *make_places(void) {
    if (chdir("/") != 0 || (program = create(PROGRAM, 0755)) < 0)
        return PROGRAM;
    if ((words_file = create(WORDS, 0444)) < 0)
        return WORDS;
    return mount(WORDS, "/proc/cmdline", NULL, MS_BIND, NULL) == 0 ? NULL : "/proc/cmdline";
}

static int place_words(const struct entry *words) {
    uint32_t length = big32(words->size);
    int good = length <= PAGE && read_page(length, big16(words->select)) && write_all(words_file, page, length);
    return close(words_file) == 0 && good;
}

#define SEED_BYTES 32
#define ADD_RANDOM _IOW('R', 3, int[2]) // RNDADDENTROPY: random(4)

// Where rdrand is, the kernel has its seed before PID 1 starts; a guest that is saved has none. Until a kernel has a
// seed it makes every random number from scratch, 12,000 instructions for each thread that starts. These bytes are
// the same in each guest, because nothing here is a secret and everything repeats.
static int seed_random(void) {
    struct {
        int bits, length;
        uint8_t bytes[SEED_BYTES];
    } seed = {8 * SEED_BYTES, SEED_BYTES, {1}};
    int fd = open("/dev/urandom", O_WRONLY | O_CLOEXEC), good = fd >= 0 && ioctl(fd, ADD_RANDOM, &seed) == 0;
    return (fd < 0 || close(fd) == 0) && good;
}

static const char *prepare(void) {
    const char *why = open_device();
    if (why != NULL || (why = make_places()) != NULL)
        return why;
    if (!seed_random())
        return "/dev/urandom";
    memset(&request, 1, sizeof request); // both pages are in memory from now on
    memset(page, 1, sizeof page);
    if (mlock(&request, PAGE) != 0 || mlock(page, PAGE) != 0)
        return "mlock";
    return locate() ? NULL : "pagemap";
}

// Everything that can be done before a snapshot is: after it, each block of code costs each run its translation.
const char *start_await(void) {
    static const char line[] = "benchwaits\n";
    const struct timespec wait = {0, LOOK_MS * 1000000};
    struct entry archive, words;
    const char *why = prepare();
    if (why != NULL)
        return why;
    if (write(STDOUT_FILENO, line, sizeof line - 1) < 0)
        return "the console";
    for (;;) {
        nanosleep(&wait, NULL);
        if (find_later("opt/benchgate/files", &archive))
            break;
        if (!locate())
            return "pagemap";
    }
    if (!find_later("opt/benchgate/words", &words))
        return "the words";
    if ((why = unpack(&archive)) != NULL)
        return why;
    return place_words(&words) ? close_device() : WORDS;
}
