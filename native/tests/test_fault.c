/* SPDX-License-Identifier: Apache-2.0
 *
 * Injected faults: how many calls of a process get one, how long they take, and a loss that begins later. */
#include <sys/wait.h>
#include <time.h>

#include "check.h"
#include "state.h"
#include "writer.h"

static struct gs_inventory *inventory;
static nvmlDevice_t device;
static uint32_t last_id;

static void inject(const char *function, nvmlReturn_t code, uint32_t count, uint64_t delay_ns) {
    struct gs_gpu *gpu = gs_gpu_of(inventory, 1);
    struct gs_state state;
    gs_read_state(gpu, &state);
    state.faults[2] = (struct gs_fault){gs_function_id(function), (int32_t)code, 0, 0};
    state.faults[0].function = state.faults[1].function =
        GS_NO_FUNCTION; /* free places end no list */
    state.fault_details[2] = (struct gs_fault_detail){++last_id, count, delay_ns};
    gs_write_state(gpu, &state);
}

static unsigned failures_of(unsigned calls) {
    unsigned failed = 0, index;
    for (unsigned i = 0; i < calls; i++) {
        failed += nvmlDeviceGetIndex(device, &index) == NVML_ERROR_TIMEOUT;
    }
    return failed;
}

static void counts(void) {
    static const unsigned wanted[] = {1, 3, 70};
    for (unsigned i = 0; i < 3; i++) {
        inject("nvmlDeviceGetIndex", NVML_ERROR_TIMEOUT, wanted[i], 0);
        CHECK_NUMBER(failures_of(100), wanted[i]);
        CHECK_NUMBER(failures_of(100), 0);
    }
    inject("nvmlDeviceGetIndex", NVML_ERROR_TIMEOUT, 0, 0);
    CHECK_NUMBER(failures_of(100), 100);
    last_id += 1023; /* shares its counter with an old one */
    inject("nvmlDeviceGetIndex", NVML_ERROR_TIMEOUT, 5, 0);
    CHECK_NUMBER(failures_of(100), 5);
    inject("nvmlDeviceGetIndex", NVML_ERROR_TIMEOUT, 2, 0);
    pid_t child = fork();
    if (!child) {
        _exit((int)failures_of(10));
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK_NUMBER(WEXITSTATUS(status), 2);
    CHECK_NUMBER(failures_of(10), 2);
}

static long long milliseconds_of_a_call(nvmlReturn_t wanted) {
    unsigned index;
    uint64_t start = gs_now_ns();
    CHECK_NUMBER(nvmlDeviceGetIndex(device, &index), wanted);
    return (long long)((gs_now_ns() - start) / 1000000u);
}

static void delays(void) {
    inject("nvmlDeviceGetIndex", NVML_SUCCESS, 0, 30000000);
    CHECK(milliseconds_of_a_call(NVML_SUCCESS) >= 30);
    inject("nvmlDeviceGetIndex", NVML_ERROR_UNKNOWN, 1, 120000000);
    CHECK(milliseconds_of_a_call(NVML_ERROR_UNKNOWN) >= 120);
    CHECK(milliseconds_of_a_call(NVML_SUCCESS) < 30);
}

static void held_back(void) {
    struct gs_gpu *gpu = gs_gpu_of(inventory, 1);
    struct gs_state state;
    unsigned index;
    gs_read_state(gpu, &state);
    state.lost = 1;
    state.lost_from_ns = gs_now_ns() + 200000000u;
    gs_write_state(gpu, &state);
    CHECK_NUMBER(nvmlDeviceGetIndex(device, &index), NVML_SUCCESS);
    struct timespec period = {0, 250000000};
    nanosleep(&period, NULL);
    CHECK_NUMBER(nvmlDeviceGetIndex(device, &index), NVML_ERROR_GPU_IS_LOST);
    state.lost_from_ns = 0;
    gs_write_state(gpu, &state);
    CHECK_NUMBER(nvmlDeviceGetIndex(device, &index), NVML_ERROR_GPU_IS_LOST);
    state.lost = 0;
    gs_write_state(gpu, &state);
}

/* An init with a fault is not counted; one of the other names has its own. */
static void inits(void) {
    struct gs_fault faults[GS_FAULTS] = {
        {gs_function_id("nvmlInit_v2"), NVML_ERROR_DRIVER_NOT_LOADED, 0, 0}};
    struct gs_fault_detail details[GS_FAULTS] = {{++last_id, 1, 0}};
    gs_write_node_faults(inventory, faults, details);
    CHECK_NUMBER(nvmlInit_v2(), NVML_ERROR_DRIVER_NOT_LOADED);
    CHECK_NUMBER(nvmlInitWithFlags(0), NVML_SUCCESS);
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
    unsigned index;
    CHECK_NUMBER(nvmlDeviceGetIndex(device, &index), NVML_SUCCESS);
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
    CHECK_NUMBER(nvmlDeviceGetIndex(device, &index), NVML_ERROR_UNINITIALIZED);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
}

/* The node's list: places change one by one, and what is behind a freed one is still found. */
static void node_list(void) {
    char version[80];
    struct gs_fault faults[GS_FAULTS] = {
        {gs_function_id("nvmlSystemGetNVMLVersion"), NVML_ERROR_UNKNOWN, 0, 0},
        {gs_function_id("nvmlSystemGetDriverVersion"), NVML_ERROR_MEMORY, 0, 0}};
    struct gs_fault_detail details[GS_FAULTS] = {{++last_id, 0, 0}, {++last_id, 0, 0}};
    gs_write_node_faults(inventory, faults, details);
    faults[0] = (struct gs_fault){0};
    details[0] = (struct gs_fault_detail){0};
    gs_write_node_faults(inventory, faults, details);
    CHECK_NUMBER(nvmlSystemGetNVMLVersion(version, sizeof version), NVML_SUCCESS);
    CHECK_NUMBER(nvmlSystemGetDriverVersion(version, sizeof version), NVML_ERROR_MEMORY);
    CHECK_NUMBER(inventory->header.faults[0].function, GS_NO_FUNCTION);
    CHECK_NUMBER(inventory->header.faults[2].function, 0);
}

int main(void) {
    inventory = check_inventory("a100-sxm4-40gb", 2);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    device = check_device(1);
    counts();
    delays();
    held_back();
    inits();
    node_list();
    check_remove_inventory();
    return check_result();
}
