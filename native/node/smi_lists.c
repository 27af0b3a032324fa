/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi -q: lists. Each line by smi_open and smi_value, so that text and XML are of one making. */
#include "smi_lists.h"

#include <stdio.h>

#include "smi_facts.h"
#include "smi_processes.h"

void smi_list_mig_devices(struct smi_printer *printer, nvmlDevice_t device) {
    (void)device; /* no board of ours is partitioned */
    if (printer->xml) {
        fputs("\t\t<mig_devices>\n\t\t\tNone\n\t\t</mig_devices>\n", stdout);
    }
}

enum { MOST_PAGES = 64 };

static void retired(struct smi_printer *printer, nvmlDevice_t device, const char *label,
                    const char *tag, int what, nvmlPageRetirementCause_t cause) {
    struct smi_value count = {""};
    unsigned long long pages[MOST_PAGES];
    unsigned room = MOST_PAGES;
    nvmlReturn_t answer = smi_retired(device, what, &count);
    const char *text = answer == NVML_SUCCESS ? count.text : smi_failure(answer);
    smi_open(printer, 1, NULL, 1, tag);
    smi_value(printer, 1, label, 2, "retired_count", text, "");
    if (answer != NVML_SUCCESS) {
        smi_value(printer, 1, NULL, 2, "retired_pagelist", text, "");
    } else {
        smi_open(printer, 1, NULL, 2, "retired_pagelist");
        answer = nvmlDeviceGetRetiredPages(device, cause, &room, pages);
        for (unsigned i = 0; answer == NVML_SUCCESS && i < room; i++) {
            char address[32];
            snprintf(address, sizeof address, "0x%016llx", pages[i]);
            smi_value(printer, 2, NULL, 3, "retired_page_address", address, "");
        }
        smi_close(printer, 2, "retired_pagelist");
    }
    smi_close(printer, 1, tag);
}

void smi_list_retired_pages(struct smi_printer *printer, nvmlDevice_t device) {
    retired(printer, device, "Single Bit ECC", "multiple_single_bit_retirement", SMI_SINGLE_BIT,
            NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS);
    retired(printer, device, "Double Bit ECC", "double_bit_retirement", SMI_DOUBLE_BIT,
            NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR);
}

enum { MOST_CLOCKS = 512 };

void smi_list_supported_clocks(struct smi_printer *printer, nvmlDevice_t device) {
    unsigned memory[MOST_CLOCKS], memories = MOST_CLOCKS;
    char text[16];
    nvmlReturn_t answer = nvmlDeviceGetSupportedMemoryClocks(device, &memories, memory);
    if (answer != NVML_SUCCESS) {
        smi_value(printer, 0, "Supported Clocks", 0, "supported_clocks", smi_failure(answer), "");
        return;
    }
    smi_open(printer, 0, "Supported Clocks", 0, "supported_clocks");
    for (unsigned i = 0; i < memories; i++) {
        unsigned graphics[MOST_CLOCKS], count = MOST_CLOCKS;
        snprintf(text, sizeof text, "%u", memory[i]);
        smi_open(printer, 1, NULL, 1, "supported_mem_clock");
        smi_value(printer, 1, "Memory", 2, "value", text, " MHz");
        answer = nvmlDeviceGetSupportedGraphicsClocks(device, memory[i], &count, graphics);
        for (unsigned j = 0; answer == NVML_SUCCESS && j < count; j++) {
            snprintf(text, sizeof text, "%u", graphics[j]);
            smi_value(printer, 2, "Graphics", 2, "supported_graphics_clock", text, " MHz");
        }
        if (answer != NVML_SUCCESS) {
            smi_value(printer, 2, "Graphics", 2, "supported_graphics_clock", smi_failure(answer),
                      "");
        }
        smi_close(printer, 1, "supported_mem_clock");
    }
    smi_close(printer, 0, "supported_clocks");
}

static void process(struct smi_printer *printer, const struct smi_process *one) {
    struct smi_value name = {""};
    char pid[16], memory[32];
    smi_process_memory(one, " MiB", memory, sizeof memory);
    snprintf(pid, sizeof pid, "%u", one->info.pid);
    nvmlReturn_t answer = nvmlSystemGetProcessName(one->info.pid, name.text, sizeof name.text);
    smi_open(printer, 1, NULL, 1, "process_info");
    smi_value(printer, 1, "GPU instance ID", 2, "gpu_instance_id", "N/A", "");
    smi_value(printer, 1, "Compute instance ID", 2, "compute_instance_id", "N/A", "");
    smi_value(printer, 1, "Process ID", 2, "pid", pid, "");
    smi_value(printer, 2, "Type", 2, "type", smi_process_kinds(one), "");
    smi_escaped(printer, 2, "Name", 2, "process_name",
                answer == NVML_SUCCESS ? name.text : smi_failure(answer));
    smi_value(printer, 2, "Used GPU Memory", 2, "used_memory", memory, "");
    smi_close(printer, 1, "process_info");
}

void smi_list_processes(struct smi_printer *printer, nvmlDevice_t device) {
    struct smi_processes found;
    smi_processes(device, &found);
    if (!found.count && !printer->xml) {
        smi_value(printer, 0, "Processes", 0, "processes", "None", "");
        return;
    }
    smi_open(printer, 0, "Processes", 0, "processes");
    for (unsigned i = 0; i < found.count; i++) {
        process(printer, &found.rows[i]);
    }
    smi_close(printer, 0, "processes");
}

/* Accounting is never on. */
void smi_list_accounted_processes(struct smi_printer *printer, nvmlDevice_t device) {
    (void)device;
    smi_value(printer, 0, "Accounted Processes", 0, NULL, "None", "");
    smi_open(printer, 0, NULL, 0, "accounted_processes");
    smi_close(printer, 0, "accounted_processes");
}
