/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi: one list of processes out of the library's three. */
#include "smi_processes.h"

#include <stdio.h>
#include <stdlib.h>

typedef nvmlReturn_t getter(nvmlDevice_t, unsigned *, nvmlProcessInfo_t *);

static int by_pid(const void *one, const void *other) {
    unsigned a = ((const struct smi_process *)one)->info.pid;
    unsigned b = ((const struct smi_process *)other)->info.pid;
    return (a > b) - (a < b);
}

/* A process that is in several lists has one row. */
static nvmlReturn_t collect(nvmlDevice_t device, unsigned kind, getter *get,
                            struct smi_processes *into) {
    nvmlProcessInfo_t found[SMI_MOST_PROCESSES];
    unsigned count = SMI_MOST_PROCESSES;
    nvmlReturn_t answer = get(device, &count, found);
    for (unsigned i = 0; answer == NVML_SUCCESS && i < count; i++) {
        unsigned at = 0;
        while (at < into->count && into->rows[at].info.pid != found[i].pid) {
            at++;
        }
        if (at == into->count) {
            into->rows[into->count++] = (struct smi_process){.info = found[i]};
        }
        into->rows[at].kinds |= kind;
    }
    return answer;
}

nvmlReturn_t smi_compute_processes(nvmlDevice_t device, struct smi_processes *found) {
    found->count = 0;
    return collect(device, SMI_COMPUTE, nvmlDeviceGetComputeRunningProcesses_v3, found);
}

void smi_processes(nvmlDevice_t device, struct smi_processes *found) {
    static const struct {
        unsigned kind;
        getter *get;
    } lists[] = {{SMI_COMPUTE, nvmlDeviceGetComputeRunningProcesses_v3},
                 {SMI_GRAPHICS, nvmlDeviceGetGraphicsRunningProcesses_v3},
                 {SMI_MPS, nvmlDeviceGetMPSComputeRunningProcesses_v3}};
    unsigned kept = 0;
    found->count = 0;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        collect(device, lists[i].kind, lists[i].get, found);
    }
    for (unsigned i = 0; i < found->count; i++) {
        if (found->rows[i].kinds != SMI_MPS) {
            found->rows[kept++] = found->rows[i];
        }
    }
    found->count = kept;
    qsort(found->rows, kept, sizeof *found->rows, by_pid);
}

const char *smi_process_kinds(const struct smi_process *process) {
    static const char *const kinds[] = {"", "C", "G", "C+G", "M", "M+C", "M+G", "M+C+G"};
    return kinds[process->kinds & 7];
}

void smi_process_memory(const struct smi_process *process, const char *unit, char *text,
                        size_t size) {
    unsigned long long bytes = process->info.usedGpuMemory;
    if (bytes == (unsigned long long)NVML_VALUE_NOT_AVAILABLE) {
        snprintf(text, size, "N/A");
    } else {
        snprintf(text, size, "%llu%s", bytes >> 20, unit);
    }
}
