/* SPDX-License-Identifier: Apache-2.0
 * Energy grows with what a board draws on the average. Whoever stores a state or an allocation lets it follow. */
#ifndef GPU_SIM_NODE_ENERGY_H
#define GPU_SIM_NODE_ENERGY_H

#include <stdbool.h>

#include "../src/inventory.h"

/* Sets the counter of *state for this allocation; true where that changed anything. */
bool energy_follow(struct gs_state *state, const struct gs_allocation *allocation);

#endif
