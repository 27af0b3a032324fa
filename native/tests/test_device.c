/* SPDX-License-Identifier: Apache-2.0
 *
 * One handle for each GPU, the same by index, UUID, serial and bus id; old and new structs of the PCI address. */
#include <ctype.h>
#include <stddef.h>

#include "check.h"

static void look_ups_agree(void) {
    char text[96];
    for (unsigned i = 0; i < 7; i++) {
        nvmlDevice_t device = check_device(i), found = NULL;
        unsigned index = 99, minor = 99;
        CHECK_NUMBER(nvmlDeviceGetIndex(device, &index), NVML_SUCCESS);
        CHECK_NUMBER(index, i);
        CHECK_NUMBER(nvmlDeviceGetMinorNumber(device, &minor), NVML_SUCCESS);
        CHECK_NUMBER(minor, i);
        CHECK_NUMBER(nvmlDeviceGetUUID(device, text, sizeof text), NVML_SUCCESS);
        CHECK_NUMBER(nvmlDeviceGetHandleByUUID(text, &found), NVML_SUCCESS);
        CHECK(found == device);
        text[strlen(text) - 1] = '\0';
        CHECK_NUMBER(nvmlDeviceGetHandleByUUID(text, &found), NVML_ERROR_NOT_FOUND);
        CHECK_NUMBER(nvmlDeviceGetSerial(device, text, sizeof text), NVML_SUCCESS);
        CHECK_NUMBER(nvmlDeviceGetHandleBySerial(text, &found), NVML_SUCCESS);
        CHECK(found == device);
    }
    nvmlDevice_t none = NULL;
    CHECK_NUMBER(nvmlDeviceGetHandleByIndex_v2(7, &none), NVML_ERROR_INVALID_ARGUMENT);
    CHECK(none == NULL);
}

static void by_bus_id(nvmlDevice_t device, const char *id) {
    nvmlDevice_t found = NULL;
    CHECK_NUMBER(nvmlDeviceGetHandleByPciBusId_v2(id, &found), NVML_SUCCESS);
    CHECK(found == device);
}

static void bus_ids(void) {
    for (unsigned i = 0; i < 7; i++) {
        nvmlDevice_t device = check_device(i), none = NULL;
        nvmlPciInfo_t *pci = check_guarded(sizeof *pci);
        char wanted[32];
        CHECK_NUMBER(nvmlDeviceGetPciInfo_v3(device, pci), NVML_SUCCESS);
        snprintf(wanted, sizeof wanted, "%08X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
        CHECK_TEXT(pci->busId, wanted);
        by_bus_id(device, wanted);
        snprintf(wanted, sizeof wanted, "%04X:%02X:%02X.0", pci->domain, pci->bus, pci->device);
        CHECK_TEXT(pci->busIdLegacy, wanted);
        by_bus_id(device, wanted);
        CHECK_NUMBER(pci->domain, GS_PCI_DOMAIN);
        for (char *at = wanted; *at; at++) {
            *at = (char)tolower((unsigned char)*at);
        }
        by_bus_id(device, wanted);
        CHECK_NUMBER(nvmlDeviceGetHandleByPciBusId_v2("0000:00:00.0", &none), NVML_ERROR_NOT_FOUND);
    }
}

/* The first two versions of the struct are shorter: whatever lies behind is the caller's. */
static void old_structs(void) {
    nvmlDevice_t device = check_device(2);
    nvmlPciInfo_t now;
    size_t sizes[2] = {offsetof(nvmlPciInfo_t, pciSubSystemId), offsetof(nvmlPciInfo_t, busId)};
    CHECK_NUMBER(nvmlDeviceGetPciInfo_v3(device, &now), NVML_SUCCESS);
    for (int version = 1; version <= 2; version++) {
        size_t size = sizes[0] + (version == 2 ? sizeof(unsigned) + 4 * sizeof(unsigned) : 0);
        nvmlPciInfo_t *old = check_guarded(size);
        nvmlReturn_t result =
            version == 1 ? nvmlDeviceGetPciInfo(device, old) : nvmlDeviceGetPciInfo_v2(device, old);
        CHECK_NUMBER(result, NVML_SUCCESS);
        CHECK_TEXT(old->busIdLegacy, now.busIdLegacy);
        CHECK_NUMBER(old->bus, now.bus);
        CHECK_NUMBER(old->pciDeviceId, now.pciDeviceId);
    }
}

static void texts_fit_or_say_so(void) {
    nvmlDevice_t device = check_device(0);
    const char *name = "NVIDIA H100 80GB HBM3";
    unsigned whole = (unsigned)strlen(name) + 1;
    char *exact = check_guarded(whole), *short_by_one = check_guarded(whole - 1);
    CHECK_NUMBER(nvmlDeviceGetName(device, exact, whole), NVML_SUCCESS);
    CHECK_TEXT(exact, name);
    CHECK_NUMBER(nvmlDeviceGetName(device, short_by_one, whole - 1), NVML_ERROR_INSUFFICIENT_SIZE);
    CHECK_NUMBER(nvmlDeviceGetName(device, short_by_one, 0), NVML_ERROR_INSUFFICIENT_SIZE);
}

static void handles_that_are_none(void) {
    char elsewhere[256];
    unsigned index;
    nvmlDevice_t first = check_device(0);
    void *const bad[] = {NULL,
                         elsewhere,
                         (void *)(uintptr_t)1,
                         (char *)(void *)first + 8,
                         (char *)(void *)first - 4096,
                         (void *)UINTPTR_MAX};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_NUMBER(nvmlDeviceGetIndex(bad[i], &index), NVML_ERROR_INVALID_ARGUMENT);
    }
    CHECK_NUMBER(nvmlDeviceGetIndex(first, NULL), NVML_ERROR_INVALID_ARGUMENT);
}

static void pairs(void) {
    for (unsigned i = 0; i < 7; i++) {
        for (unsigned j = 0; j < 7; j++) {
            nvmlGpuTopologyLevel_t there = 0, back = 0;
            nvmlReturn_t result =
                nvmlDeviceGetTopologyCommonAncestor(check_device(i), check_device(j), &there);
            CHECK_NUMBER(result, NVML_SUCCESS);
            CHECK_NUMBER(
                nvmlDeviceGetTopologyCommonAncestor(check_device(j), check_device(i), &back),
                NVML_SUCCESS);
            CHECK_NUMBER(there, back);
        }
    }
}

int main(void) {
    struct gs_inventory *inventory = check_inventory("h100-80gb-hbm3", 7);
    CHECK(inventory != NULL);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    look_ups_agree();
    bus_ids();
    old_structs();
    texts_fit_or_say_so();
    handles_that_are_none();
    pairs();
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
    check_remove_inventory();
    return check_result();
}
