/* SPDX-License-Identifier: Apache-2.0
 *
 * Parsing: what is taken, what is refused, and the words of each refusal. */
#include "check.h"
#include "profile.h"
#include "spec.h"

static void refused(enum gs_key key, const char *value, const char *text) {
    struct gs_spec spec, before;
    struct gs_error error = {""};
    gs_spec_default(&spec);
    before = spec;
    CHECK_NUMBER(gs_spec_set(&spec, key, "HERE", value, &error), -1);
    CHECK_TEXT(error.text, text);
    CHECK(memcmp(&spec, &before, sizeof spec) == 0);
}

static struct gs_spec taken(enum gs_key key, const char *value) {
    struct gs_spec spec;
    struct gs_error error = {""};
    gs_spec_default(&spec);
    CHECK_NUMBER(gs_spec_set(&spec, key, "HERE", value, &error), 0);
    CHECK_TEXT(error.text, "");
    return spec;
}

static void numbers(void) {
    static const char *const counts[] = {
        "four", "-1", "65", "4.5", "1e3", "", " 4", "4 ", "+4", "0x4", "99999999999999999999"};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        char text[200];
        snprintf(text, sizeof text, "HERE: not a number of GPUs, got %s; use 0 to 64", counts[i]);
        refused(GS_KEY_COUNT, counts[i], text);
    }
    CHECK_NUMBER(taken(GS_KEY_COUNT, "0").count, 0);
    CHECK_NUMBER(taken(GS_KEY_COUNT, "7").count, 7);
    CHECK_NUMBER(taken(GS_KEY_COUNT, "64").count, 64);
    refused(GS_KEY_MEMORY_MIB, "0", "HERE: not a memory size in MiB, got 0; use 1 to 16777216");
    refused(GS_KEY_MEMORY_MIB, "16777217",
            "HERE: not a memory size in MiB, got 16777217; use 1 to 16777216");
    CHECK_NUMBER(taken(GS_KEY_MEMORY_MIB, "16777216").memory_mib, 16777216);
}

static void texts(void) {
    char long_name[97];
    memset(long_name, 'n', 96);
    long_name[96] = '\0';
    char text[300];
    snprintf(text, sizeof text,
             "HERE: not a device name, got %s; use 1 to 95 printable ASCII characters", long_name);
    refused(GS_KEY_NAME, long_name, text);
    refused(GS_KEY_NAME, "",
            "HERE: not a device name, got ; use 1 to 95 printable ASCII characters");
    refused(GS_KEY_NAME, "caf\xC3\xA9",
            "HERE: not a device name, got caf??; use 1 to 95 printable ASCII characters");
    refused(GS_KEY_NAME, "Fake (nvgpu)",
            "HERE: a name that NVIDIA's tools take for an integrated GPU, got Fake (nvgpu); "
            "leave out \"(nvgpu)\" and \"NVIDIA Thor\"");
    long_name[95] = '\0';
    CHECK_TEXT(taken(GS_KEY_NAME, long_name).name, long_name);
    CHECK_TEXT(taken(GS_KEY_NAME, "TITAN X (Pascal)").name, "TITAN X (Pascal)");
    refused(GS_KEY_PROFILE, "a100",
            "HERE: no such profile, got a100; use one of a100-sxm4-40gb, h100-80gb-hbm3, tesla-t4");
    CHECK_TEXT(taken(GS_KEY_PROFILE, "tesla-t4").profile, "tesla-t4");
    static const char *const versions[] = {"550",       "550.",   ".163",    "550..1",
                                           "550.1.2.3", "v550.1", "550.1-rc"};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        snprintf(text, sizeof text,
                 "HERE: not a driver version, got %s; use two or three numbers with dots, such as "
                 "550.163.01",
                 versions[i]);
        refused(GS_KEY_DRIVER_VERSION, versions[i], text);
    }
    CHECK_TEXT(taken(GS_KEY_DRIVER_VERSION, "535.261.03").driver_version, "535.261.03");
    refused(GS_KEY_UUID_FORMAT, "RFC4122",
            "HERE: not a UUID format, got RFC4122; use rfc4122 or plain");
    CHECK_NUMBER(taken(GS_KEY_UUID_FORMAT, "plain").uuid_format, GS_UUID_PLAIN);
}

static void environment(void) {
    struct gs_spec spec;
    struct gs_error error = {""};
    gs_spec_default(&spec);
    CHECK_NUMBER(spec.count, 4);
    CHECK_TEXT(spec.profile, "a100-sxm4-40gb");
    setenv("NVML_MOCK_DEVICE_COUNT", "5", 1);
    setenv("NVML_MOCK_MEMORY_SIZE_MB", "12345", 1);
    setenv("NVML_MOCK_DEVICE_NAME", "", 1); /* set but empty counts as unset */
    CHECK_NUMBER(gs_spec_from_environment(&spec, &error), 2);
    CHECK_NUMBER(spec.count, 5);
    CHECK_NUMBER(spec.memory_mib, 12345);
    CHECK_TEXT(spec.name, "");
    setenv("NVML_MOCK_UUID_FORMAT", "x", 1);
    CHECK_NUMBER(gs_spec_from_environment(&spec, &error), -1);
    CHECK_TEXT(error.text, "NVML_MOCK_UUID_FORMAT: not a UUID format, got x; use rfc4122 or plain");
}

static void drivers(void) {
    CHECK_NUMBER(gs_cuda_version_of_driver("535.261.03"), 12020);
    CHECK_NUMBER(gs_cuda_version_of_driver("550.163.01"), 12040);
    CHECK_NUMBER(gs_cuda_version_of_driver("570.148.08"),
                 12080); /* this and the next two: as captured */
    CHECK_NUMBER(gs_cuda_version_of_driver("580.105.08"), 13000);
    CHECK_NUMBER(gs_cuda_version_of_driver("595.91.07"), 13020);
}

int main(void) {
    numbers();
    texts();
    environment();
    drivers();
    return check_result();
}
