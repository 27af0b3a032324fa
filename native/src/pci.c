/* SPDX-License-Identifier: Apache-2.0
 *
 * Chapter "Device Queries", PCI. Three versions of one struct: the first two lack fields at the end, and
 * their callers' buffers are that much shorter. */
#include <string.h>

#include "exports.h"
#include "live.h"
#include "text.h"

enum {
    V1_SIZE = offsetof(nvmlPciInfo_t, pciSubSystemId), /* up to the device id */
    V2_SIZE = offsetof(nvmlPciInfo_t, busId)           /* with the subsystem id */
};

static void bus_id(char *out, size_t size, unsigned digits, uint32_t domain, uint32_t bus,
                   uint32_t device) {
    struct gs_text text = gs_text_in(out, size);
    gs_text_add_hex(&text, domain, digits);
    gs_text_add(&text, ":");
    gs_text_add_hex(&text, bus, 2);
    gs_text_add(&text, ":");
    gs_text_add_hex(&text, device, 2);
    gs_text_add(&text, ".0");
}

static void fill(const struct gs_config *config, nvmlPciInfo_t *pci) {
    memset(pci, 0, sizeof *pci);
    bus_id(pci->busIdLegacy, sizeof pci->busIdLegacy, 4, config->pci_domain & 0xFFFFu,
           config->pci_bus, config->pci_device);
    bus_id(pci->busId, sizeof pci->busId, 8, config->pci_domain, config->pci_bus,
           config->pci_device);
    pci->domain = config->pci_domain;
    pci->bus = config->pci_bus;
    pci->device = config->pci_device;
    pci->pciDeviceId = config->pci_device_id;
    pci->pciSubSystemId = config->pci_subsystem_id;
}

nvmlReturn_t gsDeviceGetPciInfo_v3(const struct gs_device *device, nvmlPciInfo_t *pci) {
    fill(gs_config_of(device), pci);
    return NVML_SUCCESS;
}

static nvmlReturn_t give_part(const struct gs_device *device, nvmlPciInfo_t *pci, size_t size) {
    nvmlPciInfo_t whole;
    fill(gs_config_of(device), &whole);
    memcpy(pci, &whole, size);
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetPciInfo(const struct gs_device *device, nvmlPciInfo_t *pci) {
    return give_part(device, pci, V1_SIZE);
}

nvmlReturn_t gsDeviceGetPciInfo_v2(const struct gs_device *device, nvmlPciInfo_t *pci) {
    return give_part(device, pci, V2_SIZE);
}

nvmlReturn_t gsDeviceGetPciInfoExt(const struct gs_device *device, nvmlPciInfoExt_t *pci) {
    const struct gs_config *config = gs_config_of(device);
    GS_VERSIONED(pci, nvmlPciInfoExt_v1);
    pci->domain = config->pci_domain;
    pci->bus = config->pci_bus;
    pci->device = config->pci_device;
    pci->pciDeviceId = config->pci_device_id;
    pci->pciSubSystemId = config->pci_subsystem_id;
    pci->baseClass = config->pci_base_class;
    pci->subClass = config->pci_sub_class;
    memset(pci->busId, 0, sizeof pci->busId);
    bus_id(pci->busId, sizeof pci->busId, 8, config->pci_domain, config->pci_bus,
           config->pci_device);
    return NVML_SUCCESS;
}

/* One hexadecimal field of a bus id, ended by `end`. */
static int parse_field(const char **at, char end, uint32_t *value) {
    const char *start = *at;
    uint32_t number = 0;
    for (; **at && **at != end; (*at)++) {
        char c = (char)(**at | 0x20);
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0 || *at - start >= 8) {
            return -1;
        }
        number = number << 4 | (uint32_t)digit;
    }
    *value = number;
    return *at == start || **at != end ? -1 : (*at += end != '\0', 0);
}

int gs_parse_bus_id(const char *text, struct gs_bus_id *id) {
    const char *at = text;
    const char *first = strchr(at, ':');
    int has_domain = first && strchr(first + 1, ':');
    int has_function = strchr(at, '.') != NULL;
    memset(id, 0, sizeof *id);
    return (has_domain && parse_field(&at, ':', &id->domain)) || parse_field(&at, ':', &id->bus) ||
                   parse_field(&at, has_function ? '.' : '\0', &id->device) ||
                   (has_function && parse_field(&at, '\0', &id->function))
               ? -1
               : 0;
}

nvmlReturn_t gsDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device) {
    const struct gs_snapshot *snapshot = gs_snapshot();
    struct gs_bus_id id;
    if (gs_parse_bus_id(pciBusId, &id)) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    for (uint32_t i = 0; i < snapshot->count && id.function == 0; i++) {
        struct gs_device *one = &gs_devices[snapshot->order[i]];
        const struct gs_config *config = gs_config_of(one);
        if (config->pci_domain == id.domain && config->pci_bus == id.bus &&
            config->pci_device == id.device) {
            *device = (nvmlDevice_t)one;
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t gsDeviceGetHandleByPciBusId(const char *pciBusId, nvmlDevice_t *device) {
    return gsDeviceGetHandleByPciBusId_v2(pciBusId, device);
}

nvmlReturn_t gsDeviceGetMaxPcieLinkGeneration(const struct gs_device *device,
                                              unsigned int *maxLinkGen) {
    *maxLinkGen = gs_config_of(device)->pcie_gen_max;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetGpuMaxPcieLinkGeneration(const struct gs_device *device,
                                                 unsigned int *maxLinkGenDevice) {
    *maxLinkGenDevice = gs_config_of(device)->pcie_gen_max;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetCurrPcieLinkGeneration(const struct gs_device *device,
                                               unsigned int *currLinkGen) {
    *currLinkGen = gs_config_of(device)->pcie_gen_max;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetMaxPcieLinkWidth(const struct gs_device *device,
                                         unsigned int *maxLinkWidth) {
    *maxLinkWidth = gs_config_of(device)->pcie_width_max;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetCurrPcieLinkWidth(const struct gs_device *device,
                                          unsigned int *currLinkWidth) {
    *currLinkWidth = gs_config_of(device)->pcie_width_max;
    return NVML_SUCCESS;
}

/* MB/s of one lane by generation; 0 for what does not exist. */
static unsigned lane_speed(uint32_t generation) {
    static const unsigned speeds[] = {0, 2500, 5000, 8000, 16000, 32000, 64000};
    return generation < sizeof speeds / sizeof *speeds ? speeds[generation] : 0;
}

nvmlReturn_t gsDeviceGetPcieLinkMaxSpeed(const struct gs_device *device, unsigned int *maxSpeed) {
    *maxSpeed = gs_config_of(device)
                    ->pcie_gen_max; /* NVML_PCIE_LINK_MAX_SPEED_…: 1 is 2500 MB/s, 5 is 32000 */
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetPcieSpeed(const struct gs_device *device, unsigned int *pcieSpeed) {
    *pcieSpeed = lane_speed(gs_config_of(device)->pcie_gen_max);
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetPcieThroughput(const struct gs_device *device,
                                       nvmlPcieUtilCounter_t counter, unsigned int *value) {
    const struct gs_state *state = gs_state_of(device);
    if (counter != NVML_PCIE_UTIL_TX_BYTES && counter != NVML_PCIE_UTIL_RX_BYTES) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    *value =
        (unsigned)(counter == NVML_PCIE_UTIL_TX_BYTES ? state->pcie_tx.low : state->pcie_rx.low);
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetPcieReplayCounter(const struct gs_device *device, unsigned int *value) {
    *value = (unsigned)gs_live_counter(&gs_state_of(device)->pcie_replays);
    return NVML_SUCCESS;
}
