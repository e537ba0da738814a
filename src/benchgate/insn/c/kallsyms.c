// A PID 1 that sends the text symbols of the running kernel to QEMU's debug console.
//
// A distribution's kernel ships without its symbols, but offers them in /proc/kallsyms. The symbols of
// modules are left out. The program leaves through isa-debug-exit; status 33 means success.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/io.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEBUG_PORT 0xe9
#define EXIT_PORT 0xf4

static void send(const char *text, size_t length) {
    __asm__ volatile("rep outsb" : "+S"(text), "+c"(length) : "d"(DEBUG_PORT) : "memory");
}

// `ffffffff81000000 T _text`
static int wanted(const char *line) {
    const char *kind = strchr(line, ' ');
    return kind != NULL && strchr("tTwW", kind[1]) != NULL && strchr(line, '[') == NULL;
}

int main(void) {
    char line[1024];
    mkdir("/proc", 0755); // our initramfs does not have it
    int good = mount("proc", "/proc", "proc", 0, NULL) == 0 && iopl(3) == 0;
    FILE *symbols = good ? fopen("/proc/kallsyms", "r") : NULL;
    while (symbols != NULL && fgets(line, sizeof line, symbols) != NULL)
        if (wanted(line))
            send(line, strlen(line));
    if (good)
        outl(symbols != NULL ? 0x10 : 0x11, EXIT_PORT);
    reboot(RB_POWER_OFF);
    return 1;
}
