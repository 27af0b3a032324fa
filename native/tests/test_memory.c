/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory adds up for every profile and override; a versioned struct is only taken by its exact version. */
#include "check.h"

static void adds_up(nvmlDevice_t device, unsigned long long total_mib) {
    nvmlMemory_t first;
    nvmlMemory_v2_t *second = check_guarded(sizeof *second);
    second->version = nvmlMemory_v2;
    CHECK_NUMBER(nvmlDeviceGetMemoryInfo(device, &first), NVML_SUCCESS);
    CHECK_NUMBER(first.total, total_mib << 20);
    CHECK_NUMBER(first.used + first.free, first.total);
    CHECK_NUMBER(nvmlDeviceGetMemoryInfo_v2(device, second), NVML_SUCCESS);
    CHECK_NUMBER(second->total, first.total);
    CHECK_NUMBER(second->used + second->free + second->reserved, second->total);
    CHECK(second->reserved > 0);
}

static void versions(nvmlDevice_t device) {
    static const unsigned wrong[] = {2, 0, 1, 0x03000028, 0x02000020, 0x01000028, 0xFFFFFFFF};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        nvmlMemory_v2_t *memory = check_guarded(sizeof *memory);
        memory->version = wrong[i];
        CHECK_NUMBER(nvmlDeviceGetMemoryInfo_v2(device, memory),
                     NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
        CHECK_NUMBER(memory->version, wrong[i]);
        CHECK(check_untouched((char *)memory + 8, sizeof *memory - 8));
    }
    CHECK_NUMBER(nvmlMemory_v2, 0x02000028);
}

int main(void) {
    static const struct {
        const char *profile, *override;
        unsigned long long mib;
    } cases[] = {{"a100-sxm4-40gb", "", 40960},    {"h100-80gb-hbm3", "", 81559},
                 {"tesla-t4", "", 15360},          {"tesla-t4", "1", 1},
                 {"h100-80gb-hbm3", "7777", 7777}, {"a100-sxm4-40gb", "16777216", 16777216}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("NVML_MOCK_PROFILE", cases[i].profile, 1);
        setenv("NVML_MOCK_MEMORY_SIZE_MB", cases[i].override, 1);
        CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
        adds_up(check_device(3), cases[i].mib);
        versions(check_device(0));
        CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
    }
    return check_result();
}
