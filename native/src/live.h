/* SPDX-License-Identifier: Apache-2.0
 *
 * Readings of a running board as pure functions of inventory and clock: no process ticks, and all
 * processes of a node read the same. Called by the chapters. */
#ifndef GPU_SIM_LIVE_H
#define GPU_SIM_LIVE_H

#include "state.h"

uint32_t gs_live_utilization(const struct gs_device *device);        /* per cent */
uint32_t gs_live_memory_utilization(const struct gs_device *device); /* per cent */
uint32_t gs_live_power(const struct gs_device *device);              /* mW, at most the limit */
int32_t gs_live_temperature(const struct gs_device *device);
int32_t gs_live_memory_temperature(const struct gs_device *device);
/* Low when idle, high under any load. */
uint32_t gs_live_clock(const struct gs_device *device, const struct gs_reading *clock);
uint64_t gs_live_counter(const struct gs_counter *counter);
/* Bytes held by processes, or what was set if that is more, without what the board reserves; never more than
 * the rest. */
uint64_t gs_live_memory_used(const struct gs_device *device);

#endif
