// Tells a guest of the capacities of its CPUs, in the device tree that QEMU makes for it.
#ifndef DEVICE_TREE_H
#define DEVICE_TREE_H

// One for each vCPU. Before QEMU makes its machine.
void device_tree_capacities(const unsigned *capacities, unsigned vcpus);
unsigned device_tree_told(void); // how many vCPUs have theirs in the tree

#endif
