/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening an inventory: mapping, checking, and taking consistent copies of its groups.
 * Called by the library at init and by every tool. Needs no lock and never writes. */
#ifndef GPU_SIM_READER_H
#define GPU_SIM_READER_H

#include "inventory.h"
#include "spec.h"

struct gs_mapping {
    struct gs_inventory *inventory;
    size_t size;
    int writable;
    uint64_t device; /* with inode: the file's identity */
    uint64_t inode;
};

/* NULL-terminated name of the data file for a driver version: "libnvidia-gpu-sim.so.<version>". */
#define GS_FILE_PREFIX "libnvidia-gpu-sim.so."

/* Maps and validates. 0, or -1 with error filled (error->text begins with the path) and nothing mapped.
 * A writable mapping is for the installer, the agent and ctl. */
int gs_map(const char *path, int writable, struct gs_mapping *mapping, struct gs_error *error);
void gs_unmap(struct gs_mapping *mapping);

/* Checks header, sizes and offsets of size bytes at data, which came from `source`. 0 or -1. */
int gs_validate(const void *data, size_t size, const char *source, struct gs_error *error);

/* The GPU in a slot, by the file's own offset and stride. slot < header.gpu_slots. */
const struct gs_gpu *gs_gpu_at(const struct gs_inventory *inventory, uint32_t slot);

/* Consistent copies of one group. A writer that never rests can spoil one attempt after the other, but hardly
 * this many; the bound, about a millisecond, keeps a reader from hanging on a broken writer. */
#define GS_ATTEMPTS 4096u
void gs_read_node(const struct gs_inventory *inventory, struct gs_node *node);
void gs_read_config(const struct gs_gpu *gpu, struct gs_config *config);
void gs_read_state(const struct gs_gpu *gpu, struct gs_state *state);
void gs_read_allocation(const struct gs_gpu *gpu, struct gs_allocation *allocation);

/* Finds the data file in a directory: the newest-looking name with GS_FILE_PREFIX whose content is live.
 * 0 with path filled, 1 when there is none, -1 with error filled when there is one that cannot be used. */
int gs_find(const char *directory, char *path, size_t size, struct gs_error *error);

#endif
