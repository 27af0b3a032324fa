/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions that a fault can be injected into, generated from nvml.h. Used by `gpu-sim ctl`. */
#ifndef GPU_SIM_FUNCTIONS_H
#define GPU_SIM_FUNCTIONS_H

struct gs_function {
    const char *name;
    int of_device; /* takes an nvmlDevice_t: its faults belong to a GPU, those of others to the node */
};

/* By name; one without a name ends it. */
extern const struct gs_function gs_functions[];

#endif
