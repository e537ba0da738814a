// A warm start (docs/how-to/warm.md). The boot stops here, before the first program: the kernel says that it
// waits, and every CPU halts. QEMU saves the machine then, and each run begins at that moment. What differs from
// run to run comes afterwards from QEMU's fw_cfg device, by its DMA interface (QEMU's docs/specs/fw_cfg.rst): the
// words of the command line, and the program.
//
// tern.elf has this code, too, and does not execute it. Both kernels are the same objects but for the table of
// programs, by whose first word kernel_main calls image_init in the one and warm_begin in the other (core/image.h).
// So a kernel that starts cold executes no instruction more, and one that starts warm executes the same from there
// on, whatever the compiler does.
#include "arch/lapic.h"
#include "arch/layout.h"
#include "arch/tsc.h"
#include "arch/x86.h"
#include "core/alloc.h"
#include "core/image.h"
#include "core/options.h"
#include "core/percpu.h"
#include "core/print.h"
#include "core/string.h"
#include "measure/books.h"
#include "measure/measure.h"

#define DMA_PORT 0x514
#define DIRECTORY 0x19 // selects the list of files
#define DMA_READ 2u
#define DMA_SELECT 8u    // the upper 16 bits are what is selected
#define NOTHING_BYTES 16 // a file that is not larger stands for one that comes later
#define WORDS_BYTES 3072
#define LOOK_MS 100 // between two looks for the words; the machine is saved during the first wait
#define WARM __attribute__((section(".warm.text")))

struct transfer {
    uint32_t control, length;
    uint64_t address;
};

struct file {
    uint32_t size;
    uint16_t select, reserved;
    char name[56];
};

WARM static uint64_t physical_of(const void *kernel) {
    return (uint64_t)kernel - KERNEL_BASE;
}

// Reads on in what is selected, or from its begin if `select` is not 0.
WARM static void device_read(void *into, uint32_t length, uint16_t select) {
    uint32_t control = DMA_READ | (select ? DMA_SELECT | (uint32_t)select << 16 : 0);
    volatile struct transfer asked = {__builtin_bswap32(control), __builtin_bswap32(length),
                                      __builtin_bswap64(physical_of(into))};
    uint64_t request = physical_of((const void *)&asked);
    outl(DMA_PORT, __builtin_bswap32((uint32_t)(request >> 32)));
    outl(DMA_PORT + 4, __builtin_bswap32((uint32_t)request));
    __asm__ volatile("" ::"r"(into) : "memory"); // the device has written it
    if (asked.control != 0)
        panic("why=warm reason=the-device control=%x", asked.control);
}

// False if there is none, or only one that stands for it.
WARM static bool find(const char *name, struct file *found) {
    uint32_t count;
    device_read(&count, sizeof count, DIRECTORY);
    for (uint32_t i = 0; i < __builtin_bswap32(count); i++) {
        device_read(found, sizeof *found, 0);
        found->name[sizeof found->name - 1] = 0;
        if (text_same(found->name, name)) {
            found->size = __builtin_bswap32(found->size);
            found->select = __builtin_bswap16(found->select);
            return found->size > NOTHING_BYTES;
        }
    }
    return false;
}

// The timer interrupt of this wait is the only one. What it counted, and what the line that was printed counted,
// is taken back: no program inherits anything that it lacks after a cold start.
WARM static void await(const char *name, struct file *found) {
    struct counters before = this_cpu()->count;
    print("benchwaits");
    do {
        lapic_timer(LOOK_MS * 1000 * cycles_per_us);
        irq_on_and_halt();
    } while (!find(name, found));
    lapic_timer(0);
    this_cpu()->count = before;
}

// As in kernel_main. No other CPU runs a thread, and this one holds no lock.
WARM static void choose_measure(void) {
    measure_on = option_is("measure", "1") || option_is("bench.measure", "1");
    if (measure_on && !CONFIG_CHECKS)
        panic("why=option word=measure=1 reason=the-fast-profile-keeps-no-books");
    lock_books |= measure_on;
    books_on |= measure_on;
}

// The words begin with those of the boot: what that needed of them was read then.
WARM static void take_words(const struct file *file) {
    char words[WORDS_BYTES];
    if (file->size >= WORDS_BYTES)
        panic("why=command-line reason=too-long most=%u", WORDS_BYTES - 1);
    device_read(words, file->size, file->select);
    uint32_t end = file->size;
    while (end > 0 && words[end - 1] == '\n')
        end--;
    words[end] = 0;
    size_t booted = text_length(options_all());
    if (end < booted || memcmp(words, options_all(), booted) != 0)
        panic("why=warm reason=the-words-are-of-another-boot");
    options_read(words);
    choose_measure();
}

// The kernel has no right to write where its programs are; the device has, as has the map of all memory.
WARM static void take_program(void) {
    struct file file;
    const char *name = option("bench.workload");
    if (name == NULL)
        panic("why=option word=bench.workload reason=missing");
    if (!find("opt/benchgate/files", &file))
        panic("why=warm reason=no-program");
    struct image *image = at(physical_of(&image_table.images[0])); // program.S: its place is empty
    uint64_t room = (uint64_t)(image->to - image->from);
    if (file.size > room)
        panic("why=warm reason=too-large-a-program bytes=%u most=%lu", file.size, room);
    device_read((void *)image->from, file.size, file.select);
    image->name = name;
    image->to = image->from + file.size;
}

WARM void warm_begin(const char *command_line) {
    struct file words;
    await("opt/benchgate/words", &words);
    take_words(&words);
    take_program();
    image_init(command_line);
}
