/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi topo: how GPUs are connected. */
#include <stdio.h>
#include <string.h>

#include "smi.h"

enum { MOST_LINKS = 18, MOST_CPUS = 1024, WORD_BITS = 8 * sizeof(unsigned long) };

static const char legend[] =
    "\nLegend:\n\n"
    "  X    = Self\n"
    "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., "
    "QPI/UPI)\n"
    "  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges "
    "within a NUMA node\n"
    "  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)\n"
    "  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host "
    "Bridge)\n"
    "  PIX  = Connection traversing at most a single PCIe bridge\n";

/* Active NVLinks of `from` that lead to `to`, or to switches that lead to all. */
static unsigned links(nvmlDevice_t from, nvmlDevice_t to) {
    nvmlPciInfo_t other = {0};
    unsigned count = 0;
    nvmlDeviceGetPciInfo_v3(to, &other);
    for (unsigned link = 0; link < MOST_LINKS; link++) {
        nvmlEnableState_t active = NVML_FEATURE_DISABLED;
        nvmlIntNvLinkDeviceType_t type = NVML_NVLINK_DEVICE_TYPE_UNKNOWN;
        nvmlPciInfo_t remote = {0};
        if (nvmlDeviceGetNvLinkState(from, link, &active) != NVML_SUCCESS || !active) {
            continue;
        }
        nvmlDeviceGetNvLinkRemoteDeviceType(from, link, &type);
        nvmlDeviceGetNvLinkRemotePciInfo_v2(from, link, &remote);
        count += type == NVML_NVLINK_DEVICE_TYPE_SWITCH || !strcmp(remote.busId, other.busId);
    }
    return count;
}

static bool cell(nvmlDevice_t from, nvmlDevice_t to, bool nvlink, char *text, size_t size) {
    nvmlGpuTopologyLevel_t level = NVML_TOPOLOGY_SYSTEM;
    nvmlReturn_t answer = nvmlDeviceGetTopologyCommonAncestor(from, to, &level);
    unsigned count = nvlink ? links(from, to) : 0;
    if (count) {
        snprintf(text, size, "NV%u", count);
    } else {
        snprintf(text, size, "%s",
                 level == NVML_TOPOLOGY_INTERNAL     ? "PSB"
                 : level == NVML_TOPOLOGY_SINGLE     ? "PIX"
                 : level == NVML_TOPOLOGY_MULTIPLE   ? "PXB"
                 : level == NVML_TOPOLOGY_HOSTBRIDGE ? "PHB"
                 : level == NVML_TOPOLOGY_NODE       ? "NODE"
                                                     : "SYS");
    }
    return answer == NVML_SUCCESS;
}

/* "0-15,32": the numbers of the bits that are set; "N/A" of none. */
static void ranges(const unsigned long *set, unsigned bits) {
    bool any = false;
    for (unsigned i = 0; i < bits; i++) {
        if (!(set[i / WORD_BITS] >> i % WORD_BITS & 1)) {
            continue;
        }
        unsigned last = i;
        while (last + 1 < bits && set[(last + 1) / WORD_BITS] >> (last + 1) % WORD_BITS & 1) {
            last++;
        }
        printf("%s%u", any ? "," : "", i);
        if (last > i) {
            printf("-%u", last);
        }
        any = true;
        i = last;
    }
    fputs(any ? "" : "N/A", stdout);
}

static void affinity(nvmlDevice_t device) {
    unsigned long cpus[MOST_CPUS / WORD_BITS] = {0}, nodes[1] = {0};
    nvmlDeviceGetCpuAffinity(device, MOST_CPUS / WORD_BITS, cpus);
    ranges(cpus, MOST_CPUS);
    putchar('\t');
    nvmlDeviceGetMemoryAffinity(device, 1, nodes, NVML_AFFINITY_SCOPE_NODE);
    ranges(nodes, WORD_BITS);
    puts("\t\tN/A");
}

static int matrix(const struct smi_gpus *gpus, bool nvlink) {
    char text[16];
    for (unsigned i = 0; i < gpus->count; i++) {
        if (!cell(gpus->device[i], gpus->device[!i && gpus->count > 1], nvlink, text,
                  sizeof text)) {
            puts("Failed to run topology matrix\n");
            return SMI_OTHER;
        }
    }
    fputs("\t\33[4m", stdout);
    for (unsigned i = 0; i < gpus->count; i++) {
        printf("GPU%u\t", gpus->index[i]);
    }
    puts("CPU Affinity\tNUMA Affinity\tGPU NUMA ID\33[0m");
    for (unsigned i = 0; i < gpus->count; i++) {
        printf("GPU%u\t", gpus->index[i]);
        for (unsigned j = 0; j < gpus->count; j++) {
            cell(gpus->device[i], gpus->device[j], nvlink, text, sizeof text);
            printf("%s\t", i == j ? " X " : text);
        }
        affinity(gpus->device[i]);
    }
    fputs(legend, stdout);
    fputs(nvlink ? "  NV#  = Connection traversing a bonded set of # NVLinks\n" : "", stdout);
    return SMI_FINE;
}

static int help(void) {
    puts("\n    topo -- How GPUs are connected.\n\n    Usage: nvidia-smi topo [options]\n\n"
         "    [-m | --matrix]: between each two GPUs, NVLinks or the PCIe path\n"
         "    [-mp | --matrix_pci]: the PCIe path only\n"
         "    [-h | --help]: this text\n");
    return SMI_FINE;
}

int smi_topology(int count, char **words) {
    static const char *const elsewhere[] = {"-c", "-n", "-p", "-p2p", "-C", "-M", "-gnid"};
    struct smi_gpus gpus = {0};
    const char *ids = NULL;
    bool nvlink = false, shown = false;
    for (int i = 0; i < count; i++) {
        bool pci = !strcmp(words[i], "-mp") || !strcmp(words[i], "--matrix_pci");
        if (pci || !strcmp(words[i], "-m") || !strcmp(words[i], "--matrix")) {
            shown = true;
            nvlink = !pci;
        } else if ((!strcmp(words[i], "-i") || !strcmp(words[i], "--id")) && i + 1 < count) {
            ids = words[++i];
        } else if (!strcmp(words[i], "-h") || !strcmp(words[i], "--help")) {
            return help();
        } else {
            for (size_t j = 0; j < sizeof elsewhere / sizeof *elsewhere; j++) {
                if (!strcmp(words[i], elsewhere[j])) {
                    printf("nvidia-smi: topo %s is not simulated by gpu-sim's own nvidia-smi\n",
                           words[i]);
                    return SMI_NOT_AVAILABLE;
                }
            }
            printf("Option \"%s\" is not recognized.\n", words[i]);
            return SMI_INVALID_ARGUMENT;
        }
    }
    if (!count) {
        return help();
    }
    int code = smi_choose(ids, &gpus);
    if (code == SMI_FINE && !gpus.count) {
        puts("No devices were found");
        code = SMI_NOT_FOUND;
    } else if (code == SMI_FINE && ids) {
        puts("The -i command line argument must be used in conjunction with -n or -p.\n");
        code = SMI_OTHER;
    }
    return code != SMI_FINE ? code : shown ? matrix(&gpus, nvlink) : help();
}
