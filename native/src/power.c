/* SPDX-License-Identifier: Apache-2.0
 *
 * Chapter "Device Queries", power, energy, temperature, fans. Power in milliwatts, at most the limit. */
#include "exports.h"
#include "live.h"

nvmlReturn_t gsDeviceGetPowerManagementMode(const struct gs_device *device,
                                            nvmlEnableState_t *mode) {
    (void)device;
    *mode = NVML_FEATURE_ENABLED;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetPowerManagementLimit(const struct gs_device *device, unsigned int *limit) {
    *limit = gs_state_of(device)->power_limit;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetEnforcedPowerLimit(const struct gs_device *device, unsigned int *limit) {
    *limit = gs_state_of(device)->power_limit;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetPowerManagementLimitConstraints(const struct gs_device *device,
                                                        unsigned int *minLimit,
                                                        unsigned int *maxLimit) {
    *minLimit = gs_config_of(device)->power_min;
    *maxLimit = gs_config_of(device)->power_max;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetPowerManagementDefaultLimit(const struct gs_device *device,
                                                    unsigned int *defaultLimit) {
    *defaultLimit = gs_config_of(device)->power_default;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetPowerUsage(const struct gs_device *device, unsigned int *power) {
    *power = gs_live_power(device);
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetTotalEnergyConsumption(const struct gs_device *device,
                                               unsigned long long *energy) {
    *energy = gs_live_counter(&gs_state_of(device)->energy);
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetTemperature(const struct gs_device *device,
                                    nvmlTemperatureSensors_t sensorType, unsigned int *temp) {
    if (sensorType != NVML_TEMPERATURE_GPU) {
        return sensorType < NVML_TEMPERATURE_COUNT ? NVML_ERROR_NOT_SUPPORTED
                                                   : NVML_ERROR_INVALID_ARGUMENT;
    }
    *temp = (unsigned)gs_live_temperature(device);
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetTemperatureV(const struct gs_device *device,
                                     nvmlTemperature_t *temperature) {
    unsigned value = 0;
    GS_VERSIONED(temperature, nvmlTemperature_v1);
    nvmlReturn_t result = gsDeviceGetTemperature(device, temperature->sensorType, &value);
    if (result == NVML_SUCCESS) {
        temperature->temperature = (int)value;
    }
    return result;
}

nvmlReturn_t gsDeviceGetTemperatureThreshold(const struct gs_device *device,
                                             nvmlTemperatureThresholds_t thresholdType,
                                             unsigned int *temp) {
    const struct gs_config *config = gs_config_of(device);
    int32_t value = thresholdType == NVML_TEMPERATURE_THRESHOLD_SHUTDOWN   ? config->temp_shutdown
                    : thresholdType == NVML_TEMPERATURE_THRESHOLD_SLOWDOWN ? config->temp_slowdown
                    : thresholdType == NVML_TEMPERATURE_THRESHOLD_MEM_MAX  ? config->temp_mem_max
                    : thresholdType == NVML_TEMPERATURE_THRESHOLD_GPU_MAX  ? config->temp_gpu_max
                                                                           : 0;
    if (thresholdType >= NVML_TEMPERATURE_THRESHOLD_COUNT) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (value <= 0) {
        return NVML_ERROR_NOT_SUPPORTED; /* no acoustic or GPS limits on server boards */
    }
    *temp = (unsigned)value;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetMarginTemperature(const struct gs_device *device,
                                          nvmlMarginTemperature_t *marginTempInfo) {
    const struct gs_config *config = gs_config_of(device);
    GS_VERSIONED(marginTempInfo, nvmlMarginTemperature_v1);
    if (!(config->features & GS_HAS_TLIMIT)) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    marginTempInfo->marginTemperature = config->temp_gpu_max - gs_live_temperature(device);
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetNumFans(const struct gs_device *device, unsigned int *numFans) {
    *numFans = gs_config_of(device)->fans;
    return NVML_SUCCESS;
}
