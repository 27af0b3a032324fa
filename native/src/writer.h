/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores into an inventory that others have mapped: groups that flip, events, faults, counters. Used by the node
 * program and by tests. The caller holds the file's lock: there is one writer at a time, and readers never wait. */
#ifndef GPU_SIM_WRITER_H
#define GPU_SIM_WRITER_H

#include "inventory.h"

/* The GPU in a slot, to be changed. */
struct gs_gpu *gs_gpu_of(struct gs_inventory *inventory, uint32_t slot);

/* Makes *state (or *allocation) what everybody reads, at once. */
void gs_write_state(struct gs_gpu *gpu, const struct gs_state *state);
void gs_write_allocation(struct gs_gpu *gpu, const struct gs_allocation *allocation);

/* The states of several GPUs (a bit for each slot) with one store: no reader finds one new and another old, also where the
 * writer is killed half-way. */
void gs_write_states(struct gs_inventory *inventory, uint64_t slots,
                     const struct gs_state states[GS_SLOTS]);

/* Ends what a killed gs_write_states() left: before anybody else flips states. */
void gs_end_batch(struct gs_inventory *inventory);

/* Adds events (slot, type, data of each; at most GS_EVENTS) and wakes all who wait. type is one nvmlEventType… bit. */
void gs_raise_events(struct gs_inventory *inventory, const struct gs_event *events, uint32_t count);

/* Until until_ns (CLOCK_BOOTTIME; 0: no longer) a set that is registered gets the events from number `from` on too. */
void gs_replay(struct gs_inventory *inventory, uint64_t from, uint64_t until_ns);

/* Makes the node's faults, for functions without a device, those of the lists: place by place, and a place that
 * stays the same is not touched. */
void gs_write_node_faults(struct gs_inventory *inventory, const struct gs_fault faults[GS_FAULTS],
                          const struct gs_fault_detail details[GS_FAULTS]);

/* From 50 ms after now_ns on the counter gains per_second; until then it stands at what it will have gained by then, so that
 * it never goes back to a reader that has the old rate still. */
void gs_counter_rate(struct gs_counter *counter, uint64_t now_ns, uint64_t per_second);

#endif
