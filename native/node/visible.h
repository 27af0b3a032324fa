/* SPDX-License-Identifier: Apache-2.0
 * Where this process finds the inventory, and which of its GPUs it was given. Same rules as the library's. */
#ifndef GPU_SIM_NODE_VISIBLE_H
#define GPU_SIM_NODE_VISIBLE_H

#include <limits.h>
#include <stdbool.h>

#include "../src/reader.h"

struct visible {
    struct gs_mapping mapping;
    char path[PATH_MAX];
    uint32_t count;
    uint32_t slots[GS_SLOTS];
};

/* `inventory` may name a file; else it is looked for beside the program (a node's driver folder, a pod) and in
 * /usr/lib64 (a pod whose image brings its own program). 0; 1 where there is none; -1 with error filled. */
int visible_open(struct visible *visible, const char *inventory, struct gs_error *error);

#endif
