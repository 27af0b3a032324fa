/* SPDX-License-Identifier: Apache-2.0
 * The lines that `gpu-sim allocate` reads: one for each container that holds a GPU.
 *     <uuid> <namespace>/<pod> <container> pid=<n> memory=<none|whole|N%|NMiB> utilization=<none|N|lo-hi> */
#ifndef GPU_SIM_NODE_ALLOCATION_H
#define GPU_SIM_NODE_ALLOCATION_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../src/inventory.h"

struct holder {
    char uuid[80], pod[512];
    uint32_t pid;
    uint32_t percent; /* of the board's memory; with `bytes` 0 */
    uint64_t bytes;
    struct gs_reading utilization;
};

struct holders {
    struct holder *list;
    size_t count;
    char *text; /* as it was read */
    size_t size;
};

/* EXIT_FINE, or an exit code after all problems. To be freed in any case. */
int holders_read(FILE *input, struct holders *holders);
void holders_free(struct holders *holders);

/* Bytes, on a board with this much room. */
uint64_t holder_memory(const struct holder *holder, uint64_t room);

#endif
