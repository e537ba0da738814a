// A TCG plugin that demands an API version no QEMU has: the refusal names the newest it does have.
// QEMU's contract for plugins (docs/devel/tcg-plugins.rst, "API versioning") is these two symbols.

extern int qemu_plugin_version;
int qemu_plugin_version = 999;

int qemu_plugin_install(unsigned long id, const void *info, int argc, char **argv);

int qemu_plugin_install(unsigned long id, const void *info, int argc, char **argv) {
    (void)id, (void)info, (void)argc, (void)argv;
    return 1;
}
