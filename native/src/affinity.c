/* SPDX-License-Identifier: Apache-2.0
 *
 * Chapter "Device Queries", which CPUs and memory are near a GPU. A simulated GPU is as near to one CPU as to
 * any other: all that the machine has, on memory node 0. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "exports.h"

enum { BITS = 8 * sizeof(unsigned long) };

void gs_parse_cpus(const char *text, unsigned int size, unsigned long *set) {
    while (*text >= '0' && *text <= '9') {
        unsigned first = 0, last = 0;
        for (; *text >= '0' && *text <= '9'; text++) {
            first = first * 10 + (unsigned)(*text - '0');
        }
        last = first;
        if (*text == '-') {
            for (last = 0, text++; *text >= '0' && *text <= '9'; text++) {
                last = last * 10 + (unsigned)(*text - '0');
            }
        }
        for (unsigned bit = first; bit <= last && bit / BITS < size; bit++) {
            set[bit / BITS] |= 1ul << bit % BITS;
        }
        text += *text == ',';
    }
}

static nvmlReturn_t give_cpus(unsigned int size, unsigned long *set) {
    char text[1024] = "0";
    if (!size) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    memset(set, 0, size * sizeof *set);
    int file = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        ssize_t got = read(file, text, sizeof text - 1);
        close(file);
        text[got > 0 ? got : 0] = '\0';
    }
    gs_parse_cpus(text, size, set);
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetCpuAffinity(const struct gs_device *device, unsigned int cpuSetSize,
                                    unsigned long *cpuSet) {
    (void)device;
    return give_cpus(cpuSetSize, cpuSet);
}

nvmlReturn_t gsDeviceGetCpuAffinityWithinScope(const struct gs_device *device,
                                               unsigned int cpuSetSize, unsigned long *cpuSet,
                                               nvmlAffinityScope_t scope) {
    (void)device;
    return scope > NVML_AFFINITY_SCOPE_SOCKET ? NVML_ERROR_INVALID_ARGUMENT
                                              : give_cpus(cpuSetSize, cpuSet);
}

nvmlReturn_t gsDeviceGetMemoryAffinity(const struct gs_device *device, unsigned int nodeSetSize,
                                       unsigned long *nodeSet, nvmlAffinityScope_t scope) {
    (void)device;
    if (!nodeSetSize || scope > NVML_AFFINITY_SCOPE_SOCKET) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    memset(nodeSet, 0, nodeSetSize * sizeof *nodeSet);
    nodeSet[0] = 1;
    return NVML_SUCCESS;
}
