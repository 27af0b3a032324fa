/* SPDX-License-Identifier: Apache-2.0
 *
 * Readings of a running board: they agree with each other, keep to limits, and counters only grow. */
#include "check.h"

static struct gs_inventory *inventory;
static nvmlDevice_t device;

static struct gs_state *state(void) {
    return &inventory->gpus[1].state[gs_flip(&inventory->gpus[1].state_flip)];
}

static unsigned power_now(void) {
    unsigned power = 0;
    CHECK_NUMBER(nvmlDeviceGetPowerUsage(device, &power), NVML_SUCCESS);
    return power;
}

static unsigned temperature_now(void) {
    unsigned temperature = 0;
    CHECK_NUMBER(nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &temperature),
                 NVML_SUCCESS);
    return temperature;
}

static unsigned long long reasons_now(void) {
    unsigned long long reasons = 99;
    CHECK_NUMBER(nvmlDeviceGetCurrentClocksEventReasons(device, &reasons), NVML_SUCCESS);
    return reasons;
}

static void idle(void) {
    nvmlUtilization_t use = {9, 9};
    unsigned clock = 0;
    CHECK_NUMBER(nvmlDeviceGetUtilizationRates(device, &use), NVML_SUCCESS);
    CHECK_NUMBER(use.gpu, 0);
    CHECK_NUMBER(use.memory, 0);
    CHECK_NUMBER(power_now(), 68920); /* as captured from the idle board */
    CHECK_NUMBER(temperature_now(), 29);
    CHECK_NUMBER(nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &clock), NVML_SUCCESS);
    CHECK_NUMBER(clock, 345);
    CHECK_NUMBER(reasons_now(), nvmlClocksEventReasonGpuIdle);
}

static void loaded(void) {
    nvmlUtilization_t use;
    unsigned clock = 0, limit = 0, half, full;
    state()->utilization_gpu = (struct gs_reading){50, 50};
    CHECK_NUMBER(nvmlDeviceGetUtilizationRates(device, &use), NVML_SUCCESS);
    CHECK_NUMBER(use.gpu, 50);
    half = power_now();
    CHECK(half > 68920);
    state()->utilization_gpu = (struct gs_reading){100, 100};
    full = power_now();
    CHECK(full > half);
    CHECK(temperature_now() > 29 && temperature_now() < 87);
    CHECK_NUMBER(nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &clock), NVML_SUCCESS);
    CHECK_NUMBER(clock, 1980);
    CHECK_NUMBER(reasons_now(), nvmlClocksEventReasonNone);
    state()->power_limit = 300000;
    CHECK_NUMBER(nvmlDeviceGetEnforcedPowerLimit(device, &limit), NVML_SUCCESS);
    CHECK_NUMBER(limit, 300000);
    CHECK_NUMBER(power_now(), 300000);
    state()->throttle_reasons = nvmlClocksEventReasonSwPowerCap;
    CHECK_NUMBER(reasons_now(), nvmlClocksEventReasonSwPowerCap);
    state()->clock_lock_min = 600;
    state()->clock_lock_max = 900;
    CHECK_NUMBER(nvmlDeviceGetClockInfo(device, NVML_CLOCK_GRAPHICS, &clock), NVML_SUCCESS);
    CHECK_NUMBER(clock, 900);
}

/* A range is walked, never left, and all readers of a moment see the same. */
static void walk(void) {
    nvmlUtilization_t one, other;
    unsigned lowest = 101, highest = 0;
    state()->utilization_gpu = (struct gs_reading){20, 80};
    for (uint64_t seed = 0; seed < 2000; seed++) {
        state()->seed = seed * 0x9E3779B97F4A7C15u;
        CHECK_NUMBER(nvmlDeviceGetUtilizationRates(device, &one), NVML_SUCCESS);
        CHECK_NUMBER(nvmlDeviceGetUtilizationRates(device, &other), NVML_SUCCESS);
        CHECK(one.gpu + 1 >= other.gpu && other.gpu + 1 >= one.gpu);
        lowest = one.gpu < lowest ? one.gpu : lowest;
        highest = one.gpu > highest ? one.gpu : highest;
    }
    CHECK(lowest >= 20 && lowest < 35);
    CHECK(highest <= 80 && highest > 65);
}

static void counters(void) {
    unsigned long long before = 0, after = 0;
    state()->energy = (struct gs_counter){1000, 0, 100000000};
    CHECK_NUMBER(nvmlDeviceGetTotalEnergyConsumption(device, &before), NVML_SUCCESS);
    usleep(2000);
    CHECK_NUMBER(nvmlDeviceGetTotalEnergyConsumption(device, &after), NVML_SUCCESS);
    CHECK(after >= before + 200000);
    state()->energy = (struct gs_counter){777, UINT64_MAX, 5}; /* based on another boot's clock */
    CHECK_NUMBER(nvmlDeviceGetTotalEnergyConsumption(device, &after), NVML_SUCCESS);
    CHECK_NUMBER(after, 777);
    unsigned replays = 0;
    CHECK_NUMBER(nvmlDeviceGetPcieReplayCounter(device, &replays), NVML_SUCCESS);
    CHECK_NUMBER(replays, 150);
}

/* A return code for one function of one GPU, for a while. */
static void faults(void) {
    char name[96];
    struct gs_fault *fault = state()->faults;
    *fault = (struct gs_fault){gs_function_id("nvmlDeviceGetName"), NVML_ERROR_UNKNOWN, 0, 0};
    CHECK_NUMBER(nvmlDeviceGetName(device, name, sizeof name), NVML_ERROR_UNKNOWN);
    CHECK_NUMBER(nvmlDeviceGetName(check_device(0), name, sizeof name), NVML_SUCCESS);
    CHECK(power_now() > 0);
    fault->from_ns = UINT64_MAX;
    CHECK_NUMBER(nvmlDeviceGetName(device, name, sizeof name), NVML_SUCCESS);
    *fault = (struct gs_fault){gs_function_id("nvmlDeviceGetName"), NVML_ERROR_UNKNOWN, 0, 1};
    CHECK_NUMBER(nvmlDeviceGetName(device, name, sizeof name), NVML_SUCCESS);
    fault->function = 0;
    inventory->header.faults[0] = (struct gs_fault){gs_function_id("nvmlSystemGetDriverVersion"),
                                                    NVML_ERROR_NO_PERMISSION, 0, 0};
    CHECK_NUMBER(nvmlSystemGetDriverVersion(name, sizeof name), NVML_ERROR_NO_PERMISSION);
    CHECK_NUMBER(nvmlSystemGetNVMLVersion(name, sizeof name), NVML_SUCCESS);
}

int main(void) {
    inventory = check_inventory("h100-80gb-hbm3", 2);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    device = check_device(1);
    idle();
    loaded();
    walk();
    counters();
    faults();
    check_remove_inventory();
    return check_result();
}
