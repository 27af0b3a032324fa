/* SPDX-License-Identifier: Apache-2.0
 *
 * Process lists: 0, 1 and 2 rows in three versions for three kinds; rows never leave the caller's buffer. */
#include "check.h"
#include "writer.h"

typedef nvmlReturn_t list_v1(nvmlDevice_t, unsigned int *, nvmlProcessInfo_v1_t *);
typedef nvmlReturn_t list_v2(nvmlDevice_t, unsigned int *, nvmlProcessInfo_v2_t *);
typedef nvmlReturn_t list_v3(nvmlDevice_t, unsigned int *, nvmlProcessInfo_t *);

static const struct {
    uint32_t kind;
    list_v1 *v1;
    list_v2 *v2;
    list_v3 *v3;
} kinds[] = {
    {1, nvmlDeviceGetComputeRunningProcesses, nvmlDeviceGetComputeRunningProcesses_v2,
     nvmlDeviceGetComputeRunningProcesses_v3},
    {2, nvmlDeviceGetGraphicsRunningProcesses, nvmlDeviceGetGraphicsRunningProcesses_v2,
     nvmlDeviceGetGraphicsRunningProcesses_v3},
    {4, nvmlDeviceGetMPSComputeRunningProcesses, nvmlDeviceGetMPSComputeRunningProcesses_v2,
     nvmlDeviceGetMPSComputeRunningProcesses_v3},
};

static void set_rows(struct gs_inventory *inventory, uint32_t kind, unsigned rows) {
    struct gs_gpu *gpu = &inventory->gpus[1];
    struct gs_allocation *next = &gpu->allocation[!gs_flip(&gpu->allocation_flip)];
    memset(next, 0, sizeof *next);
    next->process_count = rows;
    for (unsigned i = 0; i < rows; i++) {
        next->processes[i] = (struct gs_process){.pid = 4000000 + i,
                                                 .kind = kind,
                                                 .memory = (uint64_t)(i + 3) << 20,
                                                 .gpu_instance = 0xFFFFFFFFu,
                                                 .compute_instance = 0xFFFFFFFFu};
    }
    gs_flip_publish(&gpu->allocation_flip);
}

static void first_version(nvmlDevice_t device, list_v1 *list, unsigned rows) {
    unsigned count = 0;
    CHECK_NUMBER(list(device, &count, NULL), rows ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
    CHECK_NUMBER(count, rows);
    nvmlProcessInfo_v1_t *infos = check_guarded(rows * sizeof *infos);
    CHECK_NUMBER(list(device, &count, infos), NVML_SUCCESS);
    for (unsigned i = 0; i < rows; i++) {
        CHECK_NUMBER(infos[i].pid, 4000000 + i);
        CHECK_NUMBER(infos[i].usedGpuMemory, (i + 3) << 20);
    }
    CHECK_NUMBER(list(device, NULL, infos), NVML_ERROR_INVALID_ARGUMENT);
}

static void check_row(const nvmlProcessInfo_v2_t *info, unsigned i) {
    CHECK_NUMBER(info->pid, 4000000 + i);
    CHECK_NUMBER(info->usedGpuMemory, (i + 3) << 20);
    CHECK_NUMBER(info->gpuInstanceId, 0xFFFFFFFFu);
    CHECK_NUMBER(info->computeInstanceId, 0xFFFFFFFFu);
}

static void later_versions(nvmlDevice_t device, list_v2 *second, list_v3 *third, unsigned rows) {
    nvmlProcessInfo_v2_t *infos = check_guarded(rows * sizeof *infos);
    unsigned count = rows;
    CHECK_NUMBER(second(device, &count, infos), NVML_SUCCESS);
    CHECK_NUMBER(count, rows);
    for (unsigned i = 0; i < rows; i++) {
        check_row(&infos[i], i);
    }
    nvmlProcessInfo_t *latest = check_guarded(rows * sizeof *latest);
    CHECK_NUMBER(third(device, &count, latest), NVML_SUCCESS);
    CHECK_NUMBER(count, rows);
    for (unsigned i = 0; i < rows; i++) {
        check_row((const nvmlProcessInfo_v2_t *)&latest[i], i);
    }
    if (rows) { /* one place too few: nothing written, the need is told */
        nvmlProcessInfo_t *little = check_guarded((rows - 1) * sizeof *little);
        count = rows - 1;
        CHECK_NUMBER(third(device, &count, little), NVML_ERROR_INSUFFICIENT_SIZE);
        CHECK_NUMBER(count, rows);
        CHECK(check_untouched(little, (rows - 1) * sizeof *little));
    }
}

/* The rows share what the board does by their weights, and hold no more than it has. */
static void shares(struct gs_inventory *inventory, nvmlDevice_t device) {
    struct gs_gpu *gpu = gs_gpu_of(inventory, 1);
    struct gs_allocation allocation;
    struct gs_state state;
    nvmlProcessUtilizationSample_t samples[3];
    nvmlProcessInfo_t infos[3];
    unsigned count = 3;
    set_rows(inventory, 1, 3);
    gs_read_allocation(gpu, &allocation);
    gs_read_state(gpu, &state);
    static const uint32_t weights[] = {10, 30, 40};
    for (unsigned i = 0; i < 3; i++) {
        allocation.processes[i].utilization_sm = weights[i];
        allocation.processes[i].utilization_memory = 1;
        allocation.processes[i].memory = 9000ull << 20; /* the board has 15360 MiB */
    }
    allocation.utilization_gpu = (struct gs_reading){80, 80};
    state.utilization_memory = (struct gs_reading){33, 33};
    gs_write_allocation(gpu, &allocation);
    gs_write_state(gpu, &state);
    CHECK_NUMBER(nvmlDeviceGetProcessUtilization(device, samples, &count, 0), NVML_SUCCESS);
    for (unsigned i = 0; i < 3; i++) {
        CHECK_NUMBER(samples[i].smUtil, weights[i]);
        CHECK_NUMBER(samples[i].memUtil, 11);
    }
    state.utilization_gpu = (struct gs_reading){8, 8};
    state.overridden = GS_SET_UTILIZATION;
    gs_write_state(gpu, &state);
    CHECK_NUMBER(nvmlDeviceGetProcessUtilization(device, samples, &count, 0), NVML_SUCCESS);
    CHECK_NUMBER(samples[0].smUtil + samples[1].smUtil + samples[2].smUtil, 8);
    CHECK_NUMBER(samples[2].smUtil, 4);
    nvmlMemory_v2_t memory = {.version = nvmlMemory_v2};
    CHECK_NUMBER(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, infos), NVML_SUCCESS);
    CHECK_NUMBER(nvmlDeviceGetMemoryInfo_v2(device, &memory), NVML_SUCCESS);
    CHECK_NUMBER(infos[0].usedGpuMemory, 9000ull << 20);
    CHECK_NUMBER(infos[0].usedGpuMemory + infos[1].usedGpuMemory + infos[2].usedGpuMemory,
                 memory.used);
    CHECK_NUMBER(memory.used + memory.reserved, memory.total);
}

int main(void) {
    struct gs_inventory *inventory = check_inventory("tesla-t4", 3);
    CHECK_NUMBER(sizeof(nvmlProcessInfo_v1_t), 16);
    CHECK_NUMBER(sizeof(nvmlProcessInfo_v2_t), 24);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    nvmlDevice_t device = check_device(1);
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        for (unsigned rows = 0; rows < 3; rows++) {
            set_rows(inventory, kinds[kind].kind, rows);
            for (size_t other = 0; other < sizeof kinds / sizeof *kinds; other++) {
                unsigned wanted = other == kind ? rows : 0;
                first_version(device, kinds[other].v1, wanted);
                later_versions(device, kinds[other].v2, kinds[other].v3, wanted);
            }
        }
    }
    shares(inventory, device);
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
    check_remove_inventory();
    return check_result();
}
