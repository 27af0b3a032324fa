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
    }
    if (strchr(name, ':')) {
        return SMI_NOT_FOUND;
    }
    unsigned found = count;
    for (unsigned i = 0; i < count; i++) {
        char uuid[NAME_ROOM] = "", serial[NVML_DEVICE_SERIAL_BUFFER_SIZE] = "";
        nvmlReturn_t answer = nvmlDeviceGetHandleByIndex_v2(i, &device);
        answer = answer == NVML_SUCCESS ? nvmlDeviceGetUUID(device, uuid, sizeof uuid) : answer;
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
    bool wanted[SMI_MOST_GPUS] = {false}, any = false;
    unsigned count = 0, index;
    nvmlDeviceGetCount_v2(&count);
    count = count < SMI_MOST_GPUS ? count : SMI_MOST_GPUS;
    for (const char *at = ids ? ids : ""; *at;) {
        char name[NAME_ROOM];
        size_t length = strcspn(at, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        at += length + (at[length] == ',');
        if (!*name) {
            continue;
        }
        any = true;
        int code = find(name, count, &index);
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
        if ((!ids || wanted[i]) && nvmlDeviceGetHandleByIndex_v2(i, &device) == NVML_SUCCESS) {
            gpus->index[gpus->count] = i;
            gpus->device[gpus->count++] = device;
        }
    }
    return SMI_FINE;
}
