/* SPDX-License-Identifier: Apache-2.0
 * What `ctl status` shows of each GPU, gathered once for table and JSON. */
#ifndef GPU_SIM_NODE_CTL_STATUS_H
#define GPU_SIM_NODE_CTL_STATUS_H

#include <stdbool.h>

#include "../src/inventory.h"
#include "../src/state.h"

struct shown {
    uint32_t slot;
    struct gs_config config;
    struct gs_state state, fresh; /* as it is; as configured */
    const struct gs_gpu *gpu;
    const char *health;  /* ok, xid, lost, removed */
    const char *kubelet; /* healthy, unhealthy, no plugin, unknown */
    int allocated;
    uint64_t memory_used; /* bytes */
    uint32_t utilization, power_mw;
    int32_t temperature;
    const char *pods; /* the file's text; NULL: none */
};

struct status {
    struct gs_node node;
    const struct gs_header *header;
    uint32_t count;
    struct shown gpus[GS_SLOTS];
};

void status_table(const struct status *status);
void status_json(const struct status *status);
/* What is not as configured: words for a line, or the members of a JSON list. */
void status_gpu_faults(const struct shown *shown, bool json);
void status_node_faults(const struct gs_header *header, bool json);
bool status_node_has_faults(const struct gs_header *header);
/* "[0, 7]" */
void status_links(uint64_t links);

#endif
