/* SPDX-License-Identifier: Apache-2.0
 * What `ctl set`, `ctl throttle` and `ctl ecc` know: for --help, and for `ctl status`, which tells what is in force. */
#ifndef GPU_SIM_NODE_CTL_SET_H
#define GPU_SIM_NODE_CTL_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../src/inventory.h"

/* `command` is "set" or "throttle". */
void ctl_set_help(const char *command);
void ctl_throttle_help(void);

struct throttle_reason {
    const char *name;
    uint64_t bit; /* nvmlClocksEventReason… */
    int policy;   /* whose time counts up meanwhile (place in gs_state.violation); -1: none */
};
extern const struct throttle_reason throttle_reasons[];

/* The value of a key, in its unit. */
struct set_shown {
    const char *name, *unit;
    double low, high; /* the same, but for a range */
    bool only_reset;  /* clear leaves it */
};
unsigned ctl_set_count(void);
/* Of the key with this number; true where it was set, or is not as configured in `fresh`. */
bool ctl_set_shown(unsigned index, const struct gs_state *state, const struct gs_state *fresh,
                   struct set_shown *shown);

/* "dram", for a place in gs_state.ecc_volatile; NULL where there is none. */
const char *ctl_ecc_location(unsigned location);

#endif
