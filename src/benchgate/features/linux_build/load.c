// Loads a scheduler in BPF from an object file, puts it in charge, and stays until it is told to end.
//
// It is built with the libbpf of the source of the kernel that it runs on (kernel.py), and takes the
// object's path. What libbpf and the verifier have to say goes to standard error, which PID 1 keeps. Ends with 1
// if the object cannot be loaded or is not one scheduler.
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int refuse(const char *object, const char *what) {
    fprintf(stderr, "%s: %s: %s\n", object, what, strerror(errno));
    return 1;
}

int main(int argc, char **argv) {
    struct bpf_object *object = argc == 2 ? bpf_object__open_file(argv[1], NULL) : NULL;
    if (object == NULL)
        return refuse(argc == 2 ? argv[1] : "give one object", "it cannot be opened");
    if (bpf_object__load(object) != 0)
        return refuse(argv[1], "the kernel does not load it");
    struct bpf_map *map, *scheduler = NULL;
    int count = 0;
    bpf_object__for_each_map(map, object) {
        if (bpf_map__type(map) == BPF_MAP_TYPE_STRUCT_OPS) {
            scheduler = map;
            count++;
        }
    }
    if (count != 1) {
        fprintf(stderr, "%s has %d tables of callbacks (struct_ops), and a scheduler is one\n", argv[1], count);
        return 1;
    }
    if (bpf_map__attach_struct_ops(scheduler) == NULL)
        return refuse(argv[1], "the kernel does not put it in charge");
    for (;;)
        pause();
}
