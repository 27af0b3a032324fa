/* SPDX-License-Identifier: Apache-2.0
 *
 * A process with an inventory: the environment over the file, files of no use, upgrades under a running client,
 * and forks while another thread is in init. */
#include <pthread.h>
#include <sys/wait.h>

#include "check.h"

static unsigned count(void) {
    unsigned number = 999;
    CHECK_NUMBER(nvmlDeviceGetCount_v2(&number), NVML_SUCCESS);
    return number;
}

static void file(void) {
    char name[96];
    struct gs_inventory *inventory = check_inventory("tesla-t4", 5);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    CHECK_NUMBER(count(), 5);
    CHECK_NUMBER(nvmlDeviceGetName(check_device(4), name, sizeof name), NVML_SUCCESS);
    CHECK_TEXT(name, "Tesla T4");
    /* The environment changes this process's static fields, the file's state stays. */
    struct gs_state *state = &inventory->gpus[1].state[gs_flip(&inventory->gpus[1].state_flip)];
    unsigned power;
    state->power_limit = 65000;
    setenv("NVML_MOCK_DEVICE_NAME", "Mine", 1);
    setenv("NVML_MOCK_DEVICE_COUNT", "6", 1);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    CHECK_NUMBER(count(), 6);
    CHECK_NUMBER(nvmlDeviceGetName(check_device(1), name, sizeof name), NVML_SUCCESS);
    CHECK_TEXT(name, "Mine");
    CHECK_NUMBER(nvmlDeviceGetPowerManagementLimit(check_device(1), &power), NVML_SUCCESS);
    CHECK_NUMBER(power, 65000);
    CHECK_NUMBER(nvmlDeviceGetPowerManagementLimit(check_device(5), &power), NVML_SUCCESS);
    CHECK_NUMBER(power, 70000);
    unsetenv("NVML_MOCK_DEVICE_NAME");
    unsetenv("NVML_MOCK_DEVICE_COUNT");
    nvmlShutdown();
    nvmlShutdown();
    /* A file that cannot be used is no reason to invent GPUs. */
    inventory->header.major = 9;
    CHECK_NUMBER(nvmlInit_v2(), NVML_ERROR_DRIVER_NOT_LOADED);
    inventory->header.major = GS_MAJOR;
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    nvmlShutdown();
    check_remove_inventory();
}

static int child_status(pid_t child) {
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

/* The other thread may hold the lock at the moment of the fork: the child must not wait for it. */
static void forks(void) {
    pthread_t thread;
    int running = 1;
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    CHECK_NUMBER(pthread_create(&thread, NULL, check_init_loop, &running), 0);
    for (int i = 0; i < 50; i++) {
        pid_t child = fork();
        if (child == 0) {
            unsigned number = 0;
            alarm(10);
            int fine = nvmlInit_v2() == NVML_SUCCESS &&
                       nvmlDeviceGetCount_v2(&number) == NVML_SUCCESS && number == 4 &&
                       nvmlShutdown() == NVML_SUCCESS;
            _exit(fine ? 0 : 1);
        }
        CHECK_NUMBER(child_status(child), 0);
    }
    __atomic_store_n(&running, 0, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
}

/* An upgrade under a client that holds all GPUs: what it holds stays valid, what was taken away is lost. */
static void upgrade(void) {
    struct gs_inventory *inventory = check_inventory("a100-sxm4-40gb", 3);
    struct gs_inventory *built = calloc(1, gs_inventory_size());
    struct gs_spec spec = inventory->header.node[0].spec;
    char name[96], uuid[96], again[96];
    nvmlMemory_t memory;
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    nvmlDevice_t first = check_device(0), last = check_device(2);
    CHECK_NUMBER(nvmlDeviceGetUUID(first, uuid, sizeof uuid), NVML_SUCCESS);
    spec.count = 2;
    spec.memory_mib = 5000;
    CHECK_NUMBER(gs_build(&spec, built, gs_inventory_size(), NULL), 0);
    CHECK_NUMBER(gs_apply(inventory, built, "boot", 0), 3);
    CHECK_NUMBER(nvmlDeviceGetName(last, name, sizeof name), NVML_ERROR_GPU_IS_LOST);
    CHECK_NUMBER(nvmlDeviceGetMemoryInfo(first, &memory), NVML_SUCCESS);
    CHECK_NUMBER(memory.total >> 20, 40960); /* as this client found it */
    CHECK_NUMBER(count(), 3);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    CHECK_NUMBER(count(), 2);
    CHECK_NUMBER(nvmlDeviceGetMemoryInfo(first, &memory), NVML_SUCCESS);
    CHECK_NUMBER(memory.total >> 20, 5000);
    CHECK_NUMBER(nvmlDeviceGetUUID(first, again, sizeof again), NVML_SUCCESS);
    CHECK_TEXT(again, uuid);
    CHECK_NUMBER(nvmlDeviceGetName(last, name, sizeof name), NVML_ERROR_INVALID_ARGUMENT);
    nvmlShutdown();
    nvmlShutdown();
    free(built);
    check_remove_inventory();
}

int main(void) {
    file();
    upgrade();
    forks();
    return check_result();
}
