// ELF-64 Object File Format 1.5; System V ABI, AMD64 supplement.
#include "core/image.h"

#include "arch/tsc.h"
#include "core/fault.h"
#include "core/percpu.h"
#include "core/process.h"
#include "core/string.h"
#include "measure/measure.h"
#include "ring/abi.h"

#define ELF_MAGIC 0x464c457f
#define LOAD 1
#define FLAG_EXECUTE 1
#define FLAG_WRITE 2

struct elf_header {
    uint32_t magic;
    uint8_t ident[12];
    uint16_t type, machine;
    uint32_t version;
    uint64_t entry, program_offset, section_offset;
    uint32_t flags;
    uint16_t size, program_size, program_count;
};

struct elf_program {
    uint32_t type, flags;
    uint64_t offset, address, physical, file_bytes, memory_bytes, alignment;
};

static union {
    _Alignas(PAGE_SIZE) struct ring_info info;
    char page[PAGE_SIZE];
} info;

const struct image *image_named(const char *name) {
    for (const struct image *image = image_table.images; image->name != NULL; image++)
        if (text_same(image->name, name))
            return image;
    return NULL;
}

void image_init(const char *command_line) {
    info.info.online = cpu_count;
    info.info.measure = measure_on;
    info.info.wrong_checksum = fault_is(FAULT_WRONG_CHECKSUM) ? (uint32_t)fault_value + 1 : 0;
    info.info.cycles_per_us = cycles_per_us;
    size_t length = text_length(command_line);
    if (length >= sizeof info.info.command_line)
        length = sizeof info.info.command_line - 1;
    memcpy(info.info.command_line, command_line, length);
}

static uint64_t physical_of(const void *kernel) {
    return (uint64_t)kernel - KERNEL_BASE;
}

static bool map_shared(struct address_space *space, const struct image *image, const struct elf_program *p) {
    uint64_t rights = PTE_BORROWED | (p->flags & FLAG_EXECUTE ? 0 : page_nx);
    for (uint64_t at_byte = 0; at_byte < p->file_bytes; at_byte += PAGE_SIZE)
        if (!vm_map_page(space, p->address + at_byte, physical_of(image->from + p->offset + at_byte), rights))
            return false;
    return true;
}

// Copies the bytes of the file. What follows them is zero: the rest of the last page is cleared now, whole
// pages are mapped on first use.
static bool map_own(struct address_space *space, const struct image *image, const struct elf_program *p) {
    uint64_t done = 0;
    for (; done < p->file_bytes; done += PAGE_SIZE) {
        uint64_t page = page_take(), part = p->file_bytes - done;
        if (page == 0)
            return false;
        part = part < PAGE_SIZE ? part : PAGE_SIZE;
        memcpy(at(page), image->from + p->offset + done, part);
        memset((char *)at(page) + part, 0, PAGE_SIZE - part);
        if (!vm_map_page(space, p->address + done, page, PTE_WRITE | page_nx)) {
            page_give(page);
            return false;
        }
    }
    space->zero_from = p->address + done;
    space->zero_to = (p->address + p->memory_bytes + PAGE_SIZE - 1) & ~(uint64_t)(PAGE_SIZE - 1);
    return true;
}

// The image is our own, but a broken build must be detected here.
static bool fits(const struct image *image, const struct elf_program *p) {
    uint64_t size = (uint64_t)(image->to - image->from);
    return p->offset <= size && p->file_bytes <= size - p->offset && p->file_bytes <= p->memory_bytes &&
           p->address % PAGE_SIZE == 0 && p->offset % PAGE_SIZE == 0 && p->address >= USER_IMAGE &&
           p->address < USER_IMAGE_END && p->memory_bytes < USER_IMAGE_END - p->address;
}

static bool load(struct address_space *space, const struct image *image, uint64_t *entry) {
    const struct elf_header *header = (const void *)image->from;
    if ((uint64_t)(image->to - image->from) < sizeof *header || header->magic != ELF_MAGIC)
        return false;
    const struct elf_program *program = (const void *)(image->from + header->program_offset);
    for (unsigned i = 0; i < header->program_count; i++) {
        const struct elf_program *p = &program[i];
        if (p->type != LOAD || p->memory_bytes == 0)
            continue;
        if (!fits(image, p) || !(p->flags & FLAG_WRITE ? map_own : map_shared)(space, image, p))
            return false;
    }
    *entry = header->entry;
    return true;
}

// Maps a ring page and the first page of the stack. A slot that was used before still has both.
static bool open_slot(struct process *process, uint64_t slot, struct ring_owner *owner, uint64_t *stack) {
    uint64_t top = slot + RING_SLOT_BYTES;
    uint64_t ring = vm_translate(&process->space, slot, true);
    if (ring == 0) {
        ring = vm_map_zeroed(&process->space, slot);
        if (ring == 0 || vm_map_zeroed(&process->space, top - PAGE_SIZE) == 0)
            return false;
    }
    ring_open(owner, at(ring));
    *stack = top - 8; // alignment as after a call
    return true;
}

bool image_load(struct thread *main) {
    struct process *process = main->process;
    if (!vm_create(&process->space) || !load(&process->space, process->image, &main->entry))
        return false;
    return vm_map_page(&process->space, USER_MAIN_SLOT + RING_INFO_OFFSET, physical_of(&info),
                       PTE_BORROWED | page_nx) &&
           open_slot(process, USER_MAIN_SLOT, &process->ring, &main->user_stack);
}

bool image_add_slot(struct thread *thread) {
    struct process *process = thread->process;
    lock_take(&process->space.lock);
    if (process->space.slots < thread->user_slot)
        process->space.slots = thread->user_slot;
    lock_drop(&process->space.lock);
    uint64_t slot = USER_THREADS + (uint64_t)(thread->user_slot - 1) * RING_SLOT_BYTES;
    thread->entry = ((const struct elf_header *)process->image->from)->entry;
    return open_slot(process, slot, &thread->ring, &thread->user_stack);
}

void process_begin(struct thread *thread) {
    struct cpu *cpu = this_cpu();
    bool main = thread->user_slot == 0;
    if (!(main ? image_load(thread) : image_add_slot(thread)))
        process_kill(RING_VECTOR_NONE, 0, 0, "no-memory");
    if (cpu->space != &thread->process->space)
        vm_enter(cpu, &thread->process->space);
    process_check_asked();
}
