/* SPDX-License-Identifier: Apache-2.0
 *
 * Chapter "Multi Instance GPU Management": boards that could be partitioned, and are not. */
#include "exports.h"

nvmlReturn_t gsDeviceGetMigMode(const struct gs_device *device, unsigned int *currentMode,
                                unsigned int *pendingMode) {
    struct gs_state state;
    if (!(gs_config_of(device)->features & GS_HAS_MIG)) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    gs_copy_state(device, &state);
    *currentMode = state.mig_current;
    *pendingMode = state.mig_pending;
    return NVML_SUCCESS;
}

/* Zero where MIG is off: the header says so, and go-nvlib asks no further then. */
nvmlReturn_t gsDeviceGetMaxMigDeviceCount(const struct gs_device *device, unsigned int *count) {
    const struct gs_config *config = gs_config_of(device);
    *count = gs_state_of(device)->mig_current ? config->max_mig_devices : 0;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetMigDeviceHandleByIndex(const struct gs_device *device, unsigned int index,
                                               nvmlDevice_t *migDevice) {
    (void)index;
    (void)migDevice;
    return gs_config_of(device)->features & GS_HAS_MIG ? NVML_ERROR_NOT_FOUND
                                                       : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t gsDeviceIsMigDeviceHandle(const struct gs_device *device, unsigned int *isMigDevice) {
    (void)device;
    *isMigDevice = 0;
    return NVML_SUCCESS;
}
