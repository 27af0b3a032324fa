/* SPDX-License-Identifier: Apache-2.0
 *
 * Chapter "Device Queries", processes. Three versions of each list: rows of 16 bytes in the first, of 24 in
 * the others. Count 0 without an array asks for the number. */
#include "exports.h"
#include "live.h"

enum { COMPUTE = 1u << 0, GRAPHICS = 1u << 1, MPS = 1u << 2 };

/* All that a board's processes hold fits on it, also after it was made smaller under them. */
static void fit(const struct gs_config *config, struct gs_allocation *copy) {
    uint64_t room = config->memory_total - config->memory_reserved;
    for (uint32_t i = 0; i < copy->process_count && i < GS_PROCESSES; i++) {
        uint64_t *memory = &copy->processes[i].memory;
        *memory = *memory < room ? *memory : room;
        room -= *memory;
    }
}

/* The rows of a kind, moved to the front of this process's own copy. *count becomes how many there are, whether or not
 * they fit into the places that it told. */
static nvmlReturn_t select_rows(const struct gs_device *device, uint32_t kind, unsigned int *count,
                                const void *array, struct gs_allocation *copy) {
    unsigned places = array ? *count : 0, rows = 0;
    gs_copy_allocation(device, copy);
    fit(gs_config_of(device), copy);
    for (uint32_t i = 0; i < copy->process_count && i < GS_PROCESSES; i++) {
        if (copy->processes[i].pid && copy->processes[i].kind & kind) {
            copy->processes[rows++] = copy->processes[i];
        }
    }
    *count = rows;
    return rows <= places ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

static nvmlReturn_t give_v1(const struct gs_device *device, uint32_t kind, unsigned int *count,
                            nvmlProcessInfo_v1_t *rows) {
    struct gs_allocation copy;
    nvmlReturn_t result = select_rows(device, kind, count, rows, &copy);
    for (unsigned i = 0; result == NVML_SUCCESS && i < *count; i++) {
        const struct gs_process *process = &copy.processes[i];
        rows[i] = (nvmlProcessInfo_v1_t){process->pid, process->memory};
    }
    return result;
}

static nvmlReturn_t give_v2(const struct gs_device *device, uint32_t kind, unsigned int *count,
                            nvmlProcessInfo_v2_t *rows) {
    struct gs_allocation copy;
    nvmlReturn_t result = select_rows(device, kind, count, rows, &copy);
    for (unsigned i = 0; result == NVML_SUCCESS && i < *count; i++) {
        const struct gs_process *process = &copy.processes[i];
        rows[i] = (nvmlProcessInfo_v2_t){process->pid, process->memory, process->gpu_instance,
                                         process->compute_instance};
    }
    return result;
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
    struct gs_allocation copy;
    static const uint32_t kinds[] = {COMPUTE, GRAPHICS, MPS, COMPUTE | GRAPHICS | MPS};
    GS_VERSIONED(plist, nvmlProcessDetailList_v1);
    if (plist->mode >= NVML_PROCESS_MODE_MAX) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    nvmlReturn_t result = select_rows(device, kinds[plist->mode], &plist->numProcArrayEntries,
                                      plist->procArray, &copy);
    for (unsigned i = 0; result == NVML_SUCCESS && i < plist->numProcArrayEntries; i++) {
        const struct gs_process *process = &copy.processes[i];
        plist->procArray[i] = (nvmlProcessDetail_v1_t){
            process->pid, process->memory, process->gpu_instance, process->compute_instance, 0};
    }
    return result;
}

/* One sample for each process, newer than what the caller has seen. What the board does is shared out by the rows'
 * weights, so the processes never do more than their board. */
nvmlReturn_t gsDeviceGetProcessUtilization(const struct gs_device *device,
                                           nvmlProcessUtilizationSample_t *utilization,
                                           unsigned int *processSamplesCount,
                                           unsigned long long lastSeenTimeStamp) {
    struct gs_allocation copy;
    unsigned long long now = gs_wall_us();
    uint64_t sm = 0, memory = 0;
    nvmlReturn_t result =
        select_rows(device, COMPUTE | GRAPHICS | MPS, processSamplesCount, utilization, &copy);
    if (result == NVML_SUCCESS && (!*processSamplesCount || now <= lastSeenTimeStamp)) {
        return NVML_ERROR_NOT_FOUND; /* the header: no sample newer than the time stamp */
    }
    for (unsigned i = 0; result == NVML_SUCCESS && i < *processSamplesCount; i++) {
        sm += copy.processes[i].utilization_sm;
        memory += copy.processes[i].utilization_memory;
    }
    uint64_t busy = gs_live_utilization(device), moving = gs_live_memory_utilization(device);
    for (unsigned i = 0; result == NVML_SUCCESS && i < *processSamplesCount; i++) {
        const struct gs_process *process = &copy.processes[i];
        utilization[i] = (nvmlProcessUtilizationSample_t){
            process->pid,
            now,
            sm ? (unsigned)(busy * process->utilization_sm / sm) : 0,
            memory ? (unsigned)(moving * process->utilization_memory / memory) : 0,
            0,
            0};
    }
    return result;
}
