/* SPDX-License-Identifier: Apache-2.0
 * The fields that nvidia-smi --query-gpu knows. */
#ifndef GPU_SIM_NODE_SMI_FIELDS_H
#define GPU_SIM_NODE_SMI_FIELDS_H

#include <nvml.h>
#include <stdbool.h>
#include <stddef.h>

struct smi_value {
    char text[128];
};

struct smi_field {
    const char *name;  /* the header's */
    const char *other; /* also accepted; "" for none */
    const char *unit;
    /* False where this board has no such thing. */
    bool (*ask)(nvmlDevice_t device, int what, struct smi_value *value);
    int what;
};

extern const struct smi_field smi_fields[];
extern const size_t smi_field_count;

#endif
