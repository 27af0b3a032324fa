/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory errors, retired pages, remapped rows, thresholds and limits: counters by location, what a board lacks,
 * and that field values say the same as the getters. */
#include "check.h"

static nvmlFieldValue_t field(nvmlDevice_t device, unsigned id, unsigned scope) {
    nvmlFieldValue_t value = {.fieldId = id, .scopeId = scope};
    CHECK_NUMBER(nvmlDeviceGetFieldValues(device, 1, &value), NVML_SUCCESS);
    return value;
}

static void errors(void) {
    struct gs_inventory *inventory = check_inventory("a100-sxm4-40gb", 2);
    struct gs_state *state = &inventory->gpus[1].state[0];
    unsigned long long count = 99;
    unsigned corrected, uncorrected, pending, failed;
    nvmlEccErrorCounts_t detail;
    nvmlEccSramErrorStatus_t sram = {.version = nvmlEccSramErrorStatus_v1};
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    nvmlDevice_t device = check_device(1);
    state->ecc_volatile[1][NVML_MEMORY_LOCATION_DRAM] = 3;
    state->ecc_volatile[1][NVML_MEMORY_LOCATION_SRAM] = 4;
    state->ecc_volatile[0][NVML_MEMORY_LOCATION_L2_CACHE] = 5;
    state->ecc_aggregate[0][NVML_MEMORY_LOCATION_SRAM] = 600;
    CHECK_NUMBER(nvmlDeviceGetTotalEccErrors(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                             NVML_VOLATILE_ECC, &count),
                 NVML_SUCCESS);
    CHECK_NUMBER(count, 7);
    CHECK_NUMBER(field(device, NVML_FI_DEV_ECC_DBE_VOL_TOTAL, 0).value.ullVal, 7);
    CHECK_NUMBER(field(device, NVML_FI_DEV_ECC_SBE_VOL_TOTAL, 0).value.ullVal, 5);
    CHECK_NUMBER(field(device, NVML_FI_DEV_ECC_SBE_AGG_TOTAL, 0).value.ullVal, 600);
    CHECK_NUMBER(nvmlDeviceGetMemoryErrorCounter(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                                 NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_SRAM,
                                                 &count),
                 NVML_SUCCESS);
    CHECK_NUMBER(count, 4);
    CHECK_NUMBER(nvmlDeviceGetDetailedEccErrors(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                                NVML_VOLATILE_ECC, &detail),
                 NVML_SUCCESS);
    CHECK_NUMBER(detail.deviceMemory, 3);
    CHECK_NUMBER(nvmlDeviceGetSramEccErrorStatus(device, &sram), NVML_SUCCESS);
    CHECK_NUMBER(sram.volatileUncSecDed, 4);
    CHECK_NUMBER(sram.aggregateCor, 600);
    CHECK_NUMBER(nvmlDeviceGetTotalEccErrors(device, NVML_MEMORY_ERROR_TYPE_COUNT,
                                             NVML_VOLATILE_ECC, &count),
                 NVML_ERROR_INVALID_ARGUMENT);
    CHECK_NUMBER(nvmlDeviceGetMemoryErrorCounter(device, NVML_MEMORY_ERROR_TYPE_CORRECTED,
                                                 NVML_VOLATILE_ECC, NVML_MEMORY_LOCATION_COUNT,
                                                 &count),
                 NVML_ERROR_INVALID_ARGUMENT);
    for (uint32_t i = 0; i < 4; i++) {
        state->remapped_rows[i] = i + 11;
    }
    CHECK_NUMBER(nvmlDeviceGetRemappedRows(device, &corrected, &uncorrected, &pending, &failed),
                 NVML_SUCCESS);
    CHECK_NUMBER(corrected, 11);
    CHECK_NUMBER(uncorrected, 12);
    CHECK_NUMBER(pending, 13);
    CHECK_NUMBER(failed, 14);
    CHECK_NUMBER(field(device, NVML_FI_DEV_REMAPPED_UNC, 0).value.uiVal, 12);
    CHECK_NUMBER(field(device, NVML_FI_DEV_RETIRED_SBE, 0).nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
    nvmlRowRemapperHistogramValues_t banks;
    CHECK_NUMBER(nvmlDeviceGetRowRemapperHistogram(device, &banks), NVML_SUCCESS);
    CHECK_NUMBER(banks.max, 640);
    state->ecc_current = 0; /* switched off: no counters */
    CHECK_NUMBER(nvmlDeviceGetTotalEccErrors(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                                             NVML_VOLATILE_ECC, &count),
                 NVML_ERROR_NOT_SUPPORTED);
    CHECK_NUMBER(field(device, NVML_FI_DEV_ECC_CURRENT, 0).value.uiVal, 0);
    CHECK_NUMBER(field(device, NVML_FI_DEV_ECC_PENDING, 0).value.uiVal, 1);
    nvmlShutdown();
    check_remove_inventory();
}

/* Boards before Ampere retire pages and remap no rows. */
static void pages(void) {
    struct gs_inventory *inventory = check_inventory("tesla-t4", 1);
    unsigned count = 0, row;
    unsigned long long addresses[3];
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    nvmlDevice_t device = check_device(0);
    CHECK_NUMBER(nvmlDeviceGetRetiredPages(device, NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR,
                                           &count, NULL),
                 NVML_SUCCESS);
    CHECK_NUMBER(count, 0);
    inventory->gpus[0].state[0].retired_pages[1] = 3;
    CHECK_NUMBER(nvmlDeviceGetRetiredPages(device, NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR,
                                           &count, NULL),
                 NVML_ERROR_INSUFFICIENT_SIZE);
    CHECK_NUMBER(count, 3);
    CHECK_NUMBER(nvmlDeviceGetRetiredPages(device, NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR,
                                           &count, addresses),
                 NVML_SUCCESS);
    CHECK(addresses[0] != addresses[1] && addresses[1] != addresses[2]);
    CHECK_NUMBER(field(device, NVML_FI_DEV_RETIRED_DBE, 0).value.uiVal, 3);
    CHECK_NUMBER(nvmlDeviceGetRemappedRows(device, &row, &row, &row, &row),
                 NVML_ERROR_NOT_SUPPORTED);
    CHECK_NUMBER(field(device, NVML_FI_DEV_MEMORY_TEMP, 0).nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
    nvmlShutdown();
    check_remove_inventory();
}

static void thresholds(const char *profile, unsigned shutdown, unsigned slowdown, int margin) {
    unsigned value = 0, least, most;
    nvmlMarginTemperature_t left = {.version = nvmlMarginTemperature_v1};
    setenv("NVML_MOCK_PROFILE", profile, 1);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    nvmlDevice_t device = check_device(3);
    CHECK_NUMBER(
        nvmlDeviceGetTemperatureThreshold(device, NVML_TEMPERATURE_THRESHOLD_SHUTDOWN, &value),
        NVML_SUCCESS);
    CHECK_NUMBER(value, shutdown);
    CHECK_NUMBER(
        nvmlDeviceGetTemperatureThreshold(device, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN, &value),
        NVML_SUCCESS);
    CHECK_NUMBER(value, slowdown);
    CHECK_NUMBER(
        nvmlDeviceGetTemperatureThreshold(device, NVML_TEMPERATURE_THRESHOLD_ACOUSTIC_MAX, &value),
        NVML_ERROR_NOT_SUPPORTED);
    CHECK_NUMBER(
        nvmlDeviceGetTemperatureThreshold(device, NVML_TEMPERATURE_THRESHOLD_COUNT, &value),
        NVML_ERROR_INVALID_ARGUMENT);
    CHECK_NUMBER(nvmlDeviceGetMarginTemperature(device, &left),
                 margin ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED);
    CHECK_NUMBER(left.marginTemperature, margin);
    CHECK_NUMBER(nvmlDeviceGetNumFans(device, &value), NVML_SUCCESS);
    CHECK_NUMBER(value, 0);
    CHECK_NUMBER(nvmlDeviceGetFanSpeed(device, &value), NVML_ERROR_NOT_SUPPORTED);
    CHECK_NUMBER(nvmlDeviceGetPowerManagementLimitConstraints(device, &least, &most), NVML_SUCCESS);
    CHECK_NUMBER(field(device, NVML_FI_DEV_POWER_MIN_LIMIT, NVML_POWER_SCOPE_GPU).value.uiVal,
                 least);
    CHECK_NUMBER(field(device, NVML_FI_DEV_POWER_MAX_LIMIT, NVML_POWER_SCOPE_GPU).value.uiVal,
                 most);
    CHECK_NUMBER(field(device, NVML_FI_DEV_POWER_MAX_LIMIT, NVML_POWER_SCOPE_MODULE).nvmlReturn,
                 NVML_ERROR_NOT_SUPPORTED);
    CHECK_NUMBER(field(device, NVML_FI_DEV_POWER_MAX_LIMIT, NVML_POWER_SCOPE_COUNT).nvmlReturn,
                 NVML_ERROR_INVALID_ARGUMENT);
    CHECK_NUMBER(field(device, 60000, 0).nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
    nvmlShutdown();
}

int main(void) {
    errors();
    pages();
    thresholds("a100-sxm4-40gb", 92, 89, 0); /* as captured */
    thresholds("tesla-t4", 96, 93, 0);
    thresholds("h100-80gb-hbm3", 95, 89, 58);
    return check_result();
}
