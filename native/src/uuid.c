/* SPDX-License-Identifier: Apache-2.0
 *
 * SHA-1 and UUID version 5; see uuid.h. SHA-1 names things here, it protects nothing. */
#include "uuid.h"

#include <string.h>

/* uuid5(NAMESPACE_DNS, "gpu-sim.io") */
const uint8_t gs_uuid_namespace[16] = {0x52, 0x08, 0xe7, 0x11, 0x27, 0xbe, 0x55, 0xa7,
                                       0xa0, 0x3d, 0x6d, 0xf3, 0xea, 0x0d, 0x2e, 0x49};

struct sha1 {
    uint32_t state[5];
    uint8_t block[64];
    uint64_t length;
};

static uint32_t rotate(uint32_t value, unsigned bits) {
    return value << bits | value >> (32 - bits);
}

static void digest_block(struct sha1 *sha) {
    uint32_t w[80];
    uint32_t a = sha->state[0], b = sha->state[1], c = sha->state[2], d = sha->state[3];
    uint32_t e = sha->state[4];
    for (unsigned i = 0; i < 16; i++) {
        const uint8_t *p = sha->block + 4 * i;
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    }
    for (unsigned i = 16; i < 80; i++) {
        w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    }
    for (unsigned i = 0; i < 80; i++) {
        uint32_t f = i < 20   ? ((b & c) | (~b & d)) + 0x5A827999u
                     : i < 40 ? (b ^ c ^ d) + 0x6ED9EBA1u
                     : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDCu
                              : (b ^ c ^ d) + 0xCA62C1D6u;
        uint32_t next = rotate(a, 5) + f + e + w[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    sha->state[0] += a;
    sha->state[1] += b;
    sha->state[2] += c;
    sha->state[3] += d;
    sha->state[4] += e;
}

static void add(struct sha1 *sha, const void *data, size_t length) {
    const uint8_t *bytes = data;
    for (size_t i = 0; i < length; i++) {
        sha->block[sha->length++ % 64] = bytes[i];
        if (sha->length % 64 == 0) {
            digest_block(sha);
        }
    }
}

void gs_uuid_v5(const uint8_t space[16], const char *name, size_t length, uint8_t uuid[16]) {
    struct sha1 sha = {{0x67452301u, 0xEFCDAB89u, 0x98BADCFEu, 0x10325476u, 0xC3D2E1F0u}, {0}, 0};
    uint8_t tail[8];
    add(&sha, space, 16);
    add(&sha, name, length);
    uint64_t bits = sha.length * 8;
    add(&sha, "\x80", 1);
    while (sha.length % 64 != 56) {
        add(&sha, "", 1);
    }
    for (unsigned i = 0; i < 8; i++) {
        tail[i] = (uint8_t)(bits >> (56 - 8 * i));
    }
    add(&sha, tail, 8);
    for (unsigned i = 0; i < 16; i++) {
        uuid[i] = (uint8_t)(sha.state[i / 4] >> (24 - 8 * (i % 4)));
    }
    uuid[6] = (uint8_t)((uuid[6] & 0x0F) | 0x50);
    uuid[8] = (uint8_t)((uuid[8] & 0x3F) | 0x80);
}
