/* SPDX-License-Identifier: Apache-2.0
 *
 * Chapter "Device Queries", what a board is: handles, names, numbers. One handle for each GPU, the same
 * by index, UUID, serial and bus id. */
#include <string.h>

#include "exports.h"

nvmlReturn_t gsDeviceGetCount_v2(unsigned int *deviceCount) {
    *deviceCount = gs_snapshot()->count;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetCount(unsigned int *deviceCount) {
    return gsDeviceGetCount_v2(deviceCount);
}

nvmlReturn_t gsDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
    const struct gs_snapshot *snapshot = gs_snapshot();
    if (index >= snapshot->count) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    *device = (nvmlDevice_t)&gs_devices[snapshot->order[index]];
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device) {
    return gsDeviceGetHandleByIndex_v2(index, device);
}

/* The visible GPU whose text at `offset` of its configuration is this one. */
static nvmlReturn_t find_by_text(size_t offset, const char *text, nvmlDevice_t *device) {
    const struct gs_snapshot *snapshot = gs_snapshot();
    for (uint32_t i = 0; i < snapshot->count; i++) {
        struct gs_device *one = &gs_devices[snapshot->order[i]];
        if (strcmp((const char *)gs_config_of(one) + offset, text) == 0) {
            *device = (nvmlDevice_t)one;
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t gsDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device) {
    return find_by_text(offsetof(struct gs_config, uuid), uuid, device);
}

nvmlReturn_t gsDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device) {
    return find_by_text(offsetof(struct gs_config, serial), serial, device);
}

static int hex_value(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

nvmlReturn_t gsDeviceGetHandleByUUIDV(const nvmlUUID_t *uuid, nvmlDevice_t *device) {
    const struct gs_snapshot *snapshot = gs_snapshot();
    GS_VERSIONED(uuid, nvmlUUID_v1);
    if (uuid->type == NVML_UUID_TYPE_ASCII) {
        return memchr(uuid->value.str, '\0', sizeof uuid->value.str)
                   ? gsDeviceGetHandleByUUID(uuid->value.str, device)
                   : NVML_ERROR_INVALID_ARGUMENT;
    }
    if (uuid->type != NVML_UUID_TYPE_BINARY) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    for (uint32_t i = 0; i < snapshot->count; i++) {
        struct gs_device *one = &gs_devices[snapshot->order[i]];
        const char *text = gs_config_of(one)->uuid + strlen("GPU-");
        unsigned char bytes[NVML_DEVICE_UUID_BINARY_LEN];
        unsigned digits = 0;
        for (; *text && digits < 2 * sizeof bytes; text++) {
            int value = hex_value(*text);
            if (value >= 0) {
                bytes[digits / 2] =
                    (unsigned char)(digits % 2 ? bytes[digits / 2] << 4 | value : value);
                digits++;
            }
        }
        if (digits == 2 * sizeof bytes && memcmp(bytes, uuid->value.bytes, sizeof bytes) == 0) {
            *device = (nvmlDevice_t)one;
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t gsDeviceGetIndex(const struct gs_device *device, unsigned int *index) {
    *index = device->index;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetName(const struct gs_device *device, char *name, unsigned int length) {
    return gs_give_text(name, length, gs_config_of(device)->name);
}

nvmlReturn_t gsDeviceGetUUID(const struct gs_device *device, char *uuid, unsigned int length) {
    return gs_give_text(uuid, length, gs_config_of(device)->uuid);
}

nvmlReturn_t gsDeviceGetSerial(const struct gs_device *device, char *serial, unsigned int length) {
    return gs_give_text(serial, length, gs_config_of(device)->serial);
}

nvmlReturn_t gsDeviceGetVbiosVersion(const struct gs_device *device, char *version,
                                     unsigned int length) {
    return gs_give_text(version, length, gs_config_of(device)->vbios);
}

nvmlReturn_t gsDeviceGetBoardPartNumber(const struct gs_device *device, char *partNumber,
                                        unsigned int length) {
    return gs_give_text(partNumber, length, gs_config_of(device)->board_part_number);
}

nvmlReturn_t gsDeviceGetInforomImageVersion(const struct gs_device *device, char *version,
                                            unsigned int length) {
    return gs_give_text(version, length, gs_config_of(device)->inforom_image);
}

nvmlReturn_t gsDeviceGetInforomVersion(const struct gs_device *device, nvmlInforomObject_t object,
                                       char *version, unsigned int length) {
    const struct gs_config *config = gs_config_of(device);
    const char *text = object == NVML_INFOROM_OEM     ? config->inforom_oem
                       : object == NVML_INFOROM_ECC   ? config->inforom_ecc
                       : object == NVML_INFOROM_POWER ? config->inforom_power
                                                      : NULL;
    if (!text) {
        return object < NVML_INFOROM_COUNT ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_INVALID_ARGUMENT;
    }
    return text[0] ? gs_give_text(version, length, text) : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t gsDeviceValidateInforom(const struct gs_device *device) {
    (void)device; /* never corrupt; a fault can say otherwise */
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetMinorNumber(const struct gs_device *device, unsigned int *minorNumber) {
    *minorNumber = gs_config_of(device)->minor;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetModuleId(const struct gs_device *device, unsigned int *moduleId) {
    *moduleId = gs_config_of(device)->module_id;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetBrand(const struct gs_device *device, nvmlBrandType_t *type) {
    *type = (nvmlBrandType_t)gs_config_of(device)->brand;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetArchitecture(const struct gs_device *device,
                                     nvmlDeviceArchitecture_t *arch) {
    *arch = gs_config_of(device)->architecture;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetCudaComputeCapability(const struct gs_device *device, int *major,
                                              int *minor) {
    *major = (int)gs_config_of(device)->compute_major;
    *minor = (int)gs_config_of(device)->compute_minor;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetNumGpuCores(const struct gs_device *device, unsigned int *numCores) {
    *numCores = gs_config_of(device)->cores;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetMemoryBusWidth(const struct gs_device *device, unsigned int *busWidth) {
    *busWidth = gs_config_of(device)->memory_bus_width;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetBoardId(const struct gs_device *device, unsigned int *boardId) {
    const struct gs_config *config = gs_config_of(device);
    *boardId = config->pci_domain << 16 | config->pci_bus << 8 | config->pci_device << 3;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetMultiGpuBoard(const struct gs_device *device, unsigned int *multiGpuBool) {
    (void)device;
    *multiGpuBool = 0;
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceOnSameBoard(const struct gs_device *device1, const struct gs_device *device2,
                                 int *onSameBoard) {
    *onSameBoard = device1 == device2;
    return NVML_SUCCESS;
}
