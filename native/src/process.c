/* SPDX-License-Identifier: Apache-2.0
 *
 * Chapter "Device Queries", processes. Three versions of each list: rows of 16 bytes in the first, of 24 in
 * the others. Count 0 without an array asks for the number. */
#include "exports.h"

enum { COMPUTE = 1u << 0, GRAPHICS = 1u << 1, MPS = 1u << 2 };

/* How many rows there are, and whether they fit. */
static nvmlReturn_t count_rows(const struct gs_allocation *allocation, uint32_t kind,
                               unsigned int *count, const void *rows) {
    unsigned needed = 0;
    unsigned places = rows ? *count : 0;
    for (uint32_t i = 0; i < allocation->process_count && i < GS_PROCESSES; i++) {
        needed += allocation->processes[i].pid && allocation->processes[i].kind & kind;
    }
    *count = needed;
    return needed <= places ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

static nvmlReturn_t give_v1(const struct gs_device *device, uint32_t kind, unsigned int *count,
                            nvmlProcessInfo_v1_t *rows) {
    struct gs_allocation allocation;
    gs_copy_allocation(device, &allocation);
    nvmlReturn_t result = count_rows(&allocation, kind, count, rows);
    unsigned row = 0;
    if (result != NVML_SUCCESS) {
        return result;
    }
    for (uint32_t i = 0; i < GS_PROCESSES && row < *count; i++) {
        const struct gs_process *process = &allocation.processes[i];
        if (process->pid && process->kind & kind) {
            rows[row++] = (nvmlProcessInfo_v1_t){process->pid, process->memory};
        }
    }
    *count = row;
    return NVML_SUCCESS;
}

static nvmlReturn_t give_v2(const struct gs_device *device, uint32_t kind, unsigned int *count,
                            nvmlProcessInfo_v2_t *rows) {
    struct gs_allocation allocation;
    gs_copy_allocation(device, &allocation);
    nvmlReturn_t result = count_rows(&allocation, kind, count, rows);
    unsigned row = 0;
    if (result != NVML_SUCCESS) {
        return result;
    }
    for (uint32_t i = 0; i < GS_PROCESSES && row < *count; i++) {
        const struct gs_process *process = &allocation.processes[i];
        if (process->pid && process->kind & kind) {
            rows[row++] = (nvmlProcessInfo_v2_t){process->pid, process->memory,
                                                 process->gpu_instance, process->compute_instance};
        }
    }
    *count = row;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetComputeRunningProcesses(const struct gs_device *device,
                                                unsigned int *infoCount,
                                                nvmlProcessInfo_v1_t *infos) {
    return give_v1(device, COMPUTE, infoCount, infos);
}

nvmlReturn_t gsDeviceGetComputeRunningProcesses_v2(const struct gs_device *device,
                                                   unsigned int *infoCount,
                                                   nvmlProcessInfo_v2_t *infos) {
    return give_v2(device, COMPUTE, infoCount, infos);
}

nvmlReturn_t gsDeviceGetComputeRunningProcesses_v3(const struct gs_device *device,
                                                   unsigned int *infoCount,
                                                   nvmlProcessInfo_t *infos) {
    return give_v2(device, COMPUTE, infoCount, infos);
}

nvmlReturn_t gsDeviceGetGraphicsRunningProcesses(const struct gs_device *device,
                                                 unsigned int *infoCount,
                                                 nvmlProcessInfo_v1_t *infos) {
    return give_v1(device, GRAPHICS, infoCount, infos);
}

nvmlReturn_t gsDeviceGetGraphicsRunningProcesses_v2(const struct gs_device *device,
                                                    unsigned int *infoCount,
                                                    nvmlProcessInfo_v2_t *infos) {
    return give_v2(device, GRAPHICS, infoCount, infos);
}

nvmlReturn_t gsDeviceGetGraphicsRunningProcesses_v3(const struct gs_device *device,
                                                    unsigned int *infoCount,
                                                    nvmlProcessInfo_t *infos) {
    return give_v2(device, GRAPHICS, infoCount, infos);
}

nvmlReturn_t gsDeviceGetMPSComputeRunningProcesses(const struct gs_device *device,
                                                   unsigned int *infoCount,
                                                   nvmlProcessInfo_v1_t *infos) {
    return give_v1(device, MPS, infoCount, infos);
}

nvmlReturn_t gsDeviceGetMPSComputeRunningProcesses_v2(const struct gs_device *device,
                                                      unsigned int *infoCount,
                                                      nvmlProcessInfo_v2_t *infos) {
    return give_v2(device, MPS, infoCount, infos);
}

nvmlReturn_t gsDeviceGetMPSComputeRunningProcesses_v3(const struct gs_device *device,
                                                      unsigned int *infoCount,
                                                      nvmlProcessInfo_t *infos) {
    return give_v2(device, MPS, infoCount, infos);
}

nvmlReturn_t gsDeviceGetRunningProcessDetailList(const struct gs_device *device,
                                                 nvmlProcessDetailList_t *plist) {
    struct gs_allocation allocation;
    gs_copy_allocation(device, &allocation);
    static const uint32_t kinds[] = {COMPUTE, GRAPHICS, MPS, COMPUTE | GRAPHICS | MPS};
    GS_VERSIONED(plist, nvmlProcessDetailList_v1);
    if (plist->mode >= NVML_PROCESS_MODE_MAX) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    uint32_t kind = kinds[plist->mode];
    nvmlReturn_t result =
        count_rows(&allocation, kind, &plist->numProcArrayEntries, plist->procArray);
    unsigned row = 0;
    if (result != NVML_SUCCESS) {
        return result;
    }
    for (uint32_t i = 0; i < GS_PROCESSES && row < plist->numProcArrayEntries; i++) {
        const struct gs_process *process = &allocation.processes[i];
        if (process->pid && process->kind & kind) {
            plist->procArray[row++] = (nvmlProcessDetail_v1_t){
                process->pid, process->memory, process->gpu_instance, process->compute_instance, 0};
        }
    }
    plist->numProcArrayEntries = row;
    return NVML_SUCCESS;
}

/* One sample for each process, newer than what the caller has seen. */
nvmlReturn_t gsDeviceGetProcessUtilization(const struct gs_device *device,
                                           nvmlProcessUtilizationSample_t *utilization,
                                           unsigned int *processSamplesCount,
                                           unsigned long long lastSeenTimeStamp) {
    struct gs_allocation allocation;
    gs_copy_allocation(device, &allocation);
    unsigned long long now = gs_wall_us();
    nvmlReturn_t result =
        count_rows(&allocation, COMPUTE | GRAPHICS | MPS, processSamplesCount, utilization);
    unsigned row = 0;
    if (result == NVML_SUCCESS && (!*processSamplesCount || now <= lastSeenTimeStamp)) {
        return NVML_ERROR_NOT_FOUND; /* the header: no sample newer than the time stamp */
    }
    for (uint32_t i = 0; i < GS_PROCESSES && result == NVML_SUCCESS && row < *processSamplesCount;
         i++) {
        const struct gs_process *process = &allocation.processes[i];
        if (process->pid) {
            utilization[row++] = (nvmlProcessUtilizationSample_t){
                process->pid, now, process->utilization_sm, process->utilization_memory, 0, 0};
        }
    }
    return result;
}
