/* SPDX-License-Identifier: Apache-2.0
 *
 * Chapter "Field Value Queries": many figures in one call, each with its own return code. */
#include <string.h>

#include "exports.h"
#include "live.h"

static void give_unsigned(nvmlFieldValue_t *value, unsigned number) {
    value->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
    value->value.uiVal = number;
}

static void give_long(nvmlFieldValue_t *value, unsigned long long number) {
    value->valueType = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    value->value.ullVal = number;
}

static nvmlReturn_t ecc(const struct gs_device *device, nvmlFieldValue_t *value) {
    static const struct {
        nvmlMemoryErrorType_t error;
        nvmlEccCounterType_t counter;
    } kinds[] = {{NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC},
                 {NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC},
                 {NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_AGGREGATE_ECC},
                 {NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_AGGREGATE_ECC}};
    unsigned index = value->fieldId - NVML_FI_DEV_ECC_SBE_VOL_TOTAL;
    unsigned long long total = 0;
    nvmlReturn_t result =
        gsDeviceGetTotalEccErrors(device, kinds[index].error, kinds[index].counter, &total);
    give_long(value, total);
    return result;
}

static nvmlReturn_t ecc_mode(const struct gs_device *device, nvmlFieldValue_t *value) {
    nvmlEnableState_t current = NVML_FEATURE_DISABLED, pending = NVML_FEATURE_DISABLED;
    nvmlReturn_t result = gsDeviceGetEccMode(device, &current, &pending);
    give_unsigned(value, value->fieldId == NVML_FI_DEV_ECC_CURRENT ? current : pending);
    return result;
}

static nvmlReturn_t remapped(const struct gs_device *device, nvmlFieldValue_t *value) {
    unsigned rows[4] = {0, 0, 0, 0};
    nvmlReturn_t result = gsDeviceGetRemappedRows(device, &rows[0], &rows[1], &rows[2], &rows[3]);
    give_unsigned(value, rows[value->fieldId - NVML_FI_DEV_REMAPPED_COR]);
    return result;
}

/* Of the GPU; whole modules and memory are not measured on these boards. */
static nvmlReturn_t power(const struct gs_device *device, nvmlFieldValue_t *value) {
    const struct gs_config *config = gs_config_of(device);
    if (value->scopeId != NVML_POWER_SCOPE_GPU) {
        return value->scopeId < NVML_POWER_SCOPE_COUNT ? NVML_ERROR_NOT_SUPPORTED
                                                       : NVML_ERROR_INVALID_ARGUMENT;
    }
    switch (value->fieldId) {
    case NVML_FI_DEV_POWER_MIN_LIMIT:
        give_unsigned(value, config->power_min);
        break;
    case NVML_FI_DEV_POWER_MAX_LIMIT:
        give_unsigned(value, config->power_max);
        break;
    case NVML_FI_DEV_POWER_DEFAULT_LIMIT:
        give_unsigned(value, config->power_default);
        break;
    case NVML_FI_DEV_POWER_CURRENT_LIMIT:
    case NVML_FI_DEV_POWER_REQUESTED_LIMIT:
        give_unsigned(value, gs_state_of(device)->power_limit);
        break;
    case NVML_FI_DEV_POWER_AVERAGE:
        if (!(config->features & GS_HAS_AVERAGE_POWER)) {
            return NVML_ERROR_NOT_SUPPORTED;
        }
        give_unsigned(value, gs_live_power(device));
        break;
    default:
        give_unsigned(value, gs_live_power(device));
    }
    return NVML_SUCCESS;
}

/* Margins to the thresholds, on boards that tell them so. */
static nvmlReturn_t margin(const struct gs_device *device, nvmlFieldValue_t *value) {
    const struct gs_config *config = gs_config_of(device);
    int32_t at = value->fieldId == NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT   ? config->temp_shutdown
                 : value->fieldId == NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT ? config->temp_slowdown
                                                                             : config->temp_gpu_max;
    if (!(config->features & GS_HAS_TLIMIT)) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    value->valueType = NVML_VALUE_TYPE_SIGNED_INT;
    value->value.siVal = config->temp_gpu_max - at;
    return NVML_SUCCESS;
}

/* Of the link that scopeId names. */
static nvmlReturn_t nvlink(const struct gs_device *device, nvmlFieldValue_t *value) {
    nvmlEnableState_t active = NVML_FEATURE_DISABLED;
    nvmlReturn_t result = gsDeviceGetNvLinkState(device, value->scopeId, &active);
    uint32_t mbps = active == NVML_FEATURE_ENABLED ? gs_config_of(device)->nvlink_mbps : 0;
    give_unsigned(value, value->fieldId == NVML_FI_DEV_NVLINK_GET_STATE ? active
                         : value->fieldId == NVML_FI_DEV_NVLINK_GET_SPEED
                             ? mbps
                             : gs_config_of(device)->nvlink_version);
    return result;
}

/* By these nvidia-smi draws NV# between two GPUs whose links end in switches. */
static nvmlReturn_t switched_links(const struct gs_device *device, nvmlFieldValue_t *value) {
    const struct gs_config *config = gs_config_of(device);
    if (!config->nvlinks || !(config->features & GS_HAS_NVSWITCH)) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    uint64_t links = (1ull << config->nvlinks) - 1;
    give_unsigned(value, (unsigned)__builtin_popcountll(links & ~gs_state_of(device)->nvlink_down));
    return NVML_SUCCESS;
}

static nvmlReturn_t answer(const struct gs_device *device, nvmlFieldValue_t *value) {
    const struct gs_config *config = gs_config_of(device);
    const struct gs_state *state = gs_state_of(device);
    switch (value->fieldId) {
    case NVML_FI_DEV_ECC_CURRENT:
    case NVML_FI_DEV_ECC_PENDING:
        return ecc_mode(device, value);
    case NVML_FI_DEV_ECC_SBE_VOL_TOTAL:
    case NVML_FI_DEV_ECC_DBE_VOL_TOTAL:
    case NVML_FI_DEV_ECC_SBE_AGG_TOTAL:
    case NVML_FI_DEV_ECC_DBE_AGG_TOTAL:
        return ecc(device, value);
    case NVML_FI_DEV_RETIRED_SBE:
    case NVML_FI_DEV_RETIRED_DBE:
        if (!(config->features & GS_HAS_RETIRED_PAGES)) {
            return NVML_ERROR_NOT_SUPPORTED;
        }
        give_unsigned(value, state->retired_pages[value->fieldId - NVML_FI_DEV_RETIRED_SBE]);
        return NVML_SUCCESS;
    case NVML_FI_DEV_RETIRED_PENDING:
        if (!(config->features & GS_HAS_RETIRED_PAGES)) {
            return NVML_ERROR_NOT_SUPPORTED;
        }
        give_unsigned(value, 0);
        return NVML_SUCCESS;
    case NVML_FI_DEV_REMAPPED_COR:
    case NVML_FI_DEV_REMAPPED_UNC:
    case NVML_FI_DEV_REMAPPED_PENDING:
    case NVML_FI_DEV_REMAPPED_FAILURE:
        return remapped(device, value);
    case NVML_FI_DEV_MEMORY_TEMP:
        if (!(config->features & GS_HAS_MEM_TEMP)) {
            return NVML_ERROR_NOT_SUPPORTED;
        }
        give_unsigned(value, (unsigned)gs_live_memory_temperature(device));
        return NVML_SUCCESS;
    case NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION:
        give_long(value, gs_live_counter(&state->energy));
        return NVML_SUCCESS;
    case NVML_FI_DEV_PCIE_REPLAY_COUNTER:
        give_long(value, gs_live_counter(&state->pcie_replays));
        return NVML_SUCCESS;
    case NVML_FI_DEV_PCIE_REPLAY_ROLLOVER_COUNTER:
        give_long(value, 0);
        return NVML_SUCCESS;
    case NVML_FI_DEV_NVLINK_LINK_COUNT:
        give_unsigned(value, config->nvlinks);
        return NVML_SUCCESS;
    case NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON:
        if (!config->nvlinks) {
            return NVML_ERROR_NOT_SUPPORTED;
        }
        give_unsigned(value, config->nvlink_mbps);
        return NVML_SUCCESS;
    case NVML_FI_DEV_NVLINK_GET_SPEED:
    case NVML_FI_DEV_NVLINK_GET_STATE:
    case NVML_FI_DEV_NVLINK_GET_VERSION:
        return nvlink(device, value);
    case NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT:
        return switched_links(device, value);
    case NVML_FI_DEV_POWER_AVERAGE:
    case NVML_FI_DEV_POWER_INSTANT:
    case NVML_FI_DEV_POWER_MIN_LIMIT:
    case NVML_FI_DEV_POWER_MAX_LIMIT:
    case NVML_FI_DEV_POWER_DEFAULT_LIMIT:
    case NVML_FI_DEV_POWER_CURRENT_LIMIT:
    case NVML_FI_DEV_POWER_REQUESTED_LIMIT:
        return power(device, value);
    case NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT:
    case NVML_FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT:
    case NVML_FI_DEV_TEMPERATURE_MEM_MAX_TLIMIT:
    case NVML_FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT:
        return margin(device, value);
    default:
        return NVML_ERROR_NOT_SUPPORTED;
    }
}

nvmlReturn_t gsDeviceGetFieldValues(const struct gs_device *device, int valuesCount,
                                    nvmlFieldValue_t *values) {
    if (valuesCount <= 0) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    for (int i = 0; i < valuesCount; i++) {
        nvmlFieldValue_t *value = &values[i];
        memset(&value->value, 0, sizeof value->value);
        value->valueType = NVML_VALUE_TYPE_UNSIGNED_INT;
        value->latencyUsec = 0;
        value->timestamp = (long long)gs_wall_us();
        value->nvmlReturn = answer(device, value);
    }
    return NVML_SUCCESS;
}
