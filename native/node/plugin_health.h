/* SPDX-License-Identifier: Apache-2.0
 * Which Xids NVIDIA's device plugin takes for the end of a GPU: its own list and two variables, which the chart
 * sets on its container and on the agent's alike. */
#ifndef GPU_SIM_NODE_PLUGIN_HEALTH_H
#define GPU_SIM_NODE_PLUGIN_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Does the plugin do nothing about it? Then `why`, if not NULL, says by what. */
bool plugin_ignores(uint32_t xid, const char **why);

#endif
