/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi: how a GPU is set, and what holds its clocks back. */
#include <stdio.h>

#include "smi_facts.h"
#include "smi_private.h"

static nvmlReturn_t enabled(struct smi_value *value, nvmlReturn_t answer, bool on) {
    return smi_say(value, answer, "%s", on ? "Enabled" : "Disabled");
}

nvmlReturn_t smi_absent(nvmlDevice_t device, int what, struct smi_value *value) {
    (void)device, (void)what, (void)value;
    return NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t smi_switch(nvmlDevice_t device, int what, struct smi_value *value) {
    static nvmlReturn_t (*const getters[])(nvmlDevice_t, nvmlEnableState_t *) = {
        [SMI_PERSISTENCE] = nvmlDeviceGetPersistenceMode,
        [SMI_DISPLAY] = nvmlDeviceGetDisplayMode,
        [SMI_DISPLAY_ACTIVE] = nvmlDeviceGetDisplayActive,
        [SMI_ACCOUNTING] = nvmlDeviceGetAccountingMode,
        [SMI_POWER_MANAGEMENT] = nvmlDeviceGetPowerManagementMode};
    nvmlEnableState_t on = NVML_FEATURE_DISABLED;
    nvmlReturn_t answer = getters[what](device, &on);
    return enabled(value, answer, on == NVML_FEATURE_ENABLED);
}

nvmlReturn_t smi_pair(nvmlDevice_t device, int what, struct smi_value *value) {
    static const char *const operations[] = {"All On", "Compute", "Low Double Precision"};
    static const char *const models[] = {"WDDM", "TCC"};
    nvmlEnableState_t states[2] = {NVML_FEATURE_DISABLED, NVML_FEATURE_DISABLED};
    nvmlGpuOperationMode_t gom[2] = {NVML_GOM_ALL_ON, NVML_GOM_ALL_ON};
    nvmlDriverModel_t model[2] = {NVML_DRIVER_WDDM, NVML_DRIVER_WDDM};
    unsigned numbers[2] = {0, 0}, side = (what & SMI_PENDING) != 0;
    nvmlReturn_t answer;
    switch (what & ~SMI_PENDING) {
    case SMI_ECC:
        answer = nvmlDeviceGetEccMode(device, &states[0], &states[1]);
        return enabled(value, answer, states[side]);
    case SMI_AUTO_BOOST:
        answer = nvmlDeviceGetAutoBoostedClocksEnabled(device, &states[0], &states[1]);
        return enabled(value, answer, states[side]);
    case SMI_MIG:
        answer = nvmlDeviceGetMigMode(device, &numbers[0], &numbers[1]);
        return enabled(value, answer, numbers[side]);
    case SMI_GSP:
        answer = nvmlDeviceGetGspFirmwareMode(device, &numbers[0], &numbers[1]);
        return enabled(value, answer, numbers[side]);
    case SMI_GOM:
        answer = nvmlDeviceGetGpuOperationMode(device, &gom[0], &gom[1]);
        return smi_say(value, answer, "%s", operations[(unsigned)gom[side] % 3]);
    default:
        answer = nvmlDeviceGetDriverModel(device, &model[0], &model[1]);
        return smi_say(value, answer, "%s", models[(unsigned)model[side] % 2]);
    }
}

nvmlReturn_t smi_mode(nvmlDevice_t device, int what, struct smi_value *value) {
    static const char *const compute[] = {"Default", "Exclusive_Thread", "Prohibited",
                                          "Exclusive_Process"};
    static const char *const addressing[] = {"None", "HMM", "ATS"};
    static const char *const virtualization[] = {"None", "Pass-Through", "VGPU", "Host VGPU",
                                                 "Host VSGA"};
    nvmlReturn_t answer;
    nvmlComputeMode_t mode = NVML_COMPUTEMODE_DEFAULT;
    nvmlPstates_t pstate = NVML_PSTATE_UNKNOWN;
    nvmlC2cModeInfo_v1_t c2c = {0};
    nvmlGpuVirtualizationMode_t virtual = NVML_GPU_VIRTUALIZATION_MODE_NONE;
    nvmlHostVgpuMode_t host = NVML_HOST_VGPU_MODE_NON_SRIOV;
    int number = 0;
    switch (what) {
    case SMI_COMPUTE_MODE:
        answer = nvmlDeviceGetComputeMode(device, &mode);
        return smi_say(value, answer, "%s", compute[(unsigned)mode % 4]);
    case SMI_PSTATE:
    case SMI_POWER_STATE:
        answer = what == SMI_PSTATE ? nvmlDeviceGetPerformanceState(device, &pstate)
                                    : nvmlDeviceGetPowerState(device, &pstate);
        return pstate == NVML_PSTATE_UNKNOWN
                   ? smi_say(value, answer == NVML_SUCCESS ? NVML_ERROR_NOT_SUPPORTED : answer, "-")
                   : smi_say(value, answer, "P%d", (int)pstate);
    case SMI_ADDRESSING:
        answer = smi_private(SMI_PRIVATE_ADDRESSING, device, &number, sizeof number);
        return smi_say(value, answer, "%s", addressing[(unsigned)number % 3]);
    case SMI_C2C:
        answer = nvmlDeviceGetC2cModeInfoV(device, &c2c);
        return enabled(value, answer, c2c.isC2cEnabled);
    case SMI_VIRTUALIZATION:
        answer = nvmlDeviceGetVirtualizationMode(device, &virtual);
        return smi_say(value, answer, "%s", virtualization[(unsigned)virtual % 5]);
    case SMI_HOST_VGPU:
        answer = nvmlDeviceGetHostVgpuMode(device, &host);
        return smi_say(value, answer, "%s",
                       host == NVML_HOST_VGPU_MODE_SRIOV ? "SR-IOV" : "Non SR-IOV");
    default:
        answer = smi_private(SMI_PRIVATE_SPARSE, device, &number, sizeof number);
        return enabled(value, answer, number);
    }
}

nvmlReturn_t smi_reasons(nvmlDevice_t device, int what, struct smi_value *value) {
    unsigned long long mask = 0;
    nvmlReturn_t answer = what == SMI_REASONS_ACTIVE
                              ? NVML_SUCCESS
                              : nvmlDeviceGetSupportedClocksThrottleReasons(device, &mask);
    if (what != SMI_REASONS_SUPPORTED && answer == NVML_SUCCESS) {
        answer = nvmlDeviceGetCurrentClocksThrottleReasons(device, &mask);
    }
    return smi_say(value, answer, "0x%016llX", mask);
}

nvmlReturn_t smi_reason(nvmlDevice_t device, int what, struct smi_value *value) {
    unsigned long long mask = 0;
    nvmlReturn_t answer = nvmlDeviceGetCurrentClocksThrottleReasons(device, &mask);
    return smi_say(value, answer, "%s", mask >> what & 1 ? "Active" : "Not Active");
}

nvmlReturn_t smi_reason_or_none(nvmlDevice_t device, int what, struct smi_value *value) {
    return smi_reason(device, what, value) == NVML_SUCCESS ? NVML_SUCCESS
                                                           : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t smi_fabric(nvmlDevice_t device, int what, struct smi_value *value) {
    static const char *const states[] = {"N/A", "Not Started", "In Progress", "Completed"};
    static const char *const health[] = {"N/A", "Degraded", "Full", "N/A"};
    nvmlGpuFabricInfo_v2_t info = {.version = nvmlGpuFabricInfo_v2};
    nvmlReturn_t answer = nvmlDeviceGetGpuFabricInfoV(device, (nvmlGpuFabricInfoV_t *)&info);
    const unsigned char *id = info.clusterUuid;
    switch (what) {
    case SMI_FABRIC_STATE:
        return smi_say(value, answer, "%s", states[info.state % 4]);
    case SMI_FABRIC_STATUS:
        return smi_say(value, answer, "%s", nvmlErrorString(info.status));
    case SMI_FABRIC_QUERY | SMI_FABRIC_STATE: /* sic */
        return smi_say(value, answer, "state  %s", states[info.state % 4]);
    case SMI_FABRIC_QUERY | SMI_FABRIC_STATUS:
        return smi_say(value, answer, "status %s", nvmlErrorString(info.status));
    case SMI_FABRIC_CLIQUE:
        return smi_say(value, answer, "%u", info.cliqueId);
    case SMI_FABRIC_BANDWIDTH:
        return smi_say(value, answer, "%s", health[info.healthMask & 3]);
    default:
        return smi_say(value, answer,
                       "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
                       id[0], id[1], id[2], id[3], id[4], id[5], id[6], id[7], id[8], id[9], id[10],
                       id[11], id[12], id[13], id[14], id[15]);
    }
}

nvmlReturn_t smi_vgpu(nvmlDevice_t device, int what, struct smi_value *value) {
    unsigned capable = 0;
    nvmlReturn_t answer =
        nvmlDeviceGetVgpuCapabilities(device, (nvmlDeviceVgpuCapability_t)what, &capable);
    return smi_say(value, answer, "%u", capable);
}
