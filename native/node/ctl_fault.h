/* SPDX-License-Identifier: Apache-2.0
 * Names of what a fault is made of, for `ctl status`. */
#ifndef GPU_SIM_NODE_CTL_FAULT_H
#define GPU_SIM_NODE_CTL_FAULT_H

#include <stdint.h>

/* "GPU_IS_LOST"; "?" for a code that nvml.h does not have. */
const char *ctl_code_name(int code);
/* NULL for a number that no function of nvml.h has. */
const char *ctl_function_name(uint32_t id);

#endif
