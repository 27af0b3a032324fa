/* SPDX-License-Identifier: Apache-2.0
 * What `ctl set` and `ctl throttle` know, listed for people; called by ctl.c for --help. */
#ifndef GPU_SIM_NODE_CTL_SET_H
#define GPU_SIM_NODE_CTL_SET_H

#include <stddef.h>
#include <stdint.h>

/* `command` is "set" or "throttle". */
void ctl_set_help(const char *command);
void ctl_throttle_help(void);

struct throttle_reason {
    const char *name;
    uint64_t bit; /* nvmlClocksEventReason… */
    int policy;   /* whose time counts up meanwhile (place in gs_state.violation); -1: none */
};
extern const struct throttle_reason throttle_reasons[];

#endif
