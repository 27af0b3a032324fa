/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi: what is measured or counted. */
#include <stdio.h>

#include "smi_facts.h"
#include "smi_private.h"

static nvmlReturn_t temperature(nvmlDevice_t device, unsigned *degrees) {
    return nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, degrees);
}

static nvmlReturn_t replays(nvmlDevice_t device, unsigned *count) {
    return nvmlDeviceGetPcieReplayCounter(device, count);
}

nvmlReturn_t smi_number(nvmlDevice_t device, int what, struct smi_value *value) {
    static nvmlReturn_t (*const getters[])(nvmlDevice_t, unsigned *) = {
        [SMI_INDEX] = nvmlDeviceGetIndex,
        [SMI_MINOR] = nvmlDeviceGetMinorNumber,
        [SMI_MODULE] = nvmlDeviceGetModuleId,
        [SMI_ACCOUNTING_BUFFER] = nvmlDeviceGetAccountingBufferSize,
        [SMI_FAN] = nvmlDeviceGetFanSpeed,
        [SMI_GEN_NOW] = nvmlDeviceGetCurrPcieLinkGeneration,
        [SMI_GEN_MAX] = nvmlDeviceGetMaxPcieLinkGeneration,
        [SMI_DEVICE_GEN_MAX] = nvmlDeviceGetGpuMaxPcieLinkGeneration,
        [SMI_WIDTH_NOW] = nvmlDeviceGetCurrPcieLinkWidth,
        [SMI_WIDTH_MAX] = nvmlDeviceGetMaxPcieLinkWidth,
        [SMI_REPLAYS] = replays,
        [SMI_TEMPERATURE] = temperature};
    unsigned got = 0;
    nvmlReturn_t answer = getters[what](device, &got);
    return smi_say(value, answer, "%u", got);
}

nvmlReturn_t smi_memory(nvmlDevice_t device, int what, struct smi_value *value) {
    nvmlMemory_v2_t memory = {.version = nvmlMemory_v2};
    nvmlBAR1Memory_t bar1 = {0};
    nvmlMemory_t protected = {0};
    unsigned long long bytes[4] = {0};
    nvmlReturn_t answer;
    switch (what & ~7) {
    case SMI_FRAMEBUFFER:
        answer = nvmlDeviceGetMemoryInfo_v2(device, &memory);
        bytes[SMI_TOTAL] = memory.total;
        bytes[SMI_RESERVED] = memory.reserved;
        bytes[SMI_USED] = memory.used;
        bytes[SMI_FREE] = memory.free;
        break;
    case SMI_BAR1:
        answer = nvmlDeviceGetBAR1MemoryInfo(device, &bar1);
        bytes[SMI_TOTAL] = bar1.bar1Total;
        bytes[SMI_USED] = bar1.bar1Used;
        bytes[SMI_FREE] = bar1.bar1Free;
        break;
    default:
        answer = nvmlDeviceGetConfComputeProtectedMemoryUsage(device, &protected);
        bytes[SMI_TOTAL] = protected.total;
        bytes[SMI_USED] = protected.used;
        bytes[SMI_FREE] = protected.free;
    }
    return smi_say(value, answer, "%llu", bytes[what & 3] >> 20);
}

nvmlReturn_t smi_utilization(nvmlDevice_t device, int what, struct smi_value *value) {
    static nvmlReturn_t (*const getters[])(nvmlDevice_t, unsigned *, unsigned *) = {
        [SMI_ENCODER_LOAD] = nvmlDeviceGetEncoderUtilization,
        [SMI_DECODER_LOAD] = nvmlDeviceGetDecoderUtilization,
        [SMI_JPEG_LOAD] = nvmlDeviceGetJpgUtilization,
        [SMI_OFA_LOAD] = nvmlDeviceGetOfaUtilization};
    nvmlUtilization_t rates = {0};
    unsigned load = 0, period = 0;
    nvmlReturn_t answer = what <= SMI_MEMORY_LOAD ? nvmlDeviceGetUtilizationRates(device, &rates)
                                                  : getters[what](device, &load, &period);
    return smi_say(value, answer, "%u",
                   what == SMI_GPU_LOAD      ? rates.gpu
                   : what == SMI_MEMORY_LOAD ? rates.memory
                                             : load);
}

nvmlReturn_t smi_sessions(nvmlDevice_t device, int what, struct smi_value *value) {
    unsigned numbers[3] = {0};
    nvmlFBCStats_t capture = {0};
    nvmlReturn_t answer;
    if (what & SMI_FBC) {
        answer = nvmlDeviceGetFBCStats(device, &capture);
        numbers[SMI_SESSIONS] = capture.sessionsCount;
        numbers[SMI_FPS] = capture.averageFPS;
        numbers[SMI_LATENCY] = capture.averageLatency;
    } else {
        answer = nvmlDeviceGetEncoderStats(device, &numbers[SMI_SESSIONS], &numbers[SMI_FPS],
                                           &numbers[SMI_LATENCY]);
    }
    return smi_say(value, answer, "%u", numbers[what & 3]);
}

nvmlReturn_t smi_threshold(nvmlDevice_t device, int what, struct smi_value *value) {
    unsigned degrees = 0;
    nvmlReturn_t answer =
        nvmlDeviceGetTemperatureThreshold(device, (nvmlTemperatureThresholds_t)what, &degrees);
    return smi_say(value, answer, "%u", degrees);
}

nvmlReturn_t smi_margin(nvmlDevice_t device, int what, struct smi_value *value) {
    int degrees = 0;
    (void)what;
    nvmlReturn_t answer = smi_private(SMI_PRIVATE_MARGIN, device, &degrees, sizeof degrees);
    return smi_say(value, answer, "%d", degrees);
}

static nvmlReturn_t ask_field(nvmlDevice_t device, unsigned id, unsigned scope,
                              nvmlFieldValue_t *field) {
    *field = (nvmlFieldValue_t){.fieldId = id, .scopeId = scope};
    nvmlReturn_t answer = nvmlDeviceGetFieldValues(device, 1, field);
    return answer != NVML_SUCCESS ? answer : field->nvmlReturn;
}

nvmlReturn_t smi_field(nvmlDevice_t device, int what, struct smi_value *value) {
    nvmlFieldValue_t field;
    nvmlReturn_t answer = ask_field(device, (unsigned)what, 0, &field);
    return field.valueType == NVML_VALUE_TYPE_SIGNED_INT
               ? smi_say(value, answer, "%d", field.value.siVal)
               : smi_say(value, answer, "%u", field.value.uiVal);
}

/* Of a board that has none, a query says so without brackets. */
nvmlReturn_t smi_memory_temperature(nvmlDevice_t device, int what, struct smi_value *value) {
    (void)what;
    nvmlReturn_t answer = smi_field(device, NVML_FI_DEV_MEMORY_TEMP, value);
    return answer == NVML_ERROR_NOT_SUPPORTED ? smi_say(value, NVML_SUCCESS, "N/A") : answer;
}

nvmlReturn_t smi_throughput(nvmlDevice_t device, int what, struct smi_value *value) {
    unsigned rate = 0;
    nvmlReturn_t answer = nvmlDeviceGetPcieThroughput(device, (nvmlPcieUtilCounter_t)what, &rate);
    return smi_say(value, answer, "%u", rate);
}

/* In single precision, which is how the real one rounds. */
static nvmlReturn_t watts(struct smi_value *value, nvmlReturn_t answer, unsigned milliwatts) {
    return smi_say(value, answer, "%.2f", (double)((float)milliwatts / 1000.0f));
}

nvmlReturn_t smi_power(nvmlDevice_t device, int what, struct smi_value *value) {
    unsigned milliwatts = 0, lowest = 0, highest = 0;
    nvmlReturn_t answer = NVML_SUCCESS;
    switch (what) {
    case SMI_DRAW:
        answer = nvmlDeviceGetPowerUsage(device, &milliwatts);
        break;
    case SMI_LIMIT:
        answer = nvmlDeviceGetPowerManagementLimit(device, &milliwatts);
        break;
    case SMI_ENFORCED:
        answer = smi_private(SMI_PRIVATE_ENFORCED_LIMIT, device, &milliwatts, sizeof milliwatts);
        break;
    case SMI_DEFAULT:
        answer = nvmlDeviceGetPowerManagementDefaultLimit(device, &milliwatts);
        break;
    default:
        answer = nvmlDeviceGetPowerManagementLimitConstraints(device, &lowest, &highest);
        milliwatts = what == SMI_LOWEST ? lowest : highest;
    }
    return watts(value, answer, milliwatts);
}

nvmlReturn_t smi_power_field(nvmlDevice_t device, int what, struct smi_value *value) {
    nvmlFieldValue_t field;
    nvmlReturn_t answer = ask_field(device, what & 0xFFFF, (unsigned)what >> 16, &field);
    return watts(value, answer, field.value.uiVal);
}

nvmlReturn_t smi_clock(nvmlDevice_t device, int what, struct smi_value *value) {
    nvmlClockType_t type = (nvmlClockType_t)(what & 7);
    unsigned megahertz = 0;
    nvmlReturn_t answer;
    switch (what & ~7) {
    case SMI_CLOCK_NOW:
        answer = nvmlDeviceGetClockInfo(device, type, &megahertz);
        break;
    case SMI_CLOCK_MAX:
        answer = nvmlDeviceGetMaxClockInfo(device, type, &megahertz);
        break;
    case SMI_CLOCK_APP:
        answer = nvmlDeviceGetApplicationsClock(device, type, &megahertz);
        break;
    case SMI_CLOCK_APP_DEFAULT:
        answer = nvmlDeviceGetDefaultApplicationsClock(device, type, &megahertz);
        break;
    default:
        answer = nvmlDeviceGetClock(device, type, NVML_CLOCK_ID_CUSTOMER_BOOST_MAX, &megahertz);
    }
    return smi_say(value, answer, "%u", megahertz);
}
