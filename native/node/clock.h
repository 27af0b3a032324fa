/* SPDX-License-Identifier: Apache-2.0
 * The clock of waiting loops. */
#ifndef GPU_SIM_NODE_CLOCK_H
#define GPU_SIM_NODE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The clock of the inventory's moments. */
static inline uint64_t clock_boot_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A fifth of a second: short beside every wait, long beside a look. */
static inline void clock_pause(void) {
    struct timespec pause = {.tv_nsec = 200 * 1000 * 1000};
    nanosleep(&pause, NULL);
}

#endif
