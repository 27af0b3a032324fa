/* SPDX-License-Identifier: Apache-2.0
 * The inventory of a root, opened by a command: to look, or locked to change it. */
#ifndef GPU_SIM_NODE_OPENED_H
#define GPU_SIM_NODE_OPENED_H

#include <stdbool.h>

#include "../src/inventory.h"
#include "../src/reader.h"

struct opened {
    const char *root;
    struct gs_mapping mapping;
    struct gs_inventory *inventory;
    int lock; /* -1: only to look */
};

/* EXIT_FINE, or an exit code after a problem. With `change` nobody else writes until opened_close(). */
int opened_open(struct opened *opened, const char *root, bool change);
void opened_close(struct opened *opened);

/* The lock of all who write inventories, on the folder `folder` (from `base`) that they lie in: a pod is given the file
 * itself and could lock that. The descriptor, or -1 after a problem. Freed by death, so it is never kept long. */
int opened_lock(int base, const char *folder);

/* --root, else $GPU_SIM_ROOT, else the constant one. */
const char *opened_root(const char *given);

#endif
