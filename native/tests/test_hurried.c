/* SPDX-License-Identifier: Apache-2.0
 *
 * Getters beside a writer that never rests: what belongs together in one answer comes from one moment. And a
 * writer that died half-way leaves the copy that is read alone. */
#include <signal.h>
#include <sys/wait.h>

#include "check.h"

static struct gs_inventory *inventory;

/* Every figure of one moment carries the moment's number. */
static void fill_state(struct gs_state *state, uint32_t moment) {
    state->remapped_rows[0] = state->remapped_rows[1] = moment;
    state->remapped_rows[2] = state->remapped_rows[3] = moment;
    state->ecc_pending = state->ecc_current = moment & 1;
    state->mig_pending = state->mig_current = moment & 1;
}

static void fill_rows(struct gs_allocation *allocation, uint32_t moment) {
    allocation->process_count = 2 + moment % (GS_PROCESSES - 1);
    for (uint32_t i = 0; i < GS_PROCESSES; i++) {
        int used = i < allocation->process_count;
        /* All moments add up to the same memory. */
        allocation->processes[i] =
            (struct gs_process){.pid = used ? moment + 1 : 0,
                                .kind = 1,
                                .memory = i == 0 ? 3600 - 10 * (allocation->process_count - 1)
                                          : used ? 10
                                                 : 0,
                                .gpu_instance = moment,
                                .compute_instance = moment};
    }
}

static void write_for_ever(void) {
    struct gs_gpu *gpu = &inventory->gpus[1];
    for (uint32_t moment = 0;; moment++) {
        fill_state(&gpu->state[!gs_flip(&gpu->state_flip)], moment);
        gs_flip_publish(&gpu->state_flip);
        fill_rows(&gpu->allocation[!gs_flip(&gpu->allocation_flip)], moment);
        gs_flip_publish(&gpu->allocation_flip);
        (void)
            getppid(); /* real writers lock: one system call between two writes at the very least */
    }
}

static unsigned mixed_rows(nvmlDevice_t device) {
    nvmlProcessInfo_t rows[GS_PROCESSES];
    unsigned count = GS_PROCESSES, mixed = 0;
    CHECK_NUMBER(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, rows), NVML_SUCCESS);
    for (unsigned i = 0; i < count; i++) {
        mixed += rows[i].pid != rows[0].pid || rows[i].gpuInstanceId != rows[i].pid - 1 ||
                 count != 2 + (rows[i].pid - 1) % (GS_PROCESSES - 1);
    }
    return mixed;
}

static unsigned mixed_figures(nvmlDevice_t device) {
    unsigned rows[4] = {1, 2, 3, 4}, current = 8, pending = 9;
    nvmlEnableState_t ecc = 8, ecc_pending = 9;
    nvmlMemory_v2_t memory = {.version = nvmlMemory_v2};
    CHECK_NUMBER(nvmlDeviceGetRemappedRows(device, &rows[0], &rows[1], &rows[2], &rows[3]),
                 NVML_SUCCESS);
    CHECK_NUMBER(nvmlDeviceGetEccMode(device, &ecc, &ecc_pending), NVML_SUCCESS);
    CHECK_NUMBER(nvmlDeviceGetMigMode(device, &current, &pending), NVML_SUCCESS);
    CHECK_NUMBER(nvmlDeviceGetMemoryInfo_v2(device, &memory), NVML_SUCCESS);
    return (rows[0] != rows[1] || rows[0] != rows[2] || rows[0] != rows[3]) + (ecc != ecc_pending) +
           (current != pending) + (memory.used != 3600);
}

static void beside_a_writer(nvmlDevice_t device) {
    unsigned rows = 0, figures = 0;
    struct gs_gpu *gpu = &inventory->gpus[1];
    fill_rows(&gpu->allocation[gs_flip(&gpu->allocation_flip)], 0);
    fill_state(&gpu->state[gs_flip(&gpu->state_flip)], 0);
    gpu->state[!gs_flip(&gpu->state_flip)] = gpu->state[gs_flip(&gpu->state_flip)];
    pid_t writer = fork();
    if (!writer) {
        write_for_ever();
    }
    while (__atomic_load_n(&gpu->state_flip.sequence, __ATOMIC_RELAXED) < 100) {
        usleep(1000);
    }
    for (unsigned i = 0; i < 100000; i++) {
        rows += mixed_rows(device);
        figures += mixed_figures(device);
    }
    kill(writer, SIGKILL);
    CHECK_NUMBER(waitpid(writer, NULL, 0), writer);
    CHECK_NUMBER(rows, 0);
    CHECK_NUMBER(figures, 0);
}

/* The copy that nobody has published is full of something else. */
static void after_a_dead_writer(nvmlDevice_t device) {
    struct gs_gpu *gpu = &inventory->gpus[1];
    fill_rows(&gpu->allocation[gs_flip(&gpu->allocation_flip)], 7);
    fill_state(&gpu->state[gs_flip(&gpu->state_flip)], 7);
    memset(&gpu->allocation[!gs_flip(&gpu->allocation_flip)], 0xEE, 2000);
    memset(&gpu->state[!gs_flip(&gpu->state_flip)], 0xEE, 2000);
    memset(&gpu->config[!gs_flip(&gpu->config_flip)], 0xEE, 2000);
    memset(&inventory->header.node[!gs_flip(&inventory->header.node_flip)], 0xEE, 1500);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    unsigned rows[4] = {0};
    char name[96], version[80];
    CHECK_NUMBER(mixed_rows(device) + mixed_figures(device), 0);
    CHECK_NUMBER(nvmlDeviceGetRemappedRows(device, &rows[0], &rows[1], &rows[2], &rows[3]),
                 NVML_SUCCESS);
    CHECK_NUMBER(rows[0], 7);
    CHECK_NUMBER(nvmlDeviceGetName(device, name, sizeof name), NVML_SUCCESS);
    CHECK_TEXT(name, "NVIDIA A100-SXM4-40GB");
    CHECK_NUMBER(nvmlSystemGetDriverVersion(version, sizeof version), NVML_SUCCESS);
    CHECK_TEXT(version, "550.163.01");
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
}

int main(void) {
    inventory = check_inventory("a100-sxm4-40gb", 3);
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    beside_a_writer(check_device(1));
    after_a_dead_writer(check_device(1));
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
    check_remove_inventory();
    return check_result();
}
