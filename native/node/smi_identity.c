/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi: which GPU it is, where it sits, and the node's own facts. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "smi_facts.h"
#include "smi_private.h"

nvmlReturn_t smi_say(struct smi_value *value, nvmlReturn_t answer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value->text, sizeof value->text, format, arguments);
    va_end(arguments);
    return answer;
}

const char *smi_failure(nvmlReturn_t answer) {
    return answer == NVML_ERROR_NOT_SUPPORTED ? "N/A" : nvmlErrorString(answer);
}

static nvmlReturn_t named(struct smi_value *value, nvmlReturn_t answer, unsigned number,
                          const char *const *names, size_t count) {
    return smi_say(value, answer, "%s",
                   number < count && names[number] ? names[number] : "Unknown");
}

static nvmlReturn_t brand(nvmlDevice_t device, struct smi_value *value) {
    static const char *const names[] = {[NVML_BRAND_QUADRO] = "Quadro",
                                        [NVML_BRAND_TESLA] = "Tesla",
                                        [NVML_BRAND_NVS] = "NVS",
                                        [NVML_BRAND_GRID] = "Grid",
                                        [NVML_BRAND_GEFORCE] = "GeForce",
                                        [NVML_BRAND_TITAN] = "Titan",
                                        [NVML_BRAND_QUADRO_RTX] = "Quadro RTX",
                                        [NVML_BRAND_NVIDIA_RTX] = "NVIDIA RTX",
                                        [NVML_BRAND_NVIDIA] = "NVIDIA"};
    nvmlBrandType_t got = NVML_BRAND_UNKNOWN;
    nvmlReturn_t answer = nvmlDeviceGetBrand(device, &got);
    return named(value, answer, got, names, sizeof names / sizeof *names);
}

static nvmlReturn_t architecture(nvmlDevice_t device, struct smi_value *value) {
    static const char *const names[] = {
        [NVML_DEVICE_ARCH_KEPLER] = "Kepler",      [NVML_DEVICE_ARCH_MAXWELL] = "Maxwell",
        [NVML_DEVICE_ARCH_PASCAL] = "Pascal",      [NVML_DEVICE_ARCH_VOLTA] = "Volta",
        [NVML_DEVICE_ARCH_TURING] = "Turing",      [NVML_DEVICE_ARCH_AMPERE] = "Ampere",
        [NVML_DEVICE_ARCH_ADA] = "Ada Lovelace",   [NVML_DEVICE_ARCH_HOPPER] = "Hopper",
        [NVML_DEVICE_ARCH_BLACKWELL] = "Blackwell"};
    nvmlDeviceArchitecture_t got = NVML_DEVICE_ARCH_UNKNOWN;
    nvmlReturn_t answer = nvmlDeviceGetArchitecture(device, &got);
    return named(value, answer, got, names, sizeof names / sizeof *names);
}

static nvmlReturn_t board(nvmlDevice_t device, int what, struct smi_value *value) {
    unsigned got = 0;
    if (what == SMI_BOARD_ID) {
        nvmlReturn_t answer = nvmlDeviceGetBoardId(device, &got);
        return smi_say(value, answer, "0x%x", got);
    }
    nvmlReturn_t answer = nvmlDeviceGetMultiGpuBoard(device, &got);
    return smi_say(value, answer, "%s", got ? "Yes" : "No");
}

nvmlReturn_t smi_identity(nvmlDevice_t device, int what, struct smi_value *value) {
    char *text = value->text;
    const unsigned size = sizeof value->text;
    int major = 0, minor = 0;
    switch (what) {
    case SMI_NAME:
        return nvmlDeviceGetName(device, text, size);
    case SMI_SERIAL:
        return nvmlDeviceGetSerial(device, text, size);
    case SMI_UUID:
        return nvmlDeviceGetUUID(device, text, size);
    case SMI_VBIOS:
        return nvmlDeviceGetVbiosVersion(device, text, size);
    case SMI_BOARD_PART:
        return nvmlDeviceGetBoardPartNumber(device, text, size);
    case SMI_GPU_PART:
        return smi_private(SMI_PRIVATE_GPU_PART, device, text, size);
    case SMI_INFOROM_IMAGE:
        return nvmlDeviceGetInforomImageVersion(device, text, size);
    case SMI_INFOROM_OEM:
        return nvmlDeviceGetInforomVersion(device, NVML_INFOROM_OEM, text, size);
    case SMI_INFOROM_ECC:
        return nvmlDeviceGetInforomVersion(device, NVML_INFOROM_ECC, text, size);
    case SMI_INFOROM_POWER:
        return nvmlDeviceGetInforomVersion(device, NVML_INFOROM_POWER, text, size);
    case SMI_GSP_VERSION:
        return nvmlDeviceGetGspFirmwareVersion(device, text);
    case SMI_BRAND:
        return brand(device, value);
    case SMI_ARCHITECTURE:
        return architecture(device, value);
    case SMI_CAPABILITY: {
        nvmlReturn_t answer = nvmlDeviceGetCudaComputeCapability(device, &major, &minor);
        return smi_say(value, answer, "%d.%d", major, minor);
    }
    default:
        return board(device, what, value);
    }
}

/* "12.550.163.01" is CUDA's major version and the driver's; `numbers` of that are wanted. */
static nvmlReturn_t library(int numbers, struct smi_value *value) {
    char text[NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE] = "";
    nvmlReturn_t answer = nvmlSystemGetNVMLVersion(text, sizeof text);
    const char *shown = strchr(text, '.') ? strchr(text, '.') + 1 : text;
    size_t length = strcspn(shown, ".");
    while (--numbers && shown[length]) {
        length += 1 + strcspn(shown + length + 1, ".");
    }
    return smi_say(value, answer, "%.*s", (int)length, shown);
}

nvmlReturn_t smi_node(nvmlDevice_t device, int what, struct smi_value *value) {
    unsigned count = 0;
    int cuda = 0;
    (void)device;
    if (what == SMI_LIBRARY) {
        return library(2, value);
    }
    if (what == SMI_PROGRAM) { /* the real one's own version is its library's */
        nvmlReturn_t answer = library(9, value);
        return answer == NVML_SUCCESS ? answer : smi_node(NULL, SMI_DRIVER, value);
    }
    if (what == SMI_CUDA) {
        nvmlReturn_t answer = nvmlSystemGetCudaDriverVersion_v2(&cuda);
        return smi_say(value, answer, "%d.%d", cuda / 1000, cuda % 1000 / 10);
    }
    if (what == SMI_DRIVER) {
        return nvmlSystemGetDriverVersion(value->text, sizeof value->text);
    }
    if (what == SMI_COUNT) {
        nvmlReturn_t answer = nvmlDeviceGetCount_v2(&count);
        return smi_say(value, answer, "%u", count);
    }
    struct timeval now;
    struct tm local;
    gettimeofday(&now, NULL);
    localtime_r(&now.tv_sec, &local);
    size_t used = strftime(value->text, sizeof value->text, "%Y/%m/%d %H:%M:%S", &local);
    snprintf(value->text + used, sizeof value->text - used, ".%03d", (int)(now.tv_usec / 1000));
    return NVML_SUCCESS;
}

nvmlReturn_t smi_pci(nvmlDevice_t device, int what, struct smi_value *value) {
    static const int widths[] = {[SMI_DOMAIN] = 4,    [SMI_BUS] = 2,           [SMI_DEVICE] = 2,
                                 [SMI_DEVICE_ID] = 8, [SMI_SUB_DEVICE_ID] = 8, [SMI_BASE_CLASS] = 1,
                                 [SMI_SUB_CLASS] = 1};
    nvmlPciInfo_t short_info = {0};
    nvmlPciInfoExt_v1_t info = {.version = nvmlPciInfoExt_v1};
    if (what == SMI_PLACE) {
        nvmlReturn_t answer = nvmlDeviceGetPciInfo_v3(device, &short_info);
        return smi_say(value, answer, "%s", short_info.busId);
    }
    nvmlReturn_t answer = nvmlDeviceGetPciInfoExt(device, &info);
    if (what == SMI_BUS_ID) {
        return smi_say(value, answer, "%s", info.busId);
    }
    const unsigned numbers[] = {[SMI_DOMAIN] = info.domain,
                                [SMI_BUS] = info.bus,
                                [SMI_DEVICE] = info.device,
                                [SMI_DEVICE_ID] = info.pciDeviceId,
                                [SMI_SUB_DEVICE_ID] = info.pciSubSystemId,
                                [SMI_BASE_CLASS] = info.baseClass,
                                [SMI_SUB_CLASS] = info.subClass};
    return smi_say(value, answer, "0x%0*X", widths[what], numbers[what]);
}
