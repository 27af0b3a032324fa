/* SPDX-License-Identifier: Apache-2.0
 * What a repair waits for, looked at again and again: the plugin's sockets and the kubelet's checkpoint beside the
 * inventory. */
#ifndef GPU_SIM_NODE_REPAIR_LOOK_H
#define GPU_SIM_NODE_REPAIR_LOOK_H

#include <stddef.h>

#include "../src/inventory.h"
#include "checkpoint.h"
#include "plugin_process.h"

/* How far it has come. */
enum seen {
    SEEN_NO_PLUGIN,
    SEEN_OLD_PLUGIN,
    SEEN_NO_REPORT,
    SEEN_NOT_BACK,
    SEEN_BROKEN_AS_HEALTHY,
    SEEN_ALL
};

struct look {
    const struct gs_inventory *inventory;
    const char *plugin_dir;
    uint64_t needed;           /* by slot: must be healthy to the kubelet, if not broken by then */
    uint32_t healthy, present; /* as the kubelet has them, of how many */
    /* Its own: */
    struct plugin_sockets before, registered;
    uint64_t checkpoint_inode, checkpoint_ns; /* of the one before */
    uint32_t full[GS_SLOTS]; /* devices of each GPU when the plugin had just registered */
};

/* All that the kubelet has whole. */
uint64_t look_healthy(struct look *look);
/* Has a plugin ever registered? */
bool look_known(struct look *look);
/* Those of `slots` that the kubelet does not have, or has in part. */
uint64_t look_unhealthy(struct look *look, uint64_t slots);
/* Remembers what is there; everything that counts later must be newer. */
void look_before(struct look *look);
/* `missing`: the GPUs that it is about. */
enum seen look_again(struct look *look, uint64_t *missing);
/* What is waited for and what was seen instead. */
const char *look_text(const struct look *look, enum seen seen, uint64_t missing, char *text,
                      size_t size);

#endif
