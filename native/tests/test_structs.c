/* SPDX-License-Identifier: Apache-2.0
 *
 * Structs that begin with their version: only the exact one is taken, and else nothing is written. Which
 * functions have one comes from the header. */
#include "calls.h"

#include "check.h"

static char scratch[CALL_POINTERS][32768];

/* Calls with the versioned struct in a buffer that ends where the struct ends. */
static nvmlReturn_t call(const struct call *one, nvmlDevice_t device, void *buffer,
                         unsigned version) {
    void *pointers[CALL_POINTERS];
    for (unsigned i = 0; i < one->pointers; i++) {
        memset(scratch[i], 0, sizeof scratch[i]);
        pointers[i] = (int)i == one->versioned ? buffer : scratch[i];
    }
    *(unsigned *)buffer = version;
    return one->call(device, pointers);
}

static void wrong_version(const struct call *one, nvmlDevice_t device, unsigned version) {
    char *buffer = check_guarded(one->size);
    nvmlReturn_t result = call(one, device, buffer, version);
    check_count++;
    if (result != NVML_ERROR_ARGUMENT_VERSION_MISMATCH || *(unsigned *)(void *)buffer != version ||
        !check_untouched(buffer + 4, one->size - 4)) {
        check_failures++;
        fprintf(stderr, "%s with version 0x%08x: %d, wanted 25 and nothing written\n", one->name,
                version, result);
    }
}

static void exact_only(const struct call *one, nvmlDevice_t device) {
    unsigned right = one->version, size = right & 0xFFFFFF, number = right >> 24;
    const unsigned wrong[] = {0,          1,         number,           size,
                              right + 1,  right - 1, right | 1u << 31, 0xFFu << 24 | size,
                              0xA5A5A5A5, 0xFFFFFFFF};
    CHECK_NUMBER(size, one->size);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        wrong_version(one, device, wrong[i]);
    }
    char *buffer = check_guarded(one->size);
    memset(buffer, 0, one->size);
    CHECK(call(one, device, buffer, right) != NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    CHECK_NUMBER(*(unsigned *)(void *)buffer, right);
}

/* An older version of a struct is shorter: what lies behind it is the caller's. */
static void older_fabric(nvmlDevice_t device) {
    nvmlGpuFabricInfo_v2_t *old = check_guarded(sizeof *old);
    old->version = nvmlGpuFabricInfo_v2;
    CHECK(sizeof *old < sizeof(nvmlGpuFabricInfoV_t));
    CHECK_NUMBER(nvmlDeviceGetGpuFabricInfoV(device, (nvmlGpuFabricInfoV_t *)(void *)old),
                 NVML_SUCCESS);
    CHECK_NUMBER(old->version, nvmlGpuFabricInfo_v2);
    CHECK_NUMBER(old->state, NVML_GPU_FABRIC_STATE_COMPLETED);
    CHECK_NUMBER(old->status, NVML_SUCCESS);
}

/* What is told beside the version: the same as without one. */
static void values(nvmlDevice_t device) {
    nvmlTemperature_t *hot = check_guarded(sizeof *hot);
    *hot = (nvmlTemperature_t){nvmlTemperature_v1, NVML_TEMPERATURE_GPU, -1};
    unsigned plain = 0;
    CHECK_NUMBER(nvmlDeviceGetTemperatureV(device, hot), NVML_SUCCESS);
    CHECK_NUMBER(nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &plain), NVML_SUCCESS);
    CHECK_NUMBER(hot->temperature, plain);

    nvmlPciInfoExt_t *extended = check_guarded(sizeof *extended);
    nvmlPciInfo_t pci;
    extended->version = nvmlPciInfoExt_v1;
    CHECK_NUMBER(nvmlDeviceGetPciInfoExt(device, extended), NVML_SUCCESS);
    CHECK_NUMBER(nvmlDeviceGetPciInfo_v3(device, &pci), NVML_SUCCESS);
    CHECK_TEXT(extended->busId, pci.busId);
    CHECK_NUMBER(extended->pciDeviceId, pci.pciDeviceId);

    nvmlUUID_t *uuid = check_guarded(sizeof *uuid);
    nvmlDevice_t found = NULL;
    uuid->version = nvmlUUID_v1;
    uuid->type = NVML_UUID_TYPE_ASCII;
    CHECK_NUMBER(nvmlDeviceGetUUID(device, uuid->value.str, sizeof uuid->value.str), NVML_SUCCESS);
    CHECK_NUMBER(nvmlDeviceGetHandleByUUIDV(uuid, &found), NVML_SUCCESS);
    CHECK(found == device);
    memset(uuid->value.str, 'G', sizeof uuid->value.str); /* no end */
    CHECK_NUMBER(nvmlDeviceGetHandleByUUIDV(uuid, &found), NVML_ERROR_INVALID_ARGUMENT);

    nvmlSystemDriverBranchInfo_t *branch = check_guarded(sizeof *branch);
    branch->version = nvmlSystemDriverBranchInfo_v1;
    CHECK_NUMBER(nvmlSystemGetDriverBranch(branch, sizeof branch->branch), NVML_SUCCESS);
    CHECK_TEXT(branch->branch, "r550_00");
}

int main(void) {
    unsigned found = 0;
    check_inventory("h100-80gb-hbm3", 3);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    nvmlDevice_t device = check_device(1);
    for (unsigned i = 0; i < CALLS; i++) {
        if (calls[i].versioned >= 0) {
            exact_only(&calls[i], device);
            found++;
        }
    }
    CHECK(found >= 5);
    older_fabric(device);
    values(device);
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
    check_remove_inventory();
    return check_result();
}
