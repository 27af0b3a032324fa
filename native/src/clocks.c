/* SPDX-License-Identifier: Apache-2.0
 *
 * Chapter "Device Queries", clocks, performance states and what holds clocks back. */
#include "exports.h"
#include "live.h"

static const struct gs_reading *current_clock(const struct gs_state *state, nvmlClockType_t type) {
    switch (type) {
    case NVML_CLOCK_GRAPHICS:
    case NVML_CLOCK_SM:
        return &state->clock_graphics;
    case NVML_CLOCK_MEM:
        return &state->clock_memory;
    case NVML_CLOCK_VIDEO:
        return &state->clock_video;
    default:
        return NULL;
    }
}

nvmlReturn_t gsDeviceGetClockInfo(const struct gs_device *device, nvmlClockType_t type,
                                  unsigned int *clock) {
    const struct gs_state *state = gs_state_of(device);
    const struct gs_reading *reading = current_clock(state, type);
    if (!reading) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    unsigned now = gs_live_clock(device, reading);
    if (reading == &state->clock_graphics && state->clock_lock_max) {
        now = now > state->clock_lock_max ? state->clock_lock_max : now;
        now = now < state->clock_lock_min ? state->clock_lock_min : now;
    }
    *clock = now;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetMaxClockInfo(const struct gs_device *device, nvmlClockType_t type,
                                     unsigned int *clock) {
    const struct gs_config *config = gs_config_of(device);
    switch (type) {
    case NVML_CLOCK_GRAPHICS:
        *clock = config->clock_graphics_max;
        return NVML_SUCCESS;
    case NVML_CLOCK_SM:
        *clock = config->clock_sm_max;
        return NVML_SUCCESS;
    case NVML_CLOCK_MEM:
        *clock = config->clock_memory_max;
        return NVML_SUCCESS;
    case NVML_CLOCK_VIDEO:
        *clock = config->clock_video_max;
        return NVML_SUCCESS;
    default:
        return NVML_ERROR_INVALID_ARGUMENT;
    }
}

static nvmlReturn_t application_clock(const struct gs_device *device, nvmlClockType_t type,
                                      unsigned graphics, unsigned memory, unsigned int *clock) {
    if (type != NVML_CLOCK_GRAPHICS && type != NVML_CLOCK_SM && type != NVML_CLOCK_MEM) {
        return type < NVML_CLOCK_COUNT ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
    }
    if (!(gs_config_of(device)->features & GS_HAS_APP_CLOCKS)) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    *clock = type == NVML_CLOCK_MEM ? memory : graphics;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetApplicationsClock(const struct gs_device *device, nvmlClockType_t clockType,
                                          unsigned int *clockMHz) {
    const struct gs_state *state = gs_state_of(device);
    return application_clock(device, clockType, state->clock_app_graphics, state->clock_app_memory,
                             clockMHz);
}

nvmlReturn_t gsDeviceGetDefaultApplicationsClock(const struct gs_device *device,
                                                 nvmlClockType_t clockType,
                                                 unsigned int *clockMHz) {
    const struct gs_config *config = gs_config_of(device);
    return application_clock(device, clockType, config->clock_graphics_app,
                             config->clock_memory_app, clockMHz);
}

nvmlReturn_t gsDeviceGetMaxCustomerBoostClock(const struct gs_device *device,
                                              nvmlClockType_t clockType, unsigned int *clockMHz) {
    const struct gs_config *config = gs_config_of(device);
    if (clockType >= NVML_CLOCK_COUNT) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (clockType != NVML_CLOCK_GRAPHICS && clockType != NVML_CLOCK_SM) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    *clockMHz = config->clock_graphics_boost;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetClock(const struct gs_device *device, nvmlClockType_t clockType,
                              nvmlClockId_t clockId, unsigned int *clockMHz) {
    switch (clockId) {
    case NVML_CLOCK_ID_CURRENT:
        return gsDeviceGetClockInfo(device, clockType, clockMHz);
    case NVML_CLOCK_ID_APP_CLOCK_TARGET:
        return gsDeviceGetApplicationsClock(device, clockType, clockMHz);
    case NVML_CLOCK_ID_APP_CLOCK_DEFAULT:
        return gsDeviceGetDefaultApplicationsClock(device, clockType, clockMHz);
    case NVML_CLOCK_ID_CUSTOMER_BOOST_MAX:
        return gsDeviceGetMaxCustomerBoostClock(device, clockType, clockMHz);
    default:
        return NVML_ERROR_INVALID_ARGUMENT;
    }
}

/* The caller's array of *count places, or none to ask for the number. */
static nvmlReturn_t give_list(unsigned int *count, unsigned int *places, unsigned needed) {
    if (*count < needed || !places) {
        *count = needed;
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    *count = needed;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetSupportedMemoryClocks(const struct gs_device *device, unsigned int *count,
                                              unsigned int *clocksMHz) {
    const struct gs_mem_clock *clocks = gs_config_of(device)->mem_clocks;
    unsigned needed = 0;
    while (needed < GS_MEM_CLOCKS && clocks[needed].memory_mhz) {
        needed++;
    }
    nvmlReturn_t result = give_list(count, clocksMHz, needed);
    for (unsigned i = 0; result == NVML_SUCCESS && i < needed; i++) {
        clocksMHz[i] = clocks[i].memory_mhz;
    }
    return result;
}

nvmlReturn_t gsDeviceGetSupportedGraphicsClocks(const struct gs_device *device,
                                                unsigned int memoryClockMHz, unsigned int *count,
                                                unsigned int *clocksMHz) {
    const struct gs_mem_clock *clock = gs_config_of(device)->mem_clocks;
    const struct gs_mem_clock *end = clock + GS_MEM_CLOCKS;
    while (clock < end && clock->memory_mhz != memoryClockMHz) {
        clock++;
    }
    if (!memoryClockMHz || clock == end) {
        return NVML_ERROR_NOT_FOUND;
    }
    unsigned needed = 1;
    if (clock->graphics_step_mhz && clock->graphics_max_mhz > clock->graphics_min_mhz) {
        needed += (clock->graphics_max_mhz - clock->graphics_min_mhz) / clock->graphics_step_mhz;
    }
    nvmlReturn_t result = give_list(count, clocksMHz, needed);
    for (unsigned i = 0; result == NVML_SUCCESS && i < needed; i++) {
        clocksMHz[i] = clock->graphics_max_mhz - i * clock->graphics_step_mhz;
    }
    return result;
}

nvmlReturn_t gsDeviceGetPerformanceState(const struct gs_device *device, nvmlPstates_t *pState) {
    const struct gs_state *state = gs_state_of(device);
    *pState = state->overridden & GS_SET_PSTATE ? (nvmlPstates_t)state->pstate
              : gs_live_utilization(device)     ? NVML_PSTATE_0
                                                : (nvmlPstates_t)state->pstate_idle;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetPowerState(const struct gs_device *device, nvmlPstates_t *pState) {
    return gsDeviceGetPerformanceState(device, pState);
}

nvmlReturn_t gsDeviceGetCurrentClocksEventReasons(const struct gs_device *device,
                                                  unsigned long long *clocksEventReasons) {
    unsigned long long reasons = gs_state_of(device)->throttle_reasons;
    if (!reasons && !gs_live_utilization(device)) {
        reasons = nvmlClocksEventReasonGpuIdle;
    }
    *clocksEventReasons = reasons;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetCurrentClocksThrottleReasons(const struct gs_device *device,
                                                     unsigned long long *clocksThrottleReasons) {
    return gsDeviceGetCurrentClocksEventReasons(device, clocksThrottleReasons);
}

nvmlReturn_t
gsDeviceGetSupportedClocksEventReasons(const struct gs_device *device,
                                       unsigned long long *supportedClocksEventReasons) {
    (void)device;
    *supportedClocksEventReasons = 0x1FF; /* GPU idle … display clocks: what the captures list */
    return NVML_SUCCESS;
}

nvmlReturn_t
gsDeviceGetSupportedClocksThrottleReasons(const struct gs_device *device,
                                          unsigned long long *supportedClocksThrottleReasons) {
    return gsDeviceGetSupportedClocksEventReasons(device, supportedClocksThrottleReasons);
}

nvmlReturn_t gsDeviceGetAdaptiveClockInfoStatus(const struct gs_device *device,
                                                unsigned int *adaptiveClockStatus) {
    (void)device;
    *adaptiveClockStatus = NVML_ADAPTIVE_CLOCKING_INFO_STATUS_DISABLED;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetViolationStatus(const struct gs_device *device,
                                        nvmlPerfPolicyType_t perfPolicyType,
                                        nvmlViolationTime_t *violTime) {
    const struct gs_state *state = gs_state_of(device);
    unsigned index = perfPolicyType <= NVML_PERF_POLICY_RELIABILITY         ? perfPolicyType
                     : perfPolicyType == NVML_PERF_POLICY_TOTAL_APP_CLOCKS  ? 6
                     : perfPolicyType == NVML_PERF_POLICY_TOTAL_BASE_CLOCKS ? 7
                                                                            : 8;
    if (index == 8) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    violTime->referenceTime = gs_wall_us();
    violTime->violationTime = gs_live_counter(&state->violation[index]);
    return NVML_SUCCESS;
}
