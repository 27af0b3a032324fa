/* SPDX-License-Identifier: Apache-2.0
 *
 * Chapter "Device Queries", memory. total = used + free, and + reserved where the struct has it. */
#include "exports.h"
#include "live.h"

nvmlReturn_t gsDeviceGetMemoryInfo(const struct gs_device *device, nvmlMemory_t *memory) {
    const struct gs_config *config = gs_config_of(device);
    unsigned long long used = config->memory_reserved + gs_live_memory_used(device);
    memory->total = config->memory_total;
    memory->used = used; /* this version has no field of its own for what the driver keeps */
    memory->free = config->memory_total - used;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetMemoryInfo_v2(const struct gs_device *device, nvmlMemory_v2_t *memory) {
    const struct gs_config *config = gs_config_of(device);
    GS_VERSIONED(memory, nvmlMemory_v2);
    memory->total = config->memory_total;
    memory->reserved = config->memory_reserved;
    memory->used = gs_live_memory_used(device);
    memory->free = memory->total - memory->reserved - memory->used;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetBAR1MemoryInfo(const struct gs_device *device,
                                       nvmlBAR1Memory_t *bar1Memory) {
    const struct gs_config *config = gs_config_of(device);
    bar1Memory->bar1Total = config->bar1_total;
    bar1Memory->bar1Used = 1ull << 20; /* what an idle board's driver maps */
    bar1Memory->bar1Free = config->bar1_total - bar1Memory->bar1Used;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetConfComputeProtectedMemoryUsage(const struct gs_device *device,
                                                        nvmlMemory_t *memory) {
    (void)device;
    memory->total = 0;
    memory->used = 0;
    memory->free = 0;
    return NVML_SUCCESS;
}
