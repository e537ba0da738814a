// The network of a part: two namespaces that a veth pair joins, by rtnetlink.
//
// The part's programs are in the first one, where they connect from; in the second one is a socket that
// listens, which they inherit: a socket stays in its namespace. So every byte between client and server
// crosses the pair, where it is counted, and where a token bucket limits it. Runs in the part's runner, and
// ends the run if the kernel refuses something: a part that asks for a network could do no work.
#include "mix.h"

#include "port/linux/written.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT 7000
#define BACKLOG 64
#define NEAR "v0"              // the part's end
#define FAR "v1"               // the end of what listens
#define LATENCY_NS 50000000ull // a queue as long as this fills at the limit

struct request {
    struct nlmsghdr head;
    char body[1000];
};

static unsigned here; // the part, for messages

// ---- messages

static void begin(struct request *request, uint16_t type, uint16_t flags, const void *body, size_t bytes) {
    memset(request, 0, sizeof *request);
    request->head.nlmsg_type = type;
    request->head.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
    request->head.nlmsg_len = (uint32_t)NLMSG_LENGTH(bytes);
    memcpy(NLMSG_DATA(&request->head), body, bytes);
}

static struct rtattr *add(struct request *request, uint16_t type, const void *value, size_t bytes) {
    struct rtattr *attribute = (struct rtattr *)((char *)request + NLMSG_ALIGN(request->head.nlmsg_len));
    attribute->rta_type = type;
    attribute->rta_len = (uint16_t)RTA_LENGTH(bytes);
    if (bytes > 0)
        memcpy(RTA_DATA(attribute), value, bytes);
    request->head.nlmsg_len = NLMSG_ALIGN(request->head.nlmsg_len) + (uint32_t)RTA_ALIGN(attribute->rta_len);
    return attribute;
}

static void close_nest(struct request *request, struct rtattr *nest) {
    nest->rta_len = (uint16_t)((char *)request + request->head.nlmsg_len - (char *)nest);
}

static void ask(int socket, struct request *request, const char *what) {
    struct {
        struct nlmsghdr head;
        struct nlmsgerr error;
        char rest[1024];
    } answer;
    if (send(socket, request, request->head.nlmsg_len, 0) < 0 || recv(socket, &answer, sizeof answer, 0) < 0)
        mix_fail(what, here);
    if (answer.head.nlmsg_type != NLMSG_ERROR || answer.error.error != 0) {
        errno = -answer.error.error;
        mix_fail(what, here);
    }
}

// ---- what is asked for

static int namespace_of_own(int *name) {
    if (unshare(CLONE_NEWNET) != 0)
        mix_fail("it can have no network namespace", here);
    // Packets of IPv6 that nobody sends on purpose would count as the part's.
    written("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    written("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
    *name = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    int route = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (*name < 0 || route < 0)
        mix_fail("it can have no network namespace", here);
    return route;
}

static void make_pair(int near, int far_name) {
    struct request request;
    const struct ifinfomsg link = {.ifi_family = AF_UNSPEC};
    begin(&request, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof link);
    add(&request, IFLA_IFNAME, NEAR, sizeof NEAR);
    struct rtattr *info = add(&request, IFLA_LINKINFO, NULL, 0);
    add(&request, IFLA_INFO_KIND, "veth", 5);
    struct rtattr *data = add(&request, IFLA_INFO_DATA, NULL, 0);
    struct rtattr *peer = add(&request, VETH_INFO_PEER, &link, sizeof link);
    add(&request, IFLA_IFNAME, FAR, sizeof FAR);
    add(&request, IFLA_NET_NS_FD, &far_name, sizeof far_name);
    close_nest(&request, peer);
    close_nest(&request, data);
    close_nest(&request, info);
    ask(near, &request, "veth");
}

static int index_of(int route, const char *name) {
    struct request request;
    struct {
        struct nlmsghdr head;
        struct ifinfomsg link;
        char rest[8192];
    } answer;
    const struct ifinfomsg link = {.ifi_family = AF_UNSPEC};
    begin(&request, RTM_GETLINK, 0, &link, sizeof link);
    request.head.nlmsg_flags = NLM_F_REQUEST;
    add(&request, IFLA_IFNAME, name, strlen(name) + 1);
    if (send(route, &request, request.head.nlmsg_len, 0) < 0 || recv(route, &answer, sizeof answer, 0) < 0 ||
        answer.head.nlmsg_type != RTM_NEWLINK)
        mix_fail("its veth cannot be found", here);
    return answer.link.ifi_index;
}

static void set_address(int route, int index, in_addr_t address) {
    struct request request;
    const struct ifaddrmsg whole = {.ifa_family = AF_INET, .ifa_prefixlen = 24, .ifa_index = (unsigned)index};
    begin(&request, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, &whole, sizeof whole);
    add(&request, IFA_LOCAL, &address, sizeof address);
    add(&request, IFA_ADDRESS, &address, sizeof address);
    ask(route, &request, "the address of its veth");
}

static void bring_up(int route, int index) {
    struct request request;
    const struct ifinfomsg link = {
        .ifi_family = AF_UNSPEC, .ifi_index = index, .ifi_flags = IFF_UP, .ifi_change = IFF_UP};
    begin(&request, RTM_NEWLINK, 0, &link, sizeof link);
    ask(route, &request, "its veth cannot come up");
}

// A token bucket (tc-tbf): at most `rate` bytes per second, in bursts of the longest packet or of 1 ms.
static void limit_rate(int route, int index, uint64_t rate) {
    struct request request;
    const struct tcmsg queue = {
        .tcm_family = AF_UNSPEC, .tcm_ifindex = index, .tcm_handle = 0x10000, .tcm_parent = TC_H_ROOT};
    uint32_t burst = rate / 1000 > 65536 ? (uint32_t)(rate / 1000) : 65536;
    struct tc_tbf_qopt shape = {0};
    shape.rate.linklayer = 1; // Ethernet: the kernel computes its own table
    shape.rate.rate = rate > UINT32_MAX ? UINT32_MAX : (uint32_t)rate;
    shape.limit = (uint32_t)(rate * LATENCY_NS / 1000000000ull) + burst;
    begin(&request, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &queue, sizeof queue);
    add(&request, TCA_KIND, "tbf", 4);
    struct rtattr *options = add(&request, TCA_OPTIONS, NULL, 0);
    add(&request, TCA_TBF_PARMS, &shape, sizeof shape);
    add(&request, TCA_TBF_BURST, &burst, sizeof burst);
    if (rate > UINT32_MAX)
        add(&request, TCA_TBF_RATE64, &rate, sizeof rate);
    close_nest(&request, options);
    ask(route, &request, "tbf on its veth");
}

static int listen_there(void) {
    const struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int listener = socket(AF_INET, SOCK_STREAM, 0); // inherited by the part's programs
    const int yes = 1;
    if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(listener, (const struct sockaddr *)&any, sizeof any) != 0 || listen(listener, BACKLOG) != 0)
        mix_fail("its socket cannot listen", here);
    return listener;
}

void network_open(void) {
    if (module_load("veth").why != NULL || module_load("sch_tbf").why != NULL)
        port_fail("this kernel does not take the modules veth and sch_tbf, which a part needs");
}

void network_make(struct part *one) {
    int near_name, far_name;
    here = one->id;
    in_addr_t first = htonl(0x0a4d0001u + (one->id << 8)), second = htonl(0x0a4d0002u + (one->id << 8));
    int far = namespace_of_own(&far_name);
    one->listener = listen_there();
    int near = namespace_of_own(&near_name);
    make_pair(near, far_name);
    const struct {
        int route;
        const char *name;
        in_addr_t address;
    } ends[] = {{near, NEAR, first}, {far, FAR, second}};
    for (unsigned i = 0; i < 2; i++) {
        int index = index_of(ends[i].route, ends[i].name);
        set_address(ends[i].route, index, ends[i].address);
        bring_up(ends[i].route, index);
        if (one->network != NONE)
            limit_rate(ends[i].route, index, (uint64_t)one->network);
    }
    close(near_name);
    close(far_name);
    close(near);
    close(far);
}
