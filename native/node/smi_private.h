/* SPDX-License-Identifier: Apache-2.0
 * What the real nvidia-smi learns through the driver's private table, which our library answers to it as well. */
#ifndef GPU_SIM_NODE_SMI_PRIVATE_H
#define GPU_SIM_NODE_SMI_PRIVATE_H

#include <nvml.h>
#include <stddef.h>
#include <stdint.h>

/* Entries of the table, as 550 numbers them. */
enum smi_private_entry {
    SMI_PRIVATE_HANDLE =
        81, /* takes an index in place of a device, and 0x22; of a lost GPU it gives none */
    SMI_PRIVATE_ENFORCED_LIMIT = 108,
    SMI_PRIVATE_GPU_PART = 231,
    SMI_PRIVATE_MARGIN = 240,
    SMI_PRIVATE_ADDRESSING = 242,
    SMI_PRIVATE_SPARSE = 249,
};

nvmlReturn_t smi_private(enum smi_private_entry entry, nvmlDevice_t device, void *answer,
                         size_t size);

#endif
