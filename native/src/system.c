/* SPDX-License-Identifier: Apache-2.0
 *
 * Chapters "System Queries", "Unit Queries" and "Excluded GPUs": what does not belong to one GPU. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "exports.h"
#include "text.h"

nvmlReturn_t gsSystemGetDriverVersion(char *version, unsigned int length) {
    return gs_give_text(version, length, gs_snapshot()->node.driver_version);
}

nvmlReturn_t gsSystemGetNVMLVersion(char *version, unsigned int length) {
    return gs_give_text(version, length, gs_snapshot()->node.nvml_version);
}

nvmlReturn_t gsSystemGetCudaDriverVersion(int *cudaDriverVersion) {
    *cudaDriverVersion = gs_snapshot()->node.cuda_version;
    return NVML_SUCCESS;
}

nvmlReturn_t gsSystemGetCudaDriverVersion_v2(int *cudaDriverVersion) {
    return gsSystemGetCudaDriverVersion(cudaDriverVersion);
}

nvmlReturn_t gsSystemGetDriverBranch(nvmlSystemDriverBranchInfo_t *branchInfo,
                                     unsigned int length) {
    char name[NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE];
    struct gs_text text = gs_text_in(name, sizeof name);
    const char *version = gs_snapshot()->node.driver_version;
    GS_VERSIONED(branchInfo, nvmlSystemDriverBranchInfo_v1);
    gs_text_add(&text, "r");
    gs_text_add_bytes(&text, version, strcspn(version, "."));
    gs_text_add(&text, "_00");
    if (length > sizeof branchInfo->branch) {
        length = sizeof branchInfo->branch;
    }
    return gs_give_text(branchInfo->branch, length, name);
}

/* The name that the inventory gives a simulated process, else the kernel's. */
nvmlReturn_t gsSystemGetProcessName(unsigned int pid, char *name, unsigned int length) {
    const struct gs_snapshot *snapshot = gs_snapshot();
    for (uint32_t i = 0; i < snapshot->count; i++) {
        struct gs_allocation allocation;
        gs_copy_allocation(&gs_devices[snapshot->order[i]], &allocation);
        for (uint32_t row = 0; row < allocation.process_count && row < GS_PROCESSES; row++) {
            if (pid && allocation.processes[row].pid == pid && allocation.processes[row].name[0]) {
                return gs_give_text(name, length, allocation.processes[row].name);
            }
        }
    }
    char path[64], command[256];
    struct gs_text text = gs_text_in(path, sizeof path);
    gs_text_add(&text, "/proc/");
    gs_text_add_number(&text, pid);
    gs_text_add(&text, "/comm");
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return NVML_ERROR_NOT_FOUND;
    }
    ssize_t got = read(file, command, sizeof command - 1);
    close(file);
    if (got <= 0) {
        return NVML_ERROR_NOT_FOUND;
    }
    command[got - (command[got - 1] == '\n')] = '\0';
    return gs_give_text(name, length, command);
}

nvmlReturn_t gsSystemGetHicVersion(unsigned int *hwbcCount, nvmlHwbcEntry_t *hwbcEntries) {
    (void)hwbcEntries;
    *hwbcCount = 0;
    return NVML_SUCCESS;
}

nvmlReturn_t gsUnitGetCount(unsigned int *unitCount) {
    *unitCount = 0;
    return NVML_SUCCESS;
}

nvmlReturn_t gsUnitGetHandleByIndex(unsigned int index, nvmlUnit_t *unit) {
    (void)index;
    (void)unit;
    return NVML_ERROR_INVALID_ARGUMENT; /* there are none */
}

nvmlReturn_t gsGetExcludedDeviceCount(unsigned int *deviceCount) {
    *deviceCount = 0;
    return NVML_SUCCESS;
}

nvmlReturn_t gsGetExcludedDeviceInfoByIndex(unsigned int index, nvmlExcludedDeviceInfo_t *info) {
    (void)index;
    (void)info;
    return NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t gsGetBlacklistDeviceCount(unsigned int *deviceCount) {
    return gsGetExcludedDeviceCount(deviceCount);
}

nvmlReturn_t gsGetBlacklistDeviceInfoByIndex(unsigned int index, nvmlExcludedDeviceInfo_t *info) {
    return gsGetExcludedDeviceInfoByIndex(index, info);
}
