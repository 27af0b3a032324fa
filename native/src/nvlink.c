/* SPDX-License-Identifier: Apache-2.0
 *
 * Chapter "NvLink Methods". Links of these boards end in NVSwitches, in the same PCI domain as the GPUs and
 * on buses that no GPU has. A link that a board lacks answers NOT_SUPPORTED, which clients take for "none". */
#include <string.h>

#include "exports.h"
#include "live.h"
#include "text.h"

enum { FIRST_SWITCH_BUS = 0xC0, SWITCHES = 6 };

static nvmlReturn_t check(const struct gs_device *device, unsigned link) {
    uint32_t links = gs_config_of(device)->nvlinks;
    if (link >= NVML_NVLINK_MAX_LINKS) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    return link < links ? NVML_SUCCESS
                        : NVML_ERROR_NOT_SUPPORTED; /* nvidia-smi topo asks beyond the last */
}

static int is_down(const struct gs_device *device, unsigned link) {
    return (int)(gs_state_of(device)->nvlink_down >> link & 1);
}

nvmlReturn_t gsDeviceGetNvLinkState(const struct gs_device *device, unsigned int link,
                                    nvmlEnableState_t *isActive) {
    nvmlReturn_t result = check(device, link);
    if (result == NVML_SUCCESS) {
        *isActive = is_down(device, link) ? NVML_FEATURE_DISABLED : NVML_FEATURE_ENABLED;
    }
    return result;
}

nvmlReturn_t gsDeviceGetNvLinkVersion(const struct gs_device *device, unsigned int link,
                                      unsigned int *version) {
    nvmlReturn_t result = check(device, link);
    if (result == NVML_SUCCESS) {
        *version = gs_config_of(device)->nvlink_version;
    }
    return result;
}

nvmlReturn_t gsDeviceGetNvLinkCapability(const struct gs_device *device, unsigned int link,
                                         nvmlNvLinkCapability_t capability,
                                         unsigned int *capResult) {
    nvmlReturn_t result = check(device, link);
    if (capability >= NVML_NVLINK_CAP_COUNT) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (result == NVML_SUCCESS) {
        *capResult = capability != NVML_NVLINK_CAP_SLI_BRIDGE;
    }
    return result;
}

nvmlReturn_t gsDeviceGetNvLinkRemoteDeviceType(const struct gs_device *device, unsigned int link,
                                               nvmlIntNvLinkDeviceType_t *pNvLinkDeviceType) {
    nvmlReturn_t result = check(device, link);
    if (result == NVML_SUCCESS) {
        *pNvLinkDeviceType = NVML_NVLINK_DEVICE_TYPE_SWITCH;
    }
    return result;
}

nvmlReturn_t gsDeviceGetNvLinkRemotePciInfo_v2(const struct gs_device *device, unsigned int link,
                                               nvmlPciInfo_t *pci) {
    const struct gs_config *config = gs_config_of(device);
    nvmlReturn_t result = check(device, link);
    if (result != NVML_SUCCESS) {
        return result;
    }
    memset(pci, 0, sizeof *pci);
    pci->domain = config->pci_domain;
    pci->bus = FIRST_SWITCH_BUS + link % SWITCHES;
    struct gs_text full = gs_text_in(pci->busId, sizeof pci->busId);
    struct gs_text legacy = gs_text_in(pci->busIdLegacy, sizeof pci->busIdLegacy);
    gs_text_add_hex(&full, pci->domain, 8);
    gs_text_add_hex(&legacy, pci->domain & 0xFFFFu, 4);
    for (int i = 0; i < 2; i++) {
        struct gs_text *text = i ? &legacy : &full;
        gs_text_add(text, ":");
        gs_text_add_hex(text, pci->bus, 2);
        gs_text_add(text, ":00.0");
    }
    return NVML_SUCCESS;
}

/* Before the bus id got longer: the struct ends with the subsystem id. */
nvmlReturn_t gsDeviceGetNvLinkRemotePciInfo(const struct gs_device *device, unsigned int link,
                                            nvmlPciInfo_t *pci) {
    nvmlPciInfo_t whole;
    nvmlReturn_t result = gsDeviceGetNvLinkRemotePciInfo_v2(device, link, &whole);
    if (result == NVML_SUCCESS) {
        memcpy(pci, &whole, offsetof(nvmlPciInfo_t, busId));
    }
    return result;
}

nvmlReturn_t gsDeviceGetNvLinkErrorCounter(const struct gs_device *device, unsigned int link,
                                           nvmlNvLinkErrorCounter_t counter,
                                           unsigned long long *counterValue) {
    nvmlReturn_t result = check(device, link);
    if (counter >= NVML_NVLINK_ERROR_COUNT) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (result == NVML_SUCCESS) {
        *counterValue = 0;
    }
    return result;
}
