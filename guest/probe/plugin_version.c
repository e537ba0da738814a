// A TCG plugin that requires an API version that no QEMU has. QEMU's error message then names the newest
// version that it supports. These two symbols are QEMU's contract for plugins (its
// docs/devel/tcg-plugins.rst, "API versioning").

extern int qemu_plugin_version;
int qemu_plugin_version = 999;

int qemu_plugin_install(unsigned long id, const void *info, int argc, char **argv);

int qemu_plugin_install(unsigned long id, const void *info, int argc, char **argv) {
    (void)id, (void)info, (void)argc, (void)argv;
    return 1;
}
