/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi -i: which GPUs. A UUID or a serial is looked for by asking each GPU for its own, as the real one does, so
 * a lost GPU stands in the way of both. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "smi.h"

enum { NAME_ROOM = NVML_DEVICE_UUID_V2_BUFFER_SIZE };

static bool is_index(const char *name, unsigned count, unsigned *index) {
    char *end;
    unsigned long number = strtoul(name, &end, 0);
    *index = (unsigned)number;
    return *name && !*end && *name != '-' && number < count;
}

const char *smi_no_handle(nvmlReturn_t answer) {
    switch (answer) {
    case NVML_ERROR_NO_PERMISSION:
    case NVML_ERROR_NOT_FOUND:
        return nvmlErrorString(answer);
    case NVML_ERROR_INSUFFICIENT_POWER:
        return "Unable to communicate with GPU because it is insufficiently powered.\n"
               "This may be because not all required external power cables are\n"
               "attached, or the attached cables are not seated properly.\n\n";
    case NVML_ERROR_IRQ_ISSUE:
        return "The NVIDIA kernel module detected an issue with GPU interrupts."
               "Consult the \"Common Problems\" Chapter of the NVIDIA Driver README for\n"
               "details and steps that can be taken to resolve this issue.";
    case NVML_ERROR_GPU_IS_LOST:
        return "GPU is lost.  Reboot the system to recover this GPU\n\n";
    case NVML_ERROR_RESET_REQUIRED:
        return "A GPU reset must occur before this GPU can be used again.\n\n.";
    default:
        return "Unknown Error";
    }
}

int smi_exit_code(nvmlReturn_t answer) {
    bool none = answer == NVML_ERROR_UNINITIALIZED || answer == NVML_ERROR_TIMEOUT ||
                answer == NVML_ERROR_RESET_REQUIRED;
    return none ? SMI_OTHER : (int)answer;
}

static int find(const char *name, unsigned count, unsigned *index) {
    nvmlDevice_t device, named;
    if (is_index(name, count, index)) {
        return SMI_FINE;
    }
    if (nvmlDeviceGetHandleByPciBusId_v2(name, &named) == NVML_SUCCESS) {
        for (*index = 0; *index < count; ++*index) {
            if (nvmlDeviceGetHandleByIndex_v2(*index, &device) == NVML_SUCCESS && device == named) {
                return SMI_FINE;
            }
        }
        if (nvmlDeviceGetIndex(named, index) == NVML_SUCCESS && *index < count) {
            return SMI_FINE; /* no index has a handle, which is told later */
        }
    }
    if (strchr(name, ':')) {
        return SMI_NOT_FOUND;
    }
    unsigned found = count;
    for (unsigned i = 0; i < count; i++) {
        char uuid[NAME_ROOM] = "", serial[NVML_DEVICE_SERIAL_BUFFER_SIZE] = "";
        nvmlReturn_t answer = nvmlDeviceGetHandleByIndex_v2(i, &device);
        if (answer == NVML_ERROR_NO_PERMISSION) {
            continue;
        }
        if (answer != NVML_SUCCESS) {
            printf("Problem with GPU %u: %s\n", i, smi_no_handle(answer));
            return SMI_OTHER;
        }
        answer = nvmlDeviceGetUUID(device, uuid, sizeof uuid);
        if (answer != NVML_SUCCESS) {
            printf("Problem with GPU %u: %s\n", i, nvmlErrorString(answer));
            return SMI_OTHER;
        }
        nvmlDeviceGetSerial(device, serial, sizeof serial);
        found = !strcmp(name, uuid) || (*serial && !strcmp(name, serial)) ? i : found;
    }
    *index = found;
    return found < count ? SMI_FINE : SMI_NOT_FOUND;
}

int smi_choose(const char *ids, struct smi_gpus *gpus) {
    bool wanted[SMI_MOST_GPUS] = {false}, any = false, denied = false;
    unsigned count = 0, index;
    nvmlReturn_t answer = nvmlDeviceGetCount_v2(&count);
    if (answer != NVML_SUCCESS) {
        fputs("Unable to determine the number of GPUs", stdout);
        return smi_exit_code(answer);
    }
    count = count < SMI_MOST_GPUS ? count : SMI_MOST_GPUS;
    for (const char *at = ids ? ids : ""; *at;) {
        size_t length = strcspn(at, ",");
        char *name = length ? strndup(at, length) : NULL;
        at += length + (at[length] == ',');
        if (!name) {
            continue;
        }
        any = true;
        int code = find(name, count, &index);
        free(name);
        if (code == SMI_OTHER) {
            return code;
        }
        if (code == SMI_FINE) {
            wanted[index] = true;
        }
    }
    if (ids && !any) {
        fputs("Failed to parse device string on command line", stdout);
        return SMI_OTHER;
    }
    for (unsigned i = 0; i < count; i++) {
        nvmlDevice_t device;
        if (ids && !wanted[i]) {
            continue;
        }
        answer = nvmlDeviceGetHandleByIndex_v2(i, &device);
        denied |= answer == NVML_ERROR_NO_PERMISSION;
        if (answer == NVML_SUCCESS) {
            gpus->index[gpus->count] = i;
            gpus->device[gpus->count++] = device;
        } else if (answer != NVML_ERROR_NO_PERMISSION && answer != NVML_ERROR_NOT_FOUND) {
            printf("Unable to determine the device handle for GPU%u: %s\n", i,
                   smi_no_handle(answer));
            return smi_exit_code(answer);
        }
    }
    if (denied && !gpus->count) {
        puts("No devices were found. Please make sure /dev/nvidia* files are readable by current "
             "user.");
        return (int)NVML_ERROR_NO_PERMISSION;
    }
    return SMI_FINE;
}
