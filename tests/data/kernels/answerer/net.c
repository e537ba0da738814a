// ARP (RFC 826), IPv4 (RFC 791) and as much of TCP (RFC 9293) as one short answer needs. A segment is answered
// in the frame that brought it, and nothing else is remembered: the other side repeats what gets lost.
#include "answerer.h"

enum { ETHERNET = 14, IP = 20, TCP = 20, ARP_TYPE = 0x0806, IP_TYPE = 0x0800, IS_TCP = 6 };
enum { FIN = 1, SYN = 2, RST = 4, PUSH = 8, ACK = 16 };

static unsigned get16(const uint8_t *at) {
    return (unsigned)at[0] << 8 | at[1];
}

static uint32_t get32(const uint8_t *at) {
    return (uint32_t)get16(at) << 16 | get16(at + 2);
}

static void put16(uint8_t *at, unsigned value) {
    at[0] = (uint8_t)(value >> 8), at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value) {
    put16(at, value >> 16), put16(at + 2, value & 0xffff);
}

static void copy(uint8_t *to, const uint8_t *from, size_t count) {
    while (count--)
        *to++ = *from++;
}

static void swap(uint8_t *a, uint8_t *b, size_t count) {
    for (; count--; a++, b++) {
        uint8_t kept = *a;
        *a = *b, *b = kept;
    }
}

static unsigned checksum(const uint8_t *at, size_t count, uint32_t sum) {
    for (; count > 1; at += 2, count -= 2)
        sum += get16(at);
    if (count)
        sum += (unsigned)*at << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return ~sum & 0xffff;
}

static void send_back(uint8_t *frame, size_t length) {
    copy(frame, frame + 6, 6);
    copy(frame + 6, own_address, 6);
    card_send(frame, length);
}

// Whoever asks for any address gets ours.
static void arp(uint8_t *frame) {
    uint8_t *sender = frame + 22, *target = frame + 32, asked[4];
    if (get16(frame + 20) != 1)
        return;
    put16(frame + 20, 2);
    copy(asked, target + 6, 4);
    copy(target, sender, 10);
    copy(sender, own_address, 6);
    copy(sender + 6, asked, 4);
    send_back(frame, 42);
}

static void send_segment(uint8_t *frame, unsigned flags, uint32_t sequence, uint32_t acknowledged, size_t count) {
    uint8_t *ip = frame + ETHERNET, *tcp = ip + IP;
    swap(ip + 12, ip + 16, 4);
    swap(tcp, tcp + 2, 2);
    put16(ip + 2, (unsigned)(IP + TCP + count));
    put16(ip + 10, 0);
    put16(ip + 10, checksum(ip, IP, 0));
    put32(tcp + 4, sequence);
    put32(tcp + 8, acknowledged);
    put16(tcp + 12, 5u << 12 | flags);
    put16(tcp + 14, 4096); // window
    put16(tcp + 16, 0);
    put16(tcp + 18, 0);
    uint32_t pseudo = get16(ip + 12) + get16(ip + 14) + get16(ip + 16) + get16(ip + 18) + IS_TCP;
    put16(tcp + 16, checksum(tcp, TCP + count, pseudo + (uint32_t)(TCP + count)));
    send_back(frame, ETHERNET + IP + TCP + count);
}

static size_t append(uint8_t *to, const char *word) {
    size_t count = 0;
    while (word[count])
        to[count] = (uint8_t)word[count], count++;
    return count;
}

static size_t append_number(uint8_t *to, unsigned value) {
    size_t count = value >= 10 ? append_number(to, value / 10) : 0;
    to[count] = (uint8_t)('0' + value % 10);
    return count + 1;
}

static bool halts;

static void answer(uint8_t *frame, uint32_t sequence, uint32_t acknowledged, const uint8_t *said, size_t count) {
    static uint8_t kept[LONGEST];
    uint8_t *to = frame + ETHERNET + IP + TCP;
    unsigned port = get16(frame + ETHERNET + IP + 2);
    copy(kept, said, count);
    size_t length = append(to, "port ");
    length += append_number(to + length, port);
    length += append(to + length, " got: ");
    copy(to + length, kept, count);
    send_segment(frame, FIN | PUSH | ACK, sequence, acknowledged, length + count);
    halts = count >= 4 && get32(kept) == 0x68616c74; // halt
}

static void tcp_segment(uint8_t *frame, size_t length) {
    uint8_t *ip = frame + ETHERNET, *tcp = ip + IP;
    size_t whole = get16(ip + 2), offset = (size_t)(tcp[12] >> 4) * 4;
    if (whole + ETHERNET > length || whole < IP + offset)
        return;
    size_t count = whole - IP - offset;
    uint32_t theirs = get32(tcp + 4), ours = get32(tcp + 8);
    unsigned flags = tcp[13];
    if (flags & SYN)
        send_segment(frame, SYN | ACK, 1000, theirs + 1, 0);
    else if (count && count < LONGEST - 100)
        answer(frame, ours, theirs + (uint32_t)count + (flags & FIN), tcp + offset, count);
    else if ((flags & FIN) && !(flags & RST)) {
        send_segment(frame, ACK, ours, theirs + 1, 0);
        if (halts) { // the other side has read the answer
            text("answerer: halts\n");
            halt(true);
        }
    }
}

void net_frame(uint8_t *frame, size_t length) {
    unsigned type = get16(frame + 12);
    if (type == ARP_TYPE && length >= 42)
        arp(frame);
    else if (type == IP_TYPE && length >= ETHERNET + IP + TCP && frame[14] == 0x45 && frame[23] == IS_TCP)
        tcp_segment(frame, length);
}
