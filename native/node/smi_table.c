/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi's two plain views: the table and the list. Column by column as driver 550 prints them, since scripts cut
 * them by position. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "smi.h"
#include "smi_facts.h"
#include "smi_private.h"
#include "smi_processes.h"

enum { NAME_WIDTH = 27, COMMAND_WIDTH = 38 };

static const char line[] =
    "+-----------------------------------------------------------------------------------------+\n";

/* What does not answer is an error, what the board does not have is not. */
static const char *cell(nvmlReturn_t answer, const char *text) {
    bool absent = answer == NVML_ERROR_NOT_SUPPORTED || answer == NVML_ERROR_NOT_FOUND;
    return answer == NVML_SUCCESS ? text : absent ? "N/A" : "ERR!";
}

static void head(void) {
    char now[64];
    struct smi_value program = {""}, driver = {""}, cuda = {""};
    time_t seconds = time(NULL);
    struct tm local;
    strftime(now, sizeof now, "%a %b %e %H:%M:%S %Y", localtime_r(&seconds, &local));
    nvmlReturn_t no_driver = smi_node(NULL, SMI_DRIVER, &driver),
                 no_cuda = smi_node(NULL, SMI_CUDA, &cuda);
    smi_node(NULL, SMI_PROGRAM, &program);
    printf("%s       \n%s", now, line);
    printf("| NVIDIA-SMI %-22.22s Driver Version: %-14.14s CUDA Version: %-8.8s |\n", program.text,
           cell(no_driver, driver.text), cell(no_cuda, cuda.text));
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

/* The answer of one question, with what stands behind it. */
static const char *ask(smi_ask *question, nvmlDevice_t device, int what, const char *unit,
                       struct smi_value *value) {
    struct smi_value got = {""};
    nvmlReturn_t answer = question(device, what, &got);
    smi_say(value, answer, "%s%s", got.text, unit);
    return cell(answer, value->text);
}

static const char *on_off(nvmlDevice_t device, int what) {
    struct smi_value value = {""};
    nvmlReturn_t answer = smi_switch(device, what, &value);
    return cell(answer, *value.text == 'E' ? "On" : "Off");
}

static void first_row(unsigned index, nvmlDevice_t device) {
    struct smi_value name, bus, errors = {""};
    char number[16];
    snprintf(number, sizeof number, "%u", index);
    nvmlReturn_t known = smi_number(device, SMI_INDEX, &errors);
    nvmlReturn_t ecc = smi_pair(device, SMI_ECC, &errors);
    bool off = ecc == NVML_SUCCESS && *errors.text == 'D';
    const char *shown = ask(smi_identity, device, SMI_NAME, "", &name);
    if (strlen(shown) > NAME_WIDTH) {
        memcpy(name.text + NAME_WIDTH - 3, "...", 4);
    }
    const char *count = off ? "Off"
                        : ecc != NVML_SUCCESS
                            ? cell(ecc, "")
                            : ask(smi_ecc_counter, device,
                                  SMI_COUNTER(NVML_MEMORY_ERROR_TYPE_UNCORRECTED, NVML_VOLATILE_ECC,
                                              SMI_ALL_LOCATIONS),
                                  "", &errors);
    const char *place = ask(smi_pci, device, SMI_PLACE, "", &bus);
    char persistence[8]; /* what is neither on nor off stands one to the left */
    const char *mode = on_off(device, SMI_PERSISTENCE);
    snprintf(persistence, sizeof persistence, *mode == 'O' ? " %-4s" : "%-5s", mode);
    const char *first = cell(known, number);
    printf(strcmp(first, "ERR!") ? "|%4s  %-*s   %s|   %-16s%4s | %20s |\n"
                                 : "|%5s %-*s   %s|   %-16s%4s | %20s |\n",
           first, NAME_WIDTH, shown, persistence, place, on_off(device, SMI_DISPLAY_ACTIVE), count);
}

static void memory_cell(nvmlDevice_t device, char *text, size_t size) {
    nvmlMemory_v2_t memory = {.version = nvmlMemory_v2};
    nvmlReturn_t answer = nvmlDeviceGetMemoryInfo_v2(device, &memory);
    if (answer == NVML_SUCCESS) {
        snprintf(text, size, "%7lluMiB / %6lluMiB", memory.used >> 20, memory.total >> 20);
    } else if (answer == NVML_ERROR_NO_PERMISSION) {
        snprintf(text, size, "%20s  ", "N/A");
    } else {
        snprintf(text, size, "%-22.22s", nvmlErrorString(answer));
    }
}

/* "49W": the fraction is cut off, not rounded. */
static const char *whole_watts(nvmlReturn_t answer, unsigned milliwatts, struct smi_value *value) {
    smi_say(value, answer, "%uW", milliwatts / 1000);
    return cell(answer, value->text);
}

static void second_row(nvmlDevice_t device) {
    static const char *const modes[] = {"Default", "E. Thread", "Prohibited", "E. Process"};
    struct smi_value fan, degrees, state, draw, cap, load;
    nvmlComputeMode_t compute = NVML_COMPUTEMODE_DEFAULT;
    char memory[40];
    nvmlReturn_t answer = nvmlDeviceGetComputeMode(device, &compute);
    memory_cell(device, memory, sizeof memory);
    const char *perf = ask(smi_mode, device, SMI_PSTATE, "", &state);
    unsigned usage = 0, enforced = 0;
    nvmlReturn_t capped =
        smi_private(SMI_PRIVATE_ENFORCED_LIMIT, device, &enforced, sizeof enforced);
    nvmlReturn_t drawn = nvmlDeviceGetPowerUsage(device, &usage);
    const char *limit = whole_watts(capped, enforced, &cap);
    printf(*perf == 'P' ? "|%4s  %4s%6s  " : "|%4s  %4s%5s   ",
           ask(smi_number, device, SMI_FAN, "%", &fan),
           ask(smi_number, device, SMI_TEMPERATURE, "C", &degrees), perf);
    printf(strcmp(limit, "ERR!") ? "       %7s / %5s | %s | %7s %12s |\n"
                                 : "       %7s / %4s  | %s | %7s %12s |\n",
           whole_watts(drawn, usage, &draw), limit, memory,
           ask(smi_utilization, device, SMI_GPU_LOAD, "%", &load),
           cell(answer, modes[(unsigned)compute % 4]));
}

static void third_row(nvmlDevice_t device) {
    unsigned now = 0, pending = 0;
    nvmlReturn_t answer = nvmlDeviceGetMigMode(device, &now, &pending);
    const char *mig = now == pending ? now ? "Enabled" : "Disabled"
                      : now          ? "Enabled*"
                                     : "Disabled*";
    printf("|                                         |                        | %20s |\n"
           "+-----------------------------------------+------------------------+-------------------"
           "---+\n",
           answer == NVML_ERROR_NOT_FOUND ? "ERR!" : cell(answer, mig));
}

static unsigned processes(unsigned index, nvmlDevice_t device) {
    struct smi_processes found;
    smi_processes(device, &found);
    for (unsigned i = 0; i < found.count; i++) {
        const struct smi_process *process = &found.rows[i];
        char name[256] = "", memory[32];
        nvmlSystemGetProcessName(process->info.pid, name, sizeof name);
        smi_process_memory(process, "MiB", memory, sizeof memory);
        size_t length = strlen(name);
        bool cut = length > COMMAND_WIDTH; /* its end says more */
        const char *end = cut ? name + length - (COMMAND_WIDTH - 3) : name;
        printf("|%5u   N/A  N/A%10u  %5s   %s%-*s%14s |\n", index, process->info.pid,
               smi_process_kinds(process), cut ? "..." : "",
               cut ? COMMAND_WIDTH - 3 : COMMAND_WIDTH, end, memory);
    }
    return found.count;
}

int smi_table(const struct smi_gpus *gpus) {
    unsigned running = 0, index;
    bool failed = false;
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
        nvmlDevice_t handle = (nvmlDevice_t)(uintptr_t)gpus->index[i], got;
        if (smi_private(SMI_PRIVATE_HANDLE, handle, &got, 0x22) != NVML_SUCCESS) {
            failed = true;
            continue;
        }
        nvmlReturn_t answer = nvmlDeviceGetIndex(gpus->device[i], &index);
        if (answer != NVML_SUCCESS) {
            puts("Failed to query device index");
            return (int)answer;
        }
        running += processes(gpus->index[i], gpus->device[i]);
    }
    if (!running) {
        printf("|  %-87s|\n", "No running processes found");
    }
    fputs(line, stdout);
    fputs(failed ? "Internal error\n" : "", stdout); /* of a lost GPU, as the real one */
    return failed ? SMI_OTHER : SMI_FINE;
}

static int list_one(unsigned index) {
    struct smi_value name, uuid;
    nvmlDevice_t device;
    nvmlReturn_t answer = nvmlDeviceGetHandleByIndex_v2(index, &device);
    if (answer != NVML_SUCCESS) {
        printf("Unable to determine the device handle for gpu %u: %s\n", index,
               smi_no_handle(answer));
        return smi_exit_code(answer);
    }
    answer = smi_identity(device, SMI_NAME, &name);
    if (answer != NVML_SUCCESS) {
        printf("Unable to determine the product name for gpu %u: %s\n", index,
               nvmlErrorString(answer));
        return (int)answer;
    }
    answer = smi_identity(device, SMI_UUID, &uuid);
    printf("GPU %u: %s (UUID: %s)\n", index, name.text,
           answer == NVML_SUCCESS ? uuid.text : smi_failure(answer));
    return SMI_FINE;
}

int smi_list(void) {
    unsigned count = 0;
    int code = SMI_FINE;
    nvmlReturn_t answer = nvmlDeviceGetCount_v2(&count);
    if (answer != NVML_SUCCESS) {
        printf("Unable to determine the number of available GPUs: %s\n", smi_failure(answer));
        return smi_exit_code(answer);
    }
    if (!count) {
        puts("No devices found.");
    }
    for (unsigned i = 0; i < count; i++) {
        int one = list_one(i);
        code = one == SMI_FINE ? code : one;
    }
    return code;
}
