/* SPDX-License-Identifier: Apache-2.0
 *
 * PCI structs of three sizes in buffers that end where they end, and every way to write a bus id. */
#include "check.h"

static void structs(nvmlDevice_t device) {
    nvmlPciInfo_t *v1 = check_guarded(32), *v2 = check_guarded(36), *v3 = check_guarded(68);
    CHECK_NUMBER(sizeof *v3, 68);
    CHECK_NUMBER(nvmlDeviceGetPciInfo(device, v1), NVML_SUCCESS);
    CHECK_NUMBER(nvmlDeviceGetPciInfo_v2(device, v2), NVML_SUCCESS);
    CHECK_NUMBER(nvmlDeviceGetPciInfo_v3(device, v3), NVML_SUCCESS);
    CHECK_TEXT(v3->busId, "00004E56:03:00.0");
    CHECK_TEXT(v3->busIdLegacy, "4E56:03:00.0");
    CHECK_TEXT(v2->busIdLegacy, "4E56:03:00.0");
    CHECK_TEXT(v1->busIdLegacy, "4E56:03:00.0");
    CHECK_NUMBER(v1->domain, 0x4E56);
    CHECK_NUMBER(v2->bus, 3);
    CHECK_NUMBER(v3->device, 0);
    CHECK_NUMBER(v1->pciDeviceId, 0x233010DE);
    CHECK_NUMBER(v2->pciSubSystemId, 0x16C110DE);
    nvmlPciInfoExt_t ext = {.version = nvmlPciInfoExt_v1};
    CHECK_NUMBER(nvmlDeviceGetPciInfoExt(device, &ext), NVML_SUCCESS);
    CHECK_NUMBER(ext.baseClass << 8 | ext.subClass, 0x302);
    CHECK_TEXT(ext.busId, "00004E56:03:00.0");
}

static void lookups(nvmlDevice_t wanted) {
    static const char *const good[] = {"00004E56:03:00.0", "00004e56:03:00.0", "4E56:03:00.0",
                                       "4e56:3:0.0", "4e56:03:00"};
    static const char *const unknown[] = {"00004E56:03:00.1", "00000000:03:00.0", "03:00.0",
                                          "4E56:04:00.0"};
    static const char *const wrong[] = {"",
                                        "x",
                                        "4E56",
                                        "4E56:03:",
                                        "4E56:zz:00.0",
                                        "4E56:03:00.",
                                        "GPU-1",
                                        "123456789:03:00.0",
                                        "4E56:03:00.0 ",
                                        ":::",
                                        "4E56::00.0"};
    nvmlDevice_t device;
    for (unsigned i = 0; i < sizeof good / sizeof *good; i++) {
        device = NULL;
        CHECK_NUMBER(nvmlDeviceGetHandleByPciBusId_v2(good[i], &device), NVML_SUCCESS);
        CHECK(device == wanted);
        CHECK_NUMBER(nvmlDeviceGetHandleByPciBusId(good[i], &device), NVML_SUCCESS);
    }
    for (unsigned i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        CHECK_NUMBER(nvmlDeviceGetHandleByPciBusId_v2(unknown[i], &device), NVML_ERROR_NOT_FOUND);
    }
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_NUMBER(nvmlDeviceGetHandleByPciBusId_v2(wrong[i], &device),
                     NVML_ERROR_INVALID_ARGUMENT);
    }
}

int main(void) {
    setenv("NVML_MOCK_PROFILE", "h100-80gb-hbm3", 1);
    setenv("NVML_MOCK_DEVICE_COUNT", "3", 1);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    structs(check_device(2));
    lookups(check_device(2));
    return check_result();
}
