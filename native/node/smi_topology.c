/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi topo: how GPUs are connected. */
#include <stdio.h>
#include <string.h>

#include "smi.h"
#include "smi_facts.h"

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
    nvmlFieldValue_t switched = {.fieldId = NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT};
    nvmlPciInfo_t other = {0};
    unsigned count = 0;
    if (nvmlDeviceGetFieldValues(from, 1, &switched) == NVML_SUCCESS &&
        switched.nvmlReturn == NVML_SUCCESS) {
        return switched.value.uiVal;
    }
    nvmlDeviceGetPciInfo_v3(to, &other);
    for (unsigned link = 0; link < MOST_LINKS; link++) {
        nvmlEnableState_t active = NVML_FEATURE_DISABLED;
        nvmlPciInfo_t remote = {0};
        if (nvmlDeviceGetNvLinkState(from, link, &active) != NVML_SUCCESS || !active) {
            continue;
        }
        nvmlDeviceGetNvLinkRemotePciInfo_v2(from, link, &remote);
        count += !strcmp(remote.busId, other.busId);
    }
    return count;
}

static void cell(nvmlDevice_t from, nvmlDevice_t to, bool nvlink, char *text, size_t size) {
    nvmlGpuTopologyLevel_t level = NVML_TOPOLOGY_SYSTEM;
    nvmlDeviceGetTopologyCommonAncestor(from, to, &level);
    unsigned count = nvlink && links(to, from) ? links(from, to) : 0; /* it takes two ends */
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
}

/* "0-15,32": the numbers of the bits that are set; nothing of none. */
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

static bool all_tell(const struct smi_gpus *gpus, smi_ask *ask, int what) {
    struct smi_value value;
    for (unsigned i = 0; i < gpus->count; i++) {
        if (ask(gpus->device[i], what, &value) != NVML_SUCCESS) {
            return false;
        }
    }
    return true;
}

/* Whether the library tells how far one GPU is from another. */
static nvmlReturn_t is_placed(nvmlDevice_t device, int what, struct smi_value *value) {
    nvmlDevice_t other;
    nvmlGpuTopologyLevel_t level;
    (void)what, (void)value;
    nvmlReturn_t answer = nvmlDeviceGetHandleByIndex_v2(0, &other);
    return answer != NVML_SUCCESS ? answer
                                  : nvmlDeviceGetTopologyCommonAncestor(device, other, &level);
}

static int failed(void) {
    puts("Failed to run topology matrix\n");
    return SMI_OTHER;
}

static int matrix(const struct smi_gpus *gpus, bool nvlink) {
    char text[16];
    if (!gpus->count || !all_tell(gpus, smi_pci, SMI_PLACE) ||
        !all_tell(gpus, smi_identity, SMI_BRAND)) {
        return failed();
    }
    fputs("\t\33[4m", stdout);
    for (unsigned i = 0; i < gpus->count; i++) {
        printf("GPU%u\t", gpus->index[i]);
    }
    puts("CPU Affinity\tNUMA Affinity\tGPU NUMA ID\33[0m");
    if (!all_tell(gpus, smi_identity, SMI_ARCHITECTURE) || !all_tell(gpus, is_placed, 0)) {
        return failed();
    }
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

/* Those with a handle; that there are none is told by the matrix, whatever the reason. */
static void all(struct smi_gpus *gpus) {
    unsigned count = 0;
    nvmlDeviceGetCount_v2(&count);
    for (unsigned i = 0; i < count && i < SMI_MOST_GPUS; i++) {
        if (nvmlDeviceGetHandleByIndex_v2(i, &gpus->device[gpus->count]) == NVML_SUCCESS) {
            gpus->index[gpus->count++] = i;
        }
    }
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
    int code = ids ? smi_choose(ids, &gpus) : SMI_FINE;
    if (!ids) {
        all(&gpus);
    }
    if (code == SMI_FINE && ids && !gpus.count) {
        puts("No devices were found");
        code = SMI_NOT_FOUND;
    } else if (code == SMI_FINE && ids) {
        puts("The -i command line argument must be used in conjunction with -n or -p.\n");
        code = SMI_OTHER;
    }
    return code != SMI_FINE ? code : shown ? matrix(&gpus, nvlink) : help();
}
