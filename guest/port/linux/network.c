// The service `network` of services.h on Linux: TCP, and each connection is a channel.
//
// By default servers listen on the loopback device, which a guest brings up for this. The manifest may name
// another place, where whoever started the program listens already: bench.listen=FD is the listener, an
// open file, and bench.network=A.B.C.D:PORT its address. A call that fails gives the negative error. A
// place that is malformed ends the run.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../services.h"
#include "port.h"

#define BACKLOG BENCH_MAX_WORKERS

static struct sockaddr_in server; // of the listener

static int new_socket(void) {
    int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return file < 0 ? -errno : file;
}

// Nothing else has brought it up in a guest.
static int bring_loopback_up(int socket) {
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    return !port_is_guest || ioctl(socket, SIOCSIFFLAGS, &request) == 0 ? 0 : -errno;
}

static int listen_on_loopback(void) {
    socklen_t length = sizeof server;
    int file = new_socket();
    if (file < 0)
        return file;
    server = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int error = bring_loopback_up(file);
    if (error != 0)
        return error;
    // port 0: the kernel chooses one that is free
    if (bind(file, (struct sockaddr *)&server, sizeof server) != 0 || listen(file, BACKLOG) != 0 ||
        getsockname(file, (struct sockaddr *)&server, &length) != 0)
        return -errno;
    return file;
}

static void read_address(const char *text) {
    char address[16], rest;
    unsigned port;
    int good = sscanf(text, "%15[0-9.]:%5u%c", address, &port, &rest) == 2 && port > 0 && port <= UINT16_MAX;
    server = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    if (!good || inet_pton(AF_INET, address, &server.sin_addr) != 1)
        port_fail("bench.network must be an address and a port such as 10.0.0.1:7000");
}

int port_listen(void) {
    const char *place = bench_param("network");
    if (place == NULL)
        return listen_on_loopback();
    read_address(place);
    if (bench_param("listen") == NULL)
        port_fail("bench.network needs bench.listen, the open file that listens there");
    return (int)bench_param_u64("listen", 0);
}

// A request must not wait until the reply to the one before has been acknowledged.
static int channel_of(int file) {
    const int yes = 1;
    if (setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes) != 0)
        return -errno;
    return port_channel_of(file);
}

int port_accept(int listener) {
    int file;
    do
        file = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    while (file < 0 && errno == EINTR);
    return file < 0 ? -errno : channel_of(file);
}

int port_connect(int listener) {
    (void)listener; // there is one
    int file = new_socket();
    if (file < 0)
        return file;
    return connect(file, (struct sockaddr *)&server, sizeof server) == 0 ? channel_of(file) : -errno;
}
