/* SPDX-License-Identifier: Apache-2.0
 * A small nvidia-smi for containers that have no glibc. It asks the library's own functions, which are linked in, so it
 * cannot tell another story than a client of the library hears. */
#ifndef GPU_SIM_NODE_SMI_H
#define GPU_SIM_NODE_SMI_H

#include <nvml.h>
#include <stdbool.h>
#include <stddef.h>

/* nvidia-smi's exit codes, as its manual lists them. */
enum smi_exit {
    SMI_FINE = 0,
    SMI_INVALID_ARGUMENT = 2,
    SMI_NOT_FOUND = 6,
    SMI_NO_DRIVER = 9,
    SMI_OTHER = 255,
};

enum { SMI_MOST_GPUS = 64 }; /* the slots of an inventory */

struct smi_gpus {
    unsigned count;
    unsigned index[SMI_MOST_GPUS];
    nvmlDevice_t device[SMI_MOST_GPUS];
};

void smi_table(const struct smi_gpus *gpus);
void smi_list(const struct smi_gpus *gpus);

/* `fields` as in --query-gpu=, `format` as in --format= or NULL. The first tells what is wrong and returns the exit code,
 * the second prints. */
int smi_query_check(const char *fields, const char *format);
void smi_query(const struct smi_gpus *gpus, const char *fields, const char *format);
void smi_query_help(void);

#endif
