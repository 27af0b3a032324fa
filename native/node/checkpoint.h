/* SPDX-License-Identifier: Apache-2.0
 * The kubelet's device checkpoint: which devices it holds for healthy. It writes the file whenever a device plugin
 * reports or a device is given out, but not when a plugin goes. */
#ifndef GPU_SIM_NODE_CHECKPOINT_H
#define GPU_SIM_NODE_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

#define CHECKPOINT_NAME "kubelet_internal_checkpoint"

struct checkpoint {
    char *text;
    const char *devices; /* by resource; NULL: no plugin has registered */
    uint64_t written_ns; /* wall clock */
    uint64_t inode;      /* the kubelet renames a new file over it */
};

/* False and errno where it cannot be read. */
bool checkpoint_read(const char *path, struct checkpoint *checkpoint);
void checkpoint_free(struct checkpoint *checkpoint);

/* How many devices of NVIDIA's resources are this GPU: "<uuid>", or "<uuid>::<replica>" of a shared one. */
uint32_t checkpoint_count(const struct checkpoint *checkpoint, const char *uuid);

#endif
