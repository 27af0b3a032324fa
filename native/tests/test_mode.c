/* SPDX-License-Identifier: Apache-2.0
 *
 * Modes of a board by its profile, and which CPUs are near it. */
#include "check.h"
#include "state.h"

enum { WORDS = 16, BITS = 8 * sizeof(unsigned long) };

static void modes(nvmlDevice_t device, int hopper) {
    nvmlDeviceAddressingMode_t addressing = {nvmlDeviceAddressingMode_v1, 99};
    nvmlC2cModeInfo_v1_t c2c = {99};
    nvmlEnableState_t on = NVML_FEATURE_DISABLED, active = NVML_FEATURE_ENABLED;
    nvmlComputeMode_t compute = NVML_COMPUTEMODE_COUNT;
    nvmlGpuVirtualizationMode_t virtual_ = NVML_GPU_VIRTUALIZATION_MODE_VGPU;
    unsigned number = 99, other = 99;
    CHECK_NUMBER(nvmlDeviceGetAddressingMode(device, &addressing), NVML_SUCCESS);
    CHECK_NUMBER(addressing.value, NVML_DEVICE_ADDRESSING_MODE_HMM);
    addressing.version++;
    CHECK_NUMBER(nvmlDeviceGetAddressingMode(device, &addressing),
                 NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    CHECK_NUMBER(nvmlDeviceGetC2cModeInfoV(device, &c2c),
                 hopper ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED);
    CHECK_NUMBER(c2c.isC2cEnabled, hopper ? 0 : 99);
    CHECK_NUMBER(nvmlDeviceGetPersistenceMode(device, &on), NVML_SUCCESS);
    CHECK_NUMBER(on, NVML_FEATURE_ENABLED);
    CHECK_NUMBER(nvmlDeviceGetDisplayActive(device, &active), NVML_SUCCESS);
    CHECK_NUMBER(active, NVML_FEATURE_DISABLED);
    CHECK_NUMBER(nvmlDeviceGetComputeMode(device, &compute), NVML_SUCCESS);
    CHECK_NUMBER(compute, NVML_COMPUTEMODE_DEFAULT);
    CHECK_NUMBER(nvmlDeviceGetVirtualizationMode(device, &virtual_), NVML_SUCCESS);
    CHECK_NUMBER(virtual_, NVML_GPU_VIRTUALIZATION_MODE_NONE);
    CHECK_NUMBER(nvmlDeviceGetBusType(device, &number), NVML_SUCCESS);
    CHECK_NUMBER(number, NVML_BUS_TYPE_PCIE);
    CHECK_NUMBER(nvmlDeviceGetGspFirmwareMode(device, &number, &other), NVML_SUCCESS);
    CHECK_NUMBER(number, 1);
    char version[NVML_GSP_FIRMWARE_VERSION_BUF_SIZE];
    CHECK_NUMBER(nvmlDeviceGetGspFirmwareVersion(device, version), NVML_SUCCESS);
    CHECK_TEXT(version, "535.261.03");
    CHECK_NUMBER(
        nvmlDeviceGetAPIRestriction(device, NVML_RESTRICTED_API_SET_APPLICATION_CLOCKS, &on),
        NVML_SUCCESS);
    CHECK_NUMBER(nvmlDeviceGetAPIRestriction(device, NVML_RESTRICTED_API_COUNT, &on),
                 NVML_ERROR_INVALID_ARGUMENT);
}

/* As many bits as there are CPUs, none beyond; in a buffer of one word only those that fit. */
static void cpus(nvmlDevice_t device) {
    unsigned long set[WORDS], scoped[WORDS], *one = check_guarded(sizeof *one), nodes = 99;
    long online = sysconf(_SC_NPROCESSORS_ONLN), bits = 0;
    CHECK_NUMBER(nvmlDeviceGetCpuAffinity(device, WORDS, set), NVML_SUCCESS);
    CHECK_NUMBER(
        nvmlDeviceGetCpuAffinityWithinScope(device, WORDS, scoped, NVML_AFFINITY_SCOPE_SOCKET),
        NVML_SUCCESS);
    CHECK(memcmp(set, scoped, sizeof set) == 0);
    for (unsigned bit = 0; bit < WORDS * BITS; bit++) {
        bits += set[bit / BITS] >> bit % BITS & 1;
    }
    CHECK_NUMBER(bits, online);
    CHECK_NUMBER(nvmlDeviceGetCpuAffinity(device, 1, one), NVML_SUCCESS);
    CHECK_NUMBER(*one, set[0]);
    CHECK_NUMBER(nvmlDeviceGetCpuAffinity(device, 0, set), NVML_ERROR_INVALID_ARGUMENT);
    CHECK_NUMBER(nvmlDeviceGetCpuAffinityWithinScope(device, WORDS, set, 2),
                 NVML_ERROR_INVALID_ARGUMENT);
    CHECK_NUMBER(nvmlDeviceGetMemoryAffinity(device, 1, &nodes, NVML_AFFINITY_SCOPE_NODE),
                 NVML_SUCCESS);
    CHECK_NUMBER(nodes, 1);
}

static void lists(void) {
    static const struct {
        const char *text;
        unsigned long first, second;
    } cases[] = {{"0", 1, 0},
                 {"0-2,5,64-65", 0x27, 3},
                 {"63-200", 1ul << 63, ~0ul},
                 {"", 0, 0},
                 {"x", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned long *set = check_guarded(2 * sizeof *set);
        memset(set, 0, 2 * sizeof *set);
        gs_parse_cpus(cases[i].text, 2, set);
        CHECK_NUMBER(set[0], cases[i].first);
        CHECK_NUMBER(set[1], cases[i].second);
    }
}

int main(void) {
    lists();
    static const char *const profiles[] = {"a100-sxm4-40gb", "h100-80gb-hbm3", "tesla-t4"};
    setenv("NVML_MOCK_DRIVER_VERSION", "535.261.03", 1);
    for (unsigned i = 0; i < 3; i++) {
        setenv("NVML_MOCK_PROFILE", profiles[i], 1);
        CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
        modes(check_device(2), i == 1);
        cpus(check_device(2));
        CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
    }
    return check_result();
}
