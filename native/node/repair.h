/* SPDX-License-Identifier: Apache-2.0
 * NVIDIA's device plugin never takes a GPU back by itself: it has to look anew, and then it holds all for healthy.
 * A repair makes it do so and ends when the kubelet shows exactly the GPUs that are not broken. */
#ifndef GPU_SIM_NODE_REPAIR_H
#define GPU_SIM_NODE_REPAIR_H

#include "ctl.h"

/* After the GPUs in `asked` were cleared, of which those in `broken` had what the plugin takes for their end. */
int repair(const struct ctl *ctl, const char *subject, uint64_t asked, uint64_t broken);

/* By slot: what a change takes away that the plugin may have met. */
uint64_t repair_needed(const struct change *change);

/* By slot: present GPUs that have an Xid which the plugin does not ignore. */
uint64_t repair_standing(const struct gs_inventory *inventory);

#endif
