/* SPDX-License-Identifier: Apache-2.0
 * The clock of waiting loops. */
#ifndef GPU_SIM_NODE_CLOCK_H
#define GPU_SIM_NODE_CLOCK_H

#include <time.h>

static inline double clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* A fifth of a second: short beside every wait, long beside a look. */
static inline void clock_pause(void) {
    struct timespec pause = {.tv_nsec = 200 * 1000 * 1000};
    nanosleep(&pause, NULL);
}

#endif
