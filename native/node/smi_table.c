/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi's two plain views: the table and the list. Column by column as driver 550 prints them, since scripts cut
 * them by position. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "smi.h"

enum { NAME_WIDTH = 27, COMMAND_WIDTH = 38, MOST_PROCESSES = 64 };

static const char line[] =
    "+-----------------------------------------------------------------------------------------+\n";

static void head(void) {
    char now[64], driver[NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE] = "", cuda[16];
    int version = 0;
    time_t seconds = time(NULL);
    struct tm local;
    strftime(now, sizeof now, "%a %b %e %H:%M:%S %Y", localtime_r(&seconds, &local));
    nvmlSystemGetDriverVersion(driver, sizeof driver);
    nvmlSystemGetCudaDriverVersion(&version);
    snprintf(cuda, sizeof cuda, "%d.%d", version / 1000, version % 1000 / 10);
    printf("%s       \n%s", now, line);
    printf("| NVIDIA-SMI %-22.22s Driver Version: %-14.14s CUDA Version: %-8.8s |\n", driver,
           driver, cuda);
    fputs("|-----------------------------------------+------------------------+--------------------"
          "--+\n"
          "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. "
          "ECC |\n"
          "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute "
          "M. |\n"
          "|                                         |                        |               MIG "
          "M. |\n"
          "|=========================================+========================+===================="
          "==|\n",
          stdout);
}

static void first_row(unsigned index, nvmlDevice_t device) {
    char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE] = "", ecc[24] = "N/A";
    nvmlPciInfo_t pci = {0};
    nvmlEnableState_t persistence = NVML_FEATURE_DISABLED, display = NVML_FEATURE_DISABLED;
    unsigned long long errors = 0;
    nvmlDeviceGetName(device, name, sizeof name);
    nvmlDeviceGetPciInfo_v3(device, &pci);
    nvmlDeviceGetPersistenceMode(device, &persistence);
    nvmlDeviceGetDisplayActive(device, &display);
    if (nvmlDeviceGetTotalEccErrors(device, NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC,
                                    &errors) == NVML_SUCCESS) {
        snprintf(ecc, sizeof ecc, "%llu", errors);
    }
    if (strlen(name) > NAME_WIDTH) {
        memcpy(name + NAME_WIDTH - 3, "...", 4);
    }
    printf("|%4u  %-*s    %-3s |   %16s %3s | %20s |\n", index, NAME_WIDTH, name,
           persistence ? "On" : "Off", pci.busId, display ? "On" : "Off", ecc);
}

static void second_row(nvmlDevice_t device) {
    unsigned fan_speed = 0, degrees = 0, usage = 0, limit = 0;
    nvmlPstates_t state = NVML_PSTATE_UNKNOWN;
    nvmlMemory_v2_t memory = {.version = nvmlMemory_v2};
    nvmlUtilization_t load = {0};
    nvmlComputeMode_t compute = NVML_COMPUTEMODE_DEFAULT;
    char fan[16] = "N/A", celsius[16] = "N/A", perf[16] = "N/A", draw[16] = "N/A", cap[16] = "N/A",
         util[16] = "N/A";
    static const char *const modes[] = {"Default", "E. Thread", "Prohibited", "E. Process"};

    if (nvmlDeviceGetFanSpeed(device, &fan_speed) == NVML_SUCCESS) {
        snprintf(fan, sizeof fan, "%u%%", fan_speed);
    }
    if (nvmlDeviceGetTemperature(device, NVML_TEMPERATURE_GPU, &degrees) == NVML_SUCCESS) {
        snprintf(celsius, sizeof celsius, "%uC", degrees);
    }
    if (nvmlDeviceGetPerformanceState(device, &state) == NVML_SUCCESS &&
        state != NVML_PSTATE_UNKNOWN) {
        snprintf(perf, sizeof perf, "P%d", (int)state);
    }
    if (nvmlDeviceGetPowerUsage(device, &usage) == NVML_SUCCESS) {
        snprintf(draw, sizeof draw, "%uW", usage / 1000);
    }
    if (nvmlDeviceGetEnforcedPowerLimit(device, &limit) == NVML_SUCCESS) {
        snprintf(cap, sizeof cap, "%uW", limit / 1000);
    }
    if (nvmlDeviceGetUtilizationRates(device, &load) == NVML_SUCCESS) {
        snprintf(util, sizeof util, "%u%%", load.gpu);
    }
    nvmlDeviceGetMemoryInfo_v2(device, &memory);
    nvmlDeviceGetComputeMode(device, &compute);
    printf("|%4s  %4s    %-4s       %7s / %5s | %7lluMiB / %6lluMiB | %7s %12s |\n", fan, celsius,
           perf, draw, cap, memory.used >> 20, memory.total >> 20, util,
           modes[(unsigned)compute % 4]);
}

static void third_row(nvmlDevice_t device) {
    unsigned now = 0, pending = 0;
    const char *mig = "N/A";
    if (nvmlDeviceGetMigMode(device, &now, &pending) == NVML_SUCCESS) {
        mig = now == pending ? now ? "Enabled" : "Disabled" : now ? "Enabled*" : "Disabled*";
    }
    printf("|                                         |                        | %20s |\n"
           "+-----------------------------------------+------------------------+-------------------"
           "---+\n",
           mig);
}

enum { COMPUTE = 1, GRAPHICS = 2, MPS = 4 };

struct row {
    unsigned kinds;
    nvmlProcessInfo_t process;
};

static int by_pid(const void *one, const void *other) {
    unsigned a = ((const struct row *)one)->process.pid;
    unsigned b = ((const struct row *)other)->process.pid;
    return (a > b) - (a < b);
}

/* Adds one of the three lists; a process that is in several has one row. */
static unsigned collect(struct row *rows, unsigned used, unsigned kind, nvmlReturn_t answer,
                        const nvmlProcessInfo_t *found, unsigned count) {
    for (unsigned i = 0; answer == NVML_SUCCESS && i < count; i++) {
        unsigned at = 0;
        while (at < used && rows[at].process.pid != found[i].pid) {
            at++;
        }
        if (at == used) {
            rows[used++] = (struct row){.process = found[i]};
        }
        rows[at].kinds |= kind;
    }
    return used;
}

static unsigned processes(unsigned index, nvmlDevice_t device) {
    static const char *const types[] = {"", "C", "G", "C+G", "M", "M+C", "M+G", "M+C+G"};
    struct row rows[3 * MOST_PROCESSES];
    nvmlProcessInfo_t found[MOST_PROCESSES];
    unsigned used = 0, shown = 0, count = MOST_PROCESSES;
    nvmlReturn_t answer = nvmlDeviceGetComputeRunningProcesses_v3(device, &count, found);
    used = collect(rows, used, COMPUTE, answer, found, count);
    count = MOST_PROCESSES;
    answer = nvmlDeviceGetGraphicsRunningProcesses_v3(device, &count, found);
    used = collect(rows, used, GRAPHICS, answer, found, count);
    count = MOST_PROCESSES;
    answer = nvmlDeviceGetMPSComputeRunningProcesses_v3(device, &count, found);
    used = collect(rows, used, MPS, answer, found, count);
    qsort(rows, used, sizeof *rows, by_pid);
    for (unsigned i = 0; i < used; i++) {
        char name[256] = "", memory[24] = "N/A";
        const nvmlProcessInfo_t *process = &rows[i].process;
        if (rows[i].kinds == MPS) {
            continue; /* as the real table */
        }
        nvmlSystemGetProcessName(process->pid, name, sizeof name);
        size_t length = strlen(name);
        if (process->usedGpuMemory != (unsigned long long)NVML_VALUE_NOT_AVAILABLE) {
            snprintf(memory, sizeof memory, "%lluMiB", process->usedGpuMemory >> 20);
        }
        bool cut = length > COMMAND_WIDTH; /* its end says more */
        const char *end = cut ? name + length - (COMMAND_WIDTH - 3) : name;
        printf("|%5u   N/A  N/A%10u  %5s   %s%-*s%14s |\n", index, process->pid,
               types[rows[i].kinds], cut ? "..." : "", cut ? COMMAND_WIDTH - 3 : COMMAND_WIDTH, end,
               memory);
        shown++;
    }
    return shown;
}

void smi_table(const struct smi_gpus *gpus) {
    unsigned running = 0;
    head();
    for (unsigned i = 0; i < gpus->count; i++) {
        first_row(gpus->index[i], gpus->device[i]);
        second_row(gpus->device[i]);
        third_row(gpus->device[i]);
    }
    printf("%89s\n%s", "", line);
    fputs("| Processes:                                                                            "
          "  |\n"
          "|  GPU   GI   CI        PID   Type   Process name                              GPU "
          "Memory |\n"
          "|        ID   ID                                                               Usage    "
          "  |\n"
          "|======================================================================================="
          "==|\n",
          stdout);
    for (unsigned i = 0; i < gpus->count; i++) {
        running += processes(gpus->index[i], gpus->device[i]);
    }
    if (!running) {
        printf("|  %-87s|\n", "No running processes found");
    }
    fputs(line, stdout);
}

void smi_list(const struct smi_gpus *gpus) {
    if (!gpus->count) {
        puts("No devices found.");
    }
    for (unsigned i = 0; i < gpus->count; i++) {
        char name[NVML_DEVICE_NAME_V2_BUFFER_SIZE] = "", uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE] = "";
        nvmlReturn_t named = nvmlDeviceGetName(gpus->device[i], name, sizeof name);
        nvmlReturn_t known = nvmlDeviceGetUUID(gpus->device[i], uuid, sizeof uuid);
        if (named != NVML_SUCCESS || known != NVML_SUCCESS) {
            printf("Unable to determine the device handle for gpu %u: %s\n", gpus->index[i],
                   nvmlErrorString(named != NVML_SUCCESS ? named : known));
            continue;
        }
        printf("GPU %u: %s (UUID: %s)\n", gpus->index[i], name, uuid);
    }
}
