/* SPDX-License-Identifier: Apache-2.0
 * Each field of nvidia-smi --query-gpu with its names, its unit and the question it asks the library. */
#include "smi_fields.h"

#include <stdio.h>
#include <sys/time.h>
#include <time.h>

static bool number(struct smi_value *value, nvmlReturn_t answer, unsigned long long got) {
    snprintf(value->text, sizeof value->text, "%llu", got);
    return answer == NVML_SUCCESS;
}

static bool word(struct smi_value *value, nvmlReturn_t answer, const char *text) {
    snprintf(value->text, sizeof value->text, "%s", text);
    return answer == NVML_SUCCESS;
}

enum { NAME, SERIAL, UUID, VBIOS };

static bool text(nvmlDevice_t device, int what, struct smi_value *value) {
    nvmlReturn_t answer =
        what == NAME     ? nvmlDeviceGetName(device, value->text, sizeof value->text)
        : what == SERIAL ? nvmlDeviceGetSerial(device, value->text, sizeof value->text)
        : what == UUID   ? nvmlDeviceGetUUID(device, value->text, sizeof value->text)
                         : nvmlDeviceGetVbiosVersion(device, value->text, sizeof value->text);
    return answer == NVML_SUCCESS;
}

enum { DRIVER, COUNT, TIMESTAMP, INDEX };

static bool node(nvmlDevice_t device, int what, struct smi_value *value) {
    unsigned got = 0;
    if (what == DRIVER) {
        return nvmlSystemGetDriverVersion(value->text, sizeof value->text) == NVML_SUCCESS;
    }
    if (what == COUNT) {
        nvmlReturn_t answer = nvmlDeviceGetCount_v2(&got);
        return number(value, answer, got);
    }
    if (what == INDEX) {
        nvmlReturn_t answer = nvmlDeviceGetIndex(device, &got);
        return number(value, answer, got);
    }
    struct timeval now;
    struct tm local;
    gettimeofday(&now, NULL);
    localtime_r(&now.tv_sec, &local);
    size_t used = strftime(value->text, sizeof value->text, "%Y/%m/%d %H:%M:%S", &local);
    snprintf(value->text + used, sizeof value->text - used, ".%03d", (int)(now.tv_usec / 1000));
    return true;
}

enum { BUS_ID, DOMAIN, BUS, DEVICE, DEVICE_ID, SUB_DEVICE_ID };

static bool pci(nvmlDevice_t device, int what, struct smi_value *value) {
    nvmlPciInfo_t info;
    if (nvmlDeviceGetPciInfo_v3(device, &info) != NVML_SUCCESS) {
        return false;
    }
    if (what == BUS_ID) {
        return word(value, NVML_SUCCESS, info.busId);
    }
    unsigned numbers[] = {[DOMAIN] = info.domain,
                          [BUS] = info.bus,
                          [DEVICE] = info.device,
                          [DEVICE_ID] = info.pciDeviceId,
                          [SUB_DEVICE_ID] = info.pciSubSystemId};
    int width = what >= DEVICE_ID ? 8 : what == DOMAIN ? 4 : 2;
    snprintf(value->text, sizeof value->text, "0x%0*X", width, numbers[what]);
    return true;
}

enum { TOTAL, RESERVED, USED, FREE };

static bool memory(nvmlDevice_t device, int what, struct smi_value *value) {
    nvmlMemory_v2_t info = {.version = nvmlMemory_v2};
    nvmlReturn_t answer = nvmlDeviceGetMemoryInfo_v2(device, &info);
    unsigned long long bytes[] = {info.total, info.reserved, info.used, info.free};
    return number(value, answer, bytes[what] >> 20);
}

enum { GPU_LOAD, MEMORY_LOAD };

static bool utilization(nvmlDevice_t device, int what, struct smi_value *value) {
    nvmlUtilization_t rates = {0};
    nvmlReturn_t answer = nvmlDeviceGetUtilizationRates(device, &rates);
    return number(value, answer, what == GPU_LOAD ? rates.gpu : rates.memory);
}

enum { DRAW, LIMIT, ENFORCED, DEFAULT, LOWEST, HIGHEST };

static bool field(nvmlDevice_t device, unsigned id, unsigned *got) {
    nvmlFieldValue_t value = {.fieldId = id};
    nvmlReturn_t answer = nvmlDeviceGetFieldValues(device, 1, &value);
    *got = value.value.uiVal;
    return answer == NVML_SUCCESS && value.nvmlReturn == NVML_SUCCESS;
}

static bool temperature(nvmlDevice_t device, int what, struct smi_value *value) {
    unsigned got = 0;
    if (what) {
        bool known = field(device, NVML_FI_DEV_MEMORY_TEMP, &got);
        return known ? number(value, NVML_SUCCESS, got)
                     : word(value, NVML_SUCCESS, "N/A"); /* the real one: without brackets */
    }
    nvmlReturn_t answer = nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &got);
    return number(value, answer, got);
}

static bool power_field(nvmlDevice_t device, int what, struct smi_value *value) {
    unsigned milliwatts = 0;
    bool known = field(device, (unsigned)what, &milliwatts);
    snprintf(value->text, sizeof value->text, "%u.%02u", milliwatts / 1000, milliwatts % 1000 / 10);
    return known;
}

static bool power(nvmlDevice_t device, int what, struct smi_value *value) {
    unsigned milliwatts = 0, other = 0;
    nvmlReturn_t answer = NVML_SUCCESS;
    switch (what) {
    case DRAW:
        answer = nvmlDeviceGetPowerUsage(device, &milliwatts);
        break;
    case LIMIT:
        answer = nvmlDeviceGetPowerManagementLimit(device, &milliwatts);
        break;
    case ENFORCED:
        answer = nvmlDeviceGetEnforcedPowerLimit(device, &milliwatts);
        break;
    case DEFAULT:
        answer = nvmlDeviceGetPowerManagementDefaultLimit(device, &milliwatts);
        break;
    case LOWEST:
        answer = nvmlDeviceGetPowerManagementLimitConstraints(device, &milliwatts, &other);
        break;
    default:
        answer = nvmlDeviceGetPowerManagementLimitConstraints(device, &other, &milliwatts);
    }
    snprintf(value->text, sizeof value->text, "%u.%02u", milliwatts / 1000, milliwatts % 1000 / 10);
    return answer == NVML_SUCCESS;
}

static bool clock_now(nvmlDevice_t device, int what, struct smi_value *value) {
    unsigned got = 0;
    nvmlReturn_t answer = nvmlDeviceGetClockInfo(device, (nvmlClockType_t)what, &got);
    return number(value, answer, got);
}

static bool clock_highest(nvmlDevice_t device, int what, struct smi_value *value) {
    unsigned got = 0;
    nvmlReturn_t answer = nvmlDeviceGetMaxClockInfo(device, (nvmlClockType_t)what, &got);
    return number(value, answer, got);
}

enum { GEN_NOW, GEN_MAX, WIDTH_NOW, WIDTH_MAX };

static bool pcie(nvmlDevice_t device, int what, struct smi_value *value) {
    unsigned got = 0;
    nvmlReturn_t answer = what == GEN_NOW     ? nvmlDeviceGetCurrPcieLinkGeneration(device, &got)
                          : what == GEN_MAX   ? nvmlDeviceGetMaxPcieLinkGeneration(device, &got)
                          : what == WIDTH_NOW ? nvmlDeviceGetCurrPcieLinkWidth(device, &got)
                                              : nvmlDeviceGetMaxPcieLinkWidth(device, &got);
    return number(value, answer, got);
}

static bool enabled(struct smi_value *value, nvmlReturn_t answer, bool on) {
    return word(value, answer, on ? "Enabled" : "Disabled");
}

enum { PERSISTENCE, DISPLAY_ACTIVE, ECC_NOW, ECC_PENDING, MIG_NOW, MIG_PENDING };

static bool mode(nvmlDevice_t device, int what, struct smi_value *value) {
    nvmlEnableState_t now = NVML_FEATURE_DISABLED, pending = NVML_FEATURE_DISABLED;
    unsigned mig_now = 0, mig_pending = 0;
    nvmlReturn_t answer;
    switch (what) {
    case PERSISTENCE:
        answer = nvmlDeviceGetPersistenceMode(device, &now);
        return enabled(value, answer, now);
    case DISPLAY_ACTIVE:
        answer = nvmlDeviceGetDisplayActive(device, &now);
        return enabled(value, answer, now);
    case ECC_NOW:
    case ECC_PENDING:
        answer = nvmlDeviceGetEccMode(device, &now, &pending);
        return enabled(value, answer, what == ECC_NOW ? now : pending);
    default:
        answer = nvmlDeviceGetMigMode(device, &mig_now, &mig_pending);
        return enabled(value, answer, what == MIG_NOW ? mig_now : mig_pending);
    }
}

enum { COMPUTE_MODE, CAPABILITY, PSTATE, FAN };

static bool other(nvmlDevice_t device, int what, struct smi_value *value) {
    static const char *const modes[] = {"Default", "Exclusive_Thread", "Prohibited",
                                        "Exclusive_Process"};
    nvmlReturn_t answer;
    if (what == COMPUTE_MODE) {
        nvmlComputeMode_t got = NVML_COMPUTEMODE_DEFAULT;
        answer = nvmlDeviceGetComputeMode(device, &got);
        return word(value, answer, modes[(unsigned)got % 4]);
    }
    if (what == CAPABILITY) {
        int major = 0, minor = 0;
        answer = nvmlDeviceGetCudaComputeCapability(device, &major, &minor);
        snprintf(value->text, sizeof value->text, "%d.%d", major, minor);
        return answer == NVML_SUCCESS;
    }
    if (what == PSTATE) {
        nvmlPstates_t got = NVML_PSTATE_0;
        answer = nvmlDeviceGetPerformanceState(device, &got);
        snprintf(value->text, sizeof value->text, "P%d", (int)got);
        return answer == NVML_SUCCESS && got != NVML_PSTATE_UNKNOWN;
    }
    unsigned speed = 0;
    answer = nvmlDeviceGetFanSpeed(device, &speed);
    return number(value, answer, speed);
}

/* The first name is the one in the header; others are accepted. */
const struct smi_field smi_fields[] = {
    {"timestamp", "", "", node, TIMESTAMP},
    {"driver_version", "", "", node, DRIVER},
    {"count", "", "", node, COUNT},
    {"name", "gpu_name", "", text, NAME},
    {"serial", "gpu_serial", "", text, SERIAL},
    {"uuid", "gpu_uuid", "", text, UUID},
    {"pci.bus_id", "gpu_bus_id", "", pci, BUS_ID},
    {"pci.domain", "", "", pci, DOMAIN},
    {"pci.bus", "", "", pci, BUS},
    {"pci.device", "", "", pci, DEVICE},
    {"pci.device_id", "", "", pci, DEVICE_ID},
    {"pci.sub_device_id", "", "", pci, SUB_DEVICE_ID},
    {"pcie.link.gen.current", "pcie.link.gen.gpucurrent", "", pcie, GEN_NOW},
    {"pcie.link.gen.max", "", "", pcie, GEN_MAX},
    {"pcie.link.width.current", "", "", pcie, WIDTH_NOW},
    {"pcie.link.width.max", "", "", pcie, WIDTH_MAX},
    {"index", "", "", node, INDEX},
    {"display_active", "", "", mode, DISPLAY_ACTIVE},
    {"persistence_mode", "", "", mode, PERSISTENCE},
    {"vbios_version", "", "", text, VBIOS},
    {"fan.speed", "", "%", other, FAN},
    {"pstate", "", "", other, PSTATE},
    {"memory.total", "", "MiB", memory, TOTAL},
    {"memory.reserved", "", "MiB", memory, RESERVED},
    {"memory.used", "", "MiB", memory, USED},
    {"memory.free", "", "MiB", memory, FREE},
    {"compute_mode", "", "", other, COMPUTE_MODE},
    {"compute_cap", "", "", other, CAPABILITY},
    {"utilization.gpu", "", "%", utilization, GPU_LOAD},
    {"utilization.memory", "", "%", utilization, MEMORY_LOAD},
    {"ecc.mode.current", "", "", mode, ECC_NOW},
    {"ecc.mode.pending", "", "", mode, ECC_PENDING},
    {"temperature.gpu", "", "", temperature, 0},
    {"temperature.memory", "", "", temperature, 1},
    {"power.draw", "", "W", power, DRAW},
    {"power.draw.average", "", "W", power_field, NVML_FI_DEV_POWER_AVERAGE},
    {"power.draw.instant", "", "W", power_field, NVML_FI_DEV_POWER_INSTANT},
    {"power.limit", "", "W", power, LIMIT},
    {"enforced.power.limit", "", "W", power, ENFORCED},
    {"power.default_limit", "", "W", power, DEFAULT},
    {"power.min_limit", "", "W", power, LOWEST},
    {"power.max_limit", "", "W", power, HIGHEST},
    {"clocks.current.graphics", "clocks.gr", "MHz", clock_now, NVML_CLOCK_GRAPHICS},
    {"clocks.current.sm", "clocks.sm", "MHz", clock_now, NVML_CLOCK_SM},
    {"clocks.current.memory", "clocks.mem", "MHz", clock_now, NVML_CLOCK_MEM},
    {"clocks.current.video", "clocks.video", "MHz", clock_now, NVML_CLOCK_VIDEO},
    {"clocks.max.graphics", "clocks.max.gr", "MHz", clock_highest, NVML_CLOCK_GRAPHICS},
    {"clocks.max.sm", "", "MHz", clock_highest, NVML_CLOCK_SM},
    {"clocks.max.memory", "clocks.max.mem", "MHz", clock_highest, NVML_CLOCK_MEM},
    {"mig.mode.current", "", "", mode, MIG_NOW},
    {"mig.mode.pending", "", "", mode, MIG_PENDING},
};

const size_t smi_field_count = sizeof smi_fields / sizeof *smi_fields;
