/* SPDX-License-Identifier: Apache-2.0
 * The processes on a GPU, as nvidia-smi shows them. */
#ifndef GPU_SIM_NODE_SMI_PROCESSES_H
#define GPU_SIM_NODE_SMI_PROCESSES_H

#include <nvml.h>
#include <stddef.h>

enum { SMI_COMPUTE = 1, SMI_GRAPHICS = 2, SMI_MPS = 4 };
enum { SMI_MOST_PROCESSES = 64 };

struct smi_process {
    unsigned kinds;
    nvmlProcessInfo_t info;
};

struct smi_processes {
    unsigned count;
    struct smi_process rows[3 * SMI_MOST_PROCESSES];
};

/* All of them by their pids, each once. As the real one does, those that are MPS and nothing else are left out, and a
 * list that cannot be had is an empty one. */
void smi_processes(nvmlDevice_t device, struct smi_processes *found);
/* Those with a compute context, in the library's order. */
nvmlReturn_t smi_compute_processes(nvmlDevice_t device, struct smi_processes *found);

const char *smi_process_kinds(const struct smi_process *process); /* "C+G" */
/* "N/A", or with `unit` behind the number. */
void smi_process_memory(const struct smi_process *process, const char *unit, char *text,
                        size_t size);

#endif
