/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi: one call through the driver's private table; see ../src/export_table.c. */
#include "smi_private.h"

nvmlReturn_t nvmlInternalGetExportTable(const void **table, const void *guid);

nvmlReturn_t smi_private(enum smi_private_entry entry, nvmlDevice_t device, void *answer,
                         size_t size) {
    static const unsigned char guid[16] = {0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e,
                                           0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4};
    typedef nvmlReturn_t (*function)(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t);
    const void *table = NULL;
    nvmlReturn_t result = nvmlInternalGetExportTable(&table, guid);
    if (result != NVML_SUCCESS) {
        return result;
    }
    return ((const function *)table)[entry]((uintptr_t)device, (uintptr_t)answer, size, 0, 0);
}
