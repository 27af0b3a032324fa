/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi: errors of a GPU's memory, and how it has healed. */
#include <stdio.h>

#include "smi_facts.h"

nvmlReturn_t smi_ecc_counter(nvmlDevice_t device, int what, struct smi_value *value) {
    nvmlMemoryErrorType_t error = (nvmlMemoryErrorType_t)(what >> 8);
    nvmlEccCounterType_t counter = (nvmlEccCounterType_t)(what >> 4 & 15);
    unsigned long long count = 0;
    nvmlReturn_t answer =
        (what & 15) == SMI_ALL_LOCATIONS
            ? nvmlDeviceGetTotalEccErrors(device, error, counter, &count)
            : nvmlDeviceGetMemoryErrorCounter(device, error, counter,
                                              (nvmlMemoryLocation_t)(what & 15), &count);
    return smi_say(value, answer, "%llu", count);
}

static bool has_ecc(nvmlDevice_t device) {
    nvmlEnableState_t now = NVML_FEATURE_DISABLED, pending = NVML_FEATURE_DISABLED;
    return nvmlDeviceGetEccMode(device, &now, &pending) == NVML_SUCCESS && now;
}

nvmlReturn_t smi_ecc_reported(nvmlDevice_t device, int what, struct smi_value *value) {
    return has_ecc(device) ? smi_ecc_counter(device, what, value) : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t smi_sram(nvmlDevice_t device, int what, struct smi_value *value) {
    nvmlEccSramErrorStatus_t status = {.version = nvmlEccSramErrorStatus_v1};
    nvmlReturn_t answer = has_ecc(device) ? nvmlDeviceGetSramEccErrorStatus(device, &status)
                                          : NVML_ERROR_NOT_SUPPORTED;
    const unsigned long long counts[] = {
        [SMI_SRAM_CORRECTED] = status.volatileCor,
        [SMI_SRAM_PARITY] = status.volatileUncParity,
        [SMI_SRAM_SECDED] = status.volatileUncSecDed,
        [SMI_SRAM_AGGREGATE + SMI_SRAM_CORRECTED] = status.aggregateCor,
        [SMI_SRAM_AGGREGATE + SMI_SRAM_PARITY] = status.aggregateUncParity,
        [SMI_SRAM_AGGREGATE + SMI_SRAM_SECDED] = status.aggregateUncSecDed,
        [SMI_SRAM_L2] = status.aggregateUncBucketL2,
        [SMI_SRAM_SM] = status.aggregateUncBucketSm,
        [SMI_SRAM_MICROCONTROLLER] = status.aggregateUncBucketMcu,
        [SMI_SRAM_PCIE] = status.aggregateUncBucketPcie,
        [SMI_SRAM_OTHER] = status.aggregateUncBucketOther};
    return what == SMI_SRAM_EXCEEDED
               ? smi_say(value, answer, "%s", status.bThresholdExceeded ? "Yes" : "No")
               : smi_say(value, answer, "%llu", counts[what]);
}

nvmlReturn_t smi_retired(nvmlDevice_t device, int what, struct smi_value *value) {
    nvmlEnableState_t pending = NVML_FEATURE_DISABLED;
    nvmlReturn_t answer;
    unsigned count = 0;
    if (what == SMI_PAGES_PENDING) {
        answer = nvmlDeviceGetRetiredPagesPendingStatus(device, &pending);
        return smi_say(value, answer, "%s", pending ? "Yes" : "No");
    }
    answer = nvmlDeviceGetRetiredPages(
        device,
        what == SMI_SINGLE_BIT ? NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS
                               : NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR,
        &count, NULL);
    return smi_say(value, answer == NVML_ERROR_INSUFFICIENT_SIZE ? NVML_SUCCESS : answer, "%u",
                   count);
}

nvmlReturn_t smi_remapped(nvmlDevice_t device, int what, struct smi_value *value) {
    unsigned rows[4] = {0};
    nvmlReturn_t answer = nvmlDeviceGetRemappedRows(device, &rows[0], &rows[1], &rows[2], &rows[3]);
    bool worded = what == SMI_REMAPPED_PENDING || what == SMI_REMAPPED_FAILED;
    return worded ? smi_say(value, answer, "%s", rows[what] ? "Yes" : "No")
                  : smi_say(value, answer, "%u", rows[what & 3]);
}

nvmlReturn_t smi_histogram(nvmlDevice_t device, int what, struct smi_value *value) {
    nvmlRowRemapperHistogramValues_t got = {0};
    nvmlReturn_t answer = nvmlDeviceGetRowRemapperHistogram(device, &got);
    const unsigned banks[] = {got.max, got.high, got.partial, got.low, got.none};
    return smi_say(value, answer, "%u", banks[what]);
}
