/* SPDX-License-Identifier: Apache-2.0
 *
 * nvmlInternalGetExportTable: the private table of functions that the real nvidia-smi asks for. */
#include <string.h>

#include "exports.h"

GS_EXPORT nvmlReturn_t nvmlInternalGetExportTable(const void **table, const void *guid);

nvmlReturn_t nvmlInternalGetExportTable(const void **table, const void *guid) {
    (void)table;
    (void)guid;
    return NVML_ERROR_NOT_SUPPORTED;
}
