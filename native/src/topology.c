/* SPDX-License-Identifier: Apache-2.0
 *
 * Chapter "Device Queries", how GPUs are connected. All pairs answer, and alike in both directions: the
 * device plugin refuses every pod of the node when one of these fails. */
#include "exports.h"

static nvmlGpuTopologyLevel_t level_between(const struct gs_device *a, const struct gs_device *b) {
    const struct gs_config *one = gs_config_of(a), *other = gs_config_of(b);
    if (a == b) {
        return NVML_TOPOLOGY_INTERNAL;
    }
    if (one->numa_node != other->numa_node) {
        return NVML_TOPOLOGY_SYSTEM;
    }
    return one->pci_switch == other->pci_switch ? NVML_TOPOLOGY_SINGLE : NVML_TOPOLOGY_NODE;
}

nvmlReturn_t gsDeviceGetTopologyCommonAncestor(const struct gs_device *device1,
                                               const struct gs_device *device2,
                                               nvmlGpuTopologyLevel_t *pathInfo) {
    *pathInfo = level_between(device1, device2);
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetTopologyNearestGpus(const struct gs_device *device,
                                            nvmlGpuTopologyLevel_t level, unsigned int *count,
                                            nvmlDevice_t *deviceArray) {
    const struct gs_snapshot *snapshot = gs_snapshot();
    unsigned found = 0;
    for (uint32_t i = 0; i < snapshot->count; i++) {
        const struct gs_device *other = &gs_devices[snapshot->order[i]];
        if (other == device || level_between(device, other) != level) {
            continue;
        }
        if (deviceArray && found < *count) {
            deviceArray[found] = (nvmlDevice_t)(uintptr_t)other;
        }
        found++;
    }
    nvmlReturn_t result =
        deviceArray && *count < found ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
    *count = found;
    return result;
}

nvmlReturn_t gsSystemGetTopologyGpuSet(unsigned int cpuNumber, unsigned int *count,
                                       nvmlDevice_t *deviceArray) {
    const struct gs_snapshot *snapshot = gs_snapshot();
    (void)cpuNumber; /* without NUMA nodes every GPU is near every CPU */
    nvmlReturn_t result =
        deviceArray && *count < snapshot->count ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
    for (uint32_t i = 0; deviceArray && i < snapshot->count && i < *count; i++) {
        deviceArray[i] = (nvmlDevice_t)&gs_devices[snapshot->order[i]];
    }
    *count = snapshot->count;
    return result;
}

nvmlReturn_t gsDeviceGetP2PStatus(const struct gs_device *device1, const struct gs_device *device2,
                                  nvmlGpuP2PCapsIndex_t p2pIndex, nvmlGpuP2PStatus_t *p2pStatus) {
    int linked = gs_config_of(device1)->nvlinks && gs_config_of(device2)->nvlinks;
    if (device1 == device2 || p2pIndex >= NVML_P2P_CAPS_INDEX_UNKNOWN) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    *p2pStatus = p2pIndex == NVML_P2P_CAPS_INDEX_PCI || linked ? NVML_P2P_STATUS_OK
                 : p2pIndex == NVML_P2P_CAPS_INDEX_NVLINK      ? NVML_P2P_STATUS_NOT_SUPPORTED
                 : p2pIndex == NVML_P2P_CAPS_INDEX_ATOMICS     ? NVML_P2P_STATUS_NOT_SUPPORTED
                                                               : NVML_P2P_STATUS_OK;
    return NVML_SUCCESS;
}
