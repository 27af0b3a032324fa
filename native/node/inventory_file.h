/* SPDX-License-Identifier: Apache-2.0
 * The inventory on the node's disk. It keeps its inode as long as its layout keeps its major version: pods have it
 * bind-mounted, and a renamed file would leave them in the past. */
#ifndef GPU_SIM_NODE_INVENTORY_FILE_H
#define GPU_SIM_NODE_INVENTORY_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "../src/inventory.h"
#include "place.h"

struct inventory_file {
    char wanted[PATH_MAX];   /* the path under the root, by the new driver version */
    char existing[PATH_MAX]; /* the one to write into; "" when a new file is staged */
    bool staged;
};

/* Looks what is there, and stages a new file where none can be written into. */
bool inventory_stage(const struct place *place, const struct gs_inventory *built,
                     const char *driver_version, struct inventory_file *file);
/* Makes `built` what everybody reads. */
bool inventory_commit(const struct place *place, const struct gs_inventory *built,
                      const struct inventory_file *file, uint32_t *changed);

#endif
