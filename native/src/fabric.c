/* SPDX-License-Identifier: Apache-2.0
 *
 * Chapter "Fabric": boards on an NVSwitch fabric have registered with it; all others answer NOT_SUPPORTED. */
#include <string.h>

#include "exports.h"

nvmlReturn_t gsDeviceGetGpuFabricInfo(const struct gs_device *device,
                                      nvmlGpuFabricInfo_t *gpuFabricInfo) {
    if (!(gs_config_of(device)->features & GS_HAS_FABRIC)) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    memset(gpuFabricInfo, 0, sizeof *gpuFabricInfo); /* cluster of zeros, clique 0: as captured */
    gpuFabricInfo->status = NVML_SUCCESS;
    gpuFabricInfo->state = NVML_GPU_FABRIC_STATE_COMPLETED;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetGpuFabricInfoV(const struct gs_device *device,
                                       nvmlGpuFabricInfoV_t *gpuFabricInfo) {
    unsigned version = gpuFabricInfo->version;
    size_t size = version == nvmlGpuFabricInfo_v2   ? sizeof(nvmlGpuFabricInfo_v2_t)
                  : version == nvmlGpuFabricInfo_v3 ? sizeof(nvmlGpuFabricInfo_v3_t)
                                                    : 0;
    if (!size) {
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    }
    if (!(gs_config_of(device)->features & GS_HAS_FABRIC)) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    memset(gpuFabricInfo, 0, size); /* version 2 is version 3 without its last field */
    gpuFabricInfo->version = version;
    gpuFabricInfo->status = NVML_SUCCESS;
    gpuFabricInfo->state = NVML_GPU_FABRIC_STATE_COMPLETED;
    return NVML_SUCCESS;
}
