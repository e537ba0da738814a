// The memory map. Included by C, assembly and the linker scripts.
//
//   0x0000000000200000  main thread: ring page, guard, stack (THREAD_SLOT bytes)
//   0x0000000000400000  the program's image
//   0x0000000040000000  slots of the other threads
//   0x0000000100000000  memory from the map operation, private
//   0x0000100000000000  memory from the map operation, shared by every process: one page table for all
//   0x00007ffffffff000  end of user space
//   0xffff800000000000  all RAM below RAM_LIMIT, and the devices below 4 GiB
//   0xffff900000000000  kernel stacks, each behind guard pages that are never mapped
//   0xffffffff80000000  the kernel
#ifndef ARCH_LAYOUT_H
#define ARCH_LAYOUT_H

#define PAGE_SIZE 4096
#define LARGE_PAGE 0x200000

#define KERNEL_BASE 0xffffffff80000000
#define KERNEL_LOAD 0x200000 // physical; the boot code is below it
#define DIRECT_BASE 0xffff800000000000
#define STACKS_BASE 0xffff900000000000
#define IMAGES_ROOM 0x100000 // kept free for programs in every kernel: nothing moves with those that it has
#define TRAMPOLINE 0x8000 // physical; application processors start here in real mode

#define USER_MAIN_SLOT 0x200000
#define USER_IMAGE 0x400000
#define USER_IMAGE_END 0x40000000
#define USER_THREADS 0x40000000
#define USER_PRIVATE 0x100000000
#define USER_SHARED 0x100000000000
#define USER_SHARED_END 0x108000000000 // the range that one PML4 entry maps
#define USER_END 0x7ffffffff000

// Selectors. sysret requires user data just below user code.
#define KERNEL_CODE 0x08
#define KERNEL_DATA 0x10
#define USER_DATA 0x1b
#define USER_CODE 0x23
#define TSS_SELECTOR 0x28
#define CPU_SELECTOR 0x3b // a segment whose limit is the CPU's number, for a program's lsl

#endif
