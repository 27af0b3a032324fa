/* SPDX-License-Identifier: Apache-2.0
 *
 * Chapter "Device Queries", how busy a board is, engine by engine. */
#include "exports.h"
#include "live.h"

enum { SAMPLING_PERIOD_US = 167000 }; /* what a real driver names */

nvmlReturn_t gsDeviceGetUtilizationRates(const struct gs_device *device,
                                         nvmlUtilization_t *utilization) {
    utilization->gpu = gs_live_utilization(device);
    utilization->memory = gs_live_memory_utilization(device);
    return NVML_SUCCESS;
}

static nvmlReturn_t idle_engine(unsigned int *utilization, unsigned int *samplingPeriodUs) {
    *utilization = 0;
    *samplingPeriodUs = SAMPLING_PERIOD_US;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetEncoderUtilization(const struct gs_device *device,
                                           unsigned int *utilization,
                                           unsigned int *samplingPeriodUs) {
    (void)device; /* boards without an encoder answer 0 as well */
    return idle_engine(utilization, samplingPeriodUs);
}

nvmlReturn_t gsDeviceGetDecoderUtilization(const struct gs_device *device,
                                           unsigned int *utilization,
                                           unsigned int *samplingPeriodUs) {
    (void)device;
    return idle_engine(utilization, samplingPeriodUs);
}

nvmlReturn_t gsDeviceGetJpgUtilization(const struct gs_device *device, unsigned int *utilization,
                                       unsigned int *samplingPeriodUs) {
    (void)device; /* the T4's capture says 0, not N/A */
    return idle_engine(utilization, samplingPeriodUs);
}

nvmlReturn_t gsDeviceGetOfaUtilization(const struct gs_device *device, unsigned int *utilization,
                                       unsigned int *samplingPeriodUs) {
    (void)device;
    return idle_engine(utilization, samplingPeriodUs);
}

nvmlReturn_t gsDeviceGetEncoderStats(const struct gs_device *device, unsigned int *sessionCount,
                                     unsigned int *averageFps, unsigned int *averageLatency) {
    (void)device;
    *sessionCount = 0;
    *averageFps = 0;
    *averageLatency = 0;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetEncoderSessions(const struct gs_device *device, unsigned int *sessionCount,
                                        nvmlEncoderSessionInfo_t *sessionInfos) {
    (void)device;
    (void)sessionInfos;
    *sessionCount = 0;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetFBCStats(const struct gs_device *device, nvmlFBCStats_t *fbcStats) {
    (void)device;
    fbcStats->sessionsCount = 0;
    fbcStats->averageFPS = 0;
    fbcStats->averageLatency = 0;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetFBCSessions(const struct gs_device *device, unsigned int *sessionCount,
                                    nvmlFBCSessionInfo_t *sessionInfo) {
    (void)device;
    (void)sessionInfo;
    *sessionCount = 0;
    return NVML_SUCCESS;
}
