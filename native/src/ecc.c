/* SPDX-License-Identifier: Apache-2.0
 *
 * Chapter "Device Queries", memory errors and how the board heals: ECC, retired pages, remapped rows. */
#include <string.h>

#include "exports.h"

enum { LOCATIONS = 8 };

static int has(const struct gs_device *device, uint64_t feature) {
    return (gs_config_of(device)->features & feature) != 0;
}

nvmlReturn_t gsDeviceGetEccMode(const struct gs_device *device, nvmlEnableState_t *current,
                                nvmlEnableState_t *pending) {
    struct gs_state state;
    if (!has(device, GS_HAS_ECC)) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    gs_copy_state(device, &state);
    *current = state.ecc_current ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
    *pending = state.ecc_pending ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetDefaultEccMode(const struct gs_device *device,
                                       nvmlEnableState_t *defaultMode) {
    if (!has(device, GS_HAS_ECC)) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    *defaultMode = NVML_FEATURE_ENABLED;
    return NVML_SUCCESS;
}

/* The row of counters in `state`, filled here, or NULL with the reason in *result. */
static const uint64_t *counters(const struct gs_device *device, struct gs_state *state,
                                nvmlMemoryErrorType_t errorType, nvmlEccCounterType_t counterType,
                                nvmlReturn_t *result) {
    gs_copy_state(device, state);
    if (errorType >= NVML_MEMORY_ERROR_TYPE_COUNT || counterType >= NVML_ECC_COUNTER_TYPE_COUNT) {
        *result = NVML_ERROR_INVALID_ARGUMENT;
        return NULL;
    }
    if (!has(device, GS_HAS_ECC) || !state->ecc_current) {
        *result = NVML_ERROR_NOT_SUPPORTED;
        return NULL;
    }
    return counterType == NVML_VOLATILE_ECC ? state->ecc_volatile[errorType]
                                            : state->ecc_aggregate[errorType];
}

nvmlReturn_t gsDeviceGetTotalEccErrors(const struct gs_device *device,
                                       nvmlMemoryErrorType_t errorType,
                                       nvmlEccCounterType_t counterType,
                                       unsigned long long *eccCounts) {
    nvmlReturn_t result = NVML_SUCCESS;
    struct gs_state state;
    const uint64_t *row = counters(device, &state, errorType, counterType, &result);
    if (!row) {
        return result;
    }
    *eccCounts = 0;
    for (unsigned i = 0; i < LOCATIONS; i++) {
        *eccCounts += row[i];
    }
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetMemoryErrorCounter(const struct gs_device *device,
                                           nvmlMemoryErrorType_t errorType,
                                           nvmlEccCounterType_t counterType,
                                           nvmlMemoryLocation_t locationType,
                                           unsigned long long *count) {
    nvmlReturn_t result = NVML_SUCCESS;
    struct gs_state state;
    const uint64_t *row = counters(device, &state, errorType, counterType, &result);
    if (!row) {
        return result;
    }
    if (locationType >= NVML_MEMORY_LOCATION_COUNT || (unsigned)locationType >= LOCATIONS) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    *count = row[locationType];
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetDetailedEccErrors(const struct gs_device *device,
                                          nvmlMemoryErrorType_t errorType,
                                          nvmlEccCounterType_t counterType,
                                          nvmlEccErrorCounts_t *eccCounts) {
    nvmlReturn_t result = NVML_SUCCESS;
    struct gs_state state;
    const uint64_t *row = counters(device, &state, errorType, counterType, &result);
    if (!row) {
        return result;
    }
    eccCounts->l1Cache = row[NVML_MEMORY_LOCATION_L1_CACHE];
    eccCounts->l2Cache = row[NVML_MEMORY_LOCATION_L2_CACHE];
    eccCounts->deviceMemory = row[NVML_MEMORY_LOCATION_DEVICE_MEMORY];
    eccCounts->registerFile = row[NVML_MEMORY_LOCATION_REGISTER_FILE];
    return NVML_SUCCESS;
}

/* What the newer drivers tell beside the counters by location. */
nvmlReturn_t gsDeviceGetSramEccErrorStatus(const struct gs_device *device,
                                           nvmlEccSramErrorStatus_t *status) {
    struct gs_state state;
    GS_VERSIONED(status, nvmlEccSramErrorStatus_v1);
    gs_copy_state(device, &state);
    if (!has(device, GS_HAS_ECC) || !has(device, GS_HAS_ROW_REMAP) || !state.ecc_current) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    memset(status, 0, sizeof *status);
    status->version = nvmlEccSramErrorStatus_v1;
    status->aggregateCor = state.ecc_aggregate[0][NVML_MEMORY_LOCATION_SRAM];
    status->aggregateUncSecDed = state.ecc_aggregate[1][NVML_MEMORY_LOCATION_SRAM];
    status->volatileCor = state.ecc_volatile[0][NVML_MEMORY_LOCATION_SRAM];
    status->volatileUncSecDed = state.ecc_volatile[1][NVML_MEMORY_LOCATION_SRAM];
    return NVML_SUCCESS;
}

static nvmlReturn_t retired(const struct gs_device *device, nvmlPageRetirementCause_t cause,
                            unsigned int *pageCount, unsigned long long *addresses) {
    if (cause >= NVML_PAGE_RETIREMENT_CAUSE_COUNT) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (!has(device, GS_HAS_RETIRED_PAGES)) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    unsigned needed = gs_state_of(device)->retired_pages[cause];
    if (*pageCount < needed || (needed && !addresses)) {
        *pageCount = needed;
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    for (unsigned i = 0; i < needed; i++) {
        addresses[i] = (unsigned long long)(cause + 1) << 32 | (unsigned long long)i << 16;
    }
    *pageCount = needed;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetRetiredPages(const struct gs_device *device,
                                     nvmlPageRetirementCause_t cause, unsigned int *pageCount,
                                     unsigned long long *addresses) {
    return retired(device, cause, pageCount, addresses);
}

nvmlReturn_t gsDeviceGetRetiredPages_v2(const struct gs_device *device,
                                        nvmlPageRetirementCause_t cause, unsigned int *pageCount,
                                        unsigned long long *addresses,
                                        unsigned long long *timestamps) {
    nvmlReturn_t result = retired(device, cause, pageCount, addresses);
    for (unsigned i = 0; result == NVML_SUCCESS && timestamps && i < *pageCount; i++) {
        timestamps[i] = 0; /* the header's word for "not known" */
    }
    return result;
}

nvmlReturn_t gsDeviceGetRetiredPagesPendingStatus(const struct gs_device *device,
                                                  nvmlEnableState_t *isPending) {
    if (!has(device, GS_HAS_RETIRED_PAGES)) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    *isPending = NVML_FEATURE_DISABLED;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetRemappedRows(const struct gs_device *device, unsigned int *corrRows,
                                     unsigned int *uncRows, unsigned int *isPending,
                                     unsigned int *failureOccurred) {
    struct gs_state state;
    if (!has(device, GS_HAS_ROW_REMAP)) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    gs_copy_state(device, &state);
    *corrRows = state.remapped_rows[0];
    *uncRows = state.remapped_rows[1];
    *isPending = state.remapped_rows[2];
    *failureOccurred = state.remapped_rows[3];
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetRowRemapperHistogram(const struct gs_device *device,
                                             nvmlRowRemapperHistogramValues_t *values) {
    if (!has(device, GS_HAS_ROW_REMAP)) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    values->max = gs_config_of(device)->remap_banks;
    values->high = 0;
    values->partial = 0;
    values->low = 0;
    values->none = 0;
    return NVML_SUCCESS;
}
