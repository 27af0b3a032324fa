/* SPDX-License-Identifier: Apache-2.0
 *
 * Life of a client: before the first init, nested inits, the environment read anew, fork, 0 and 64 GPUs. */
#include <pthread.h>
#include <sys/wait.h>

#include "check.h"

static unsigned count_now(void) {
    unsigned count = 99;
    CHECK_NUMBER(nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
    return count;
}

static void before_the_first_init(void) {
    unsigned count = 99;
    CHECK_NUMBER(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
    CHECK_NUMBER(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
    CHECK_NUMBER(count, 99);
    CHECK_TEXT(nvmlErrorString(NVML_ERROR_UNINITIALIZED), "Uninitialized");
}

static void three_names_one_count(void) {
    setenv("NVML_MOCK_DEVICE_COUNT", "3", 1);
    CHECK_NUMBER(nvmlInit(), NVML_SUCCESS);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    CHECK_NUMBER(nvmlInitWithFlags(0), NVML_SUCCESS);
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
    CHECK_NUMBER(count_now(), 3);
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
    unsigned count;
    CHECK_NUMBER(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
    CHECK_NUMBER(nvmlShutdown(),
                 NVML_SUCCESS); /* one too many, after an init: no error, as nvml.h says */
}

static void environment_each_time(void) {
    static const struct {
        const char *text;
        int result;
        unsigned count;
    } cases[] = {{"0", NVML_SUCCESS, 0},
                 {"64", NVML_SUCCESS, 64},
                 {"7", NVML_SUCCESS, 7},
                 {"", NVML_SUCCESS, 4},
                 {"four", NVML_ERROR_INVALID_ARGUMENT, 0},
                 {"-1", NVML_ERROR_INVALID_ARGUMENT, 0},
                 {"65", NVML_ERROR_INVALID_ARGUMENT, 0},
                 {"4.5", NVML_ERROR_INVALID_ARGUMENT, 0},
                 {"1e3", NVML_ERROR_INVALID_ARGUMENT, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("NVML_MOCK_DEVICE_COUNT", cases[i].text, 1);
        CHECK_NUMBER(nvmlInit_v2(), cases[i].result);
        if (cases[i].result == NVML_SUCCESS) {
            CHECK_NUMBER(count_now(), cases[i].count);
            CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
        } else {
            unsigned count;
            CHECK_NUMBER(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
        }
    }
}

/* Another count while the first client still runs: what it holds stays valid, the next init sees the new one. */
static void a_nested_init_sees_the_new_count(void) {
    setenv("NVML_MOCK_DEVICE_COUNT", "2", 1);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    nvmlDevice_t second = check_device(1);
    setenv("NVML_MOCK_DEVICE_COUNT", "5", 1);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    CHECK_NUMBER(count_now(), 5);
    CHECK(check_device(1) == second);
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
}

/* Another thread of the client comes and goes: what this one is told meanwhile does not change. */
static void getters_beside_nested_inits(void) {
    pthread_t thread;
    unsigned first = 0, now = 0, count = 0, wrong = 0;
    int running = 1;
    setenv("NVML_MOCK_DEVICE_COUNT", "4", 1);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    nvmlDevice_t device = check_device(1);
    CHECK_NUMBER(nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &first), NVML_SUCCESS);
    CHECK_NUMBER(pthread_create(&thread, NULL, check_init_loop, &running), 0);
    for (unsigned i = 0; i < 6000000; i++) {
        wrong += nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &now) || now != first;
        wrong += nvmlDeviceGetCount_v2(&count) || count != 4;
    }
    __atomic_store_n(&running, 0, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    CHECK_NUMBER(wrong, 0);
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
}

static void fork_after_init(void) {
    setenv("NVML_MOCK_DEVICE_COUNT", "6", 1);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    pid_t child = fork();
    if (!child) {
        unsigned count = 0;
        alarm(10);
        _exit(nvmlInit_v2() || nvmlDeviceGetCount_v2(&count) || count != 6 || nvmlShutdown());
    }
    int status = -1;
    CHECK_NUMBER(waitpid(child, &status, 0), child);
    CHECK_NUMBER(status, 0);
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
}

static void many_times(void) {
    const char *text = nvmlErrorString(NVML_ERROR_NOT_SUPPORTED);
    for (int i = 0; i < 1000; i++) {
        if (nvmlInit_v2() || count_now() != 6 || nvmlShutdown()) {
            CHECK_NUMBER(i, 1000);
            return;
        }
    }
    CHECK_TEXT(text, "Not Supported");
}

static void files_that_are_no_inventory(void) {
    static const struct {
        const char *content;
        int result;
    } cases[] = {
        {"", NVML_ERROR_INVALID_ARGUMENT},
        {"GPUSIM\r\n", NVML_ERROR_INVALID_ARGUMENT},
        {"something else that is longer than a magic number", NVML_ERROR_INVALID_ARGUMENT}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[] = "/tmp/gpu-sim-test-XXXXXX";
        int file = mkstemp(path);
        CHECK(write(file, cases[i].content, strlen(cases[i].content)) >= 0);
        close(file);
        setenv("NVML_MOCK_INVENTORY", path, 1);
        CHECK(nvmlInit_v2() != NVML_SUCCESS);
        unlink(path);
    }
    unsetenv("NVML_MOCK_INVENTORY");
}

int main(void) {
    before_the_first_init();
    three_names_one_count();
    environment_each_time();
    a_nested_init_sees_the_new_count();
    getters_beside_nested_inits();
    fork_after_init();
    many_times();
    files_that_are_no_inventory();
    return check_result();
}
