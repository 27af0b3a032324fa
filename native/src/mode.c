/* SPDX-License-Identifier: Apache-2.0
 *
 * Chapter "Device Queries", how a board is set: modes that a board or its driver can be in. */
#include <string.h>

#include "exports.h"

static nvmlEnableState_t enabled(uint32_t flag) {
    return flag ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
}

/* The captures of boards without an output say "display mode: Enabled" all the same. */
nvmlReturn_t gsDeviceGetDisplayMode(const struct gs_device *device, nvmlEnableState_t *display) {
    (void)device;
    *display = NVML_FEATURE_ENABLED;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetDisplayActive(const struct gs_device *device, nvmlEnableState_t *isActive) {
    (void)device;
    *isActive = NVML_FEATURE_DISABLED;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetPersistenceMode(const struct gs_device *device, nvmlEnableState_t *mode) {
    *mode = enabled(gs_state_of(device)->persistence_mode);
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetComputeMode(const struct gs_device *device, nvmlComputeMode_t *mode) {
    *mode = (nvmlComputeMode_t)gs_state_of(device)->compute_mode;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetVirtualizationMode(const struct gs_device *device,
                                           nvmlGpuVirtualizationMode_t *pVirtualMode) {
    (void)device;
    *pVirtualMode = NVML_GPU_VIRTUALIZATION_MODE_NONE;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetAddressingMode(const struct gs_device *device,
                                       nvmlDeviceAddressingMode_t *mode) {
    (void)device;
    GS_VERSIONED(mode, nvmlDeviceAddressingMode_v1);
    mode->value = NVML_DEVICE_ADDRESSING_MODE_HMM;
    return NVML_SUCCESS;
}

/* Boards from Hopper on have the mode; on which it is enabled, the profile says. */
nvmlReturn_t gsDeviceGetC2cModeInfoV(const struct gs_device *device,
                                     nvmlC2cModeInfo_v1_t *c2cModeInfo) {
    const struct gs_config *config = gs_config_of(device);
    if (config->architecture < NVML_DEVICE_ARCH_HOPPER) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    c2cModeInfo->isC2cEnabled = (config->features & GS_HAS_C2C) != 0;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetBusType(const struct gs_device *device, nvmlBusType_t *type) {
    (void)device;
    *type = NVML_BUS_TYPE_PCIE;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetPowerSource(const struct gs_device *device,
                                    nvmlPowerSource_t *powerSource) {
    (void)device;
    *powerSource = NVML_POWER_SOURCE_AC;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetGspFirmwareVersion(const struct gs_device *device, char *version) {
    (void)device;
    strcpy(version, gs_snapshot()->node.driver_version); /* the buffer is as long by definition */
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetGspFirmwareMode(const struct gs_device *device, unsigned int *isEnabled,
                                        unsigned int *defaultMode) {
    (void)device;
    *isEnabled = 1;
    *defaultMode = 1;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetAccountingMode(const struct gs_device *device, nvmlEnableState_t *mode) {
    (void)device;
    *mode = NVML_FEATURE_DISABLED;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetAccountingBufferSize(const struct gs_device *device,
                                             unsigned int *bufferSize) {
    (void)device;
    *bufferSize = 4000;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetAccountingPids(const struct gs_device *device, unsigned int *count,
                                       unsigned int *pids) {
    (void)device;
    (void)pids;
    *count = 0;
    return NVML_SUCCESS;
}

/* All boards here leave clocks to root only. */
nvmlReturn_t gsDeviceGetAPIRestriction(const struct gs_device *device, nvmlRestrictedAPI_t apiType,
                                       nvmlEnableState_t *isRestricted) {
    (void)device;
    if (apiType != NVML_RESTRICTED_API_SET_APPLICATION_CLOCKS) {
        return apiType < NVML_RESTRICTED_API_COUNT ? NVML_ERROR_NOT_SUPPORTED
                                                   : NVML_ERROR_INVALID_ARGUMENT;
    }
    *isRestricted = NVML_FEATURE_DISABLED;
    return NVML_SUCCESS;
}
