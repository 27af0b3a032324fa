/* SPDX-License-Identifier: Apache-2.0
 *
 * UUIDs as text and as 16 bytes: shaped as RFC 4122 says, and every form of look-up finds the same handle. */
#include "check.h"

static void both_forms(unsigned index) {
    nvmlDevice_t device = check_device(index), other = NULL;
    char text[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
    unsigned char bytes[16];
    CHECK_NUMBER(nvmlDeviceGetUUID(device, text, sizeof text), NVML_SUCCESS);
    nvmlUUID_t uuid = {nvmlUUID_v1, NVML_UUID_TYPE_ASCII, {""}};
    strcpy(uuid.value.str, text);
    other = NULL;
    CHECK_NUMBER(nvmlDeviceGetHandleByUUIDV(&uuid, &other), NVML_SUCCESS);
    CHECK(other == device);
    CHECK_NUMBER(sscanf(text,
                        "GPU-%2hhx%2hhx%2hhx%2hhx-%2hhx%2hhx-%2hhx%2hhx-%2hhx%2hhx-%2hhx%2hhx%2hhx%"
                        "2hhx%2hhx%2hhx",
                        &bytes[0], &bytes[1], &bytes[2], &bytes[3], &bytes[4], &bytes[5], &bytes[6],
                        &bytes[7], &bytes[8], &bytes[9], &bytes[10], &bytes[11], &bytes[12],
                        &bytes[13], &bytes[14], &bytes[15]),
                 16);
    CHECK_NUMBER(bytes[6] >> 4, 5); /* version 5 … */
    CHECK_NUMBER(bytes[8] >> 6, 2); /* … of RFC 4122 */
    uuid.type = NVML_UUID_TYPE_BINARY;
    memcpy(uuid.value.bytes, bytes, sizeof bytes);
    other = NULL;
    CHECK_NUMBER(nvmlDeviceGetHandleByUUIDV(&uuid, &other), NVML_SUCCESS);
    CHECK(other == device);
    bytes[15] ^= 1;
    memcpy(uuid.value.bytes, bytes, sizeof bytes);
    CHECK_NUMBER(nvmlDeviceGetHandleByUUIDV(&uuid, &other), NVML_ERROR_NOT_FOUND);
}

static void wrong(void) {
    nvmlDevice_t device = NULL;
    nvmlUUID_t uuid = {nvmlUUID_v1 + 1, NVML_UUID_TYPE_ASCII, {""}};
    CHECK_NUMBER(nvmlDeviceGetHandleByUUIDV(&uuid, &device), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    uuid.version = nvmlUUID_v1;
    uuid.type = 77;
    CHECK_NUMBER(nvmlDeviceGetHandleByUUIDV(&uuid, &device), NVML_ERROR_INVALID_ARGUMENT);
    uuid.type = NVML_UUID_TYPE_ASCII;
    memset(uuid.value.str, 'x', sizeof uuid.value.str); /* no end */
    CHECK_NUMBER(nvmlDeviceGetHandleByUUIDV(&uuid, &device), NVML_ERROR_INVALID_ARGUMENT);
    CHECK_NUMBER(nvmlDeviceGetHandleByUUID("GPU-0", &device), NVML_ERROR_NOT_FOUND);
    CHECK(device == NULL);
}

int main(void) {
    static const char *const counts[] = {"1", "3", "64"};
    for (unsigned i = 0; i < 3; i++) {
        setenv("NVML_MOCK_DEVICE_COUNT", counts[i], 1);
        CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
        for (unsigned index = 0; index < (unsigned)atoi(counts[i]); index++) {
            both_forms(index);
        }
        wrong();
        CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
    }
    setenv("NVML_MOCK_UUID_FORMAT", "plain", 1);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    char text[96];
    nvmlDevice_t found = NULL;
    CHECK_NUMBER(nvmlDeviceGetUUID(check_device(2), text, sizeof text), NVML_SUCCESS);
    CHECK_TEXT(text, "mock-gpu-2");
    CHECK_NUMBER(nvmlDeviceGetHandleByUUID("mock-gpu-2", &found), NVML_SUCCESS);
    CHECK(found == check_device(2));
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
    return check_result();
}
