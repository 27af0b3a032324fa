/* SPDX-License-Identifier: Apache-2.0
 * What a report tells of a GPU as lists of their own length. */
#ifndef GPU_SIM_NODE_SMI_LISTS_H
#define GPU_SIM_NODE_SMI_LISTS_H

#include <nvml.h>

#include "smi_printer.h"

void smi_list_mig_devices(struct smi_printer *printer, nvmlDevice_t device);
void smi_list_retired_pages(struct smi_printer *printer, nvmlDevice_t device);
void smi_list_supported_clocks(struct smi_printer *printer, nvmlDevice_t device);
void smi_list_processes(struct smi_printer *printer, nvmlDevice_t device);
void smi_list_accounted_processes(struct smi_printer *printer, nvmlDevice_t device);

#endif
