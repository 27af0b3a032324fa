/* SPDX-License-Identifier: Apache-2.0
 *
 * nvmlInternalGetExportTable: the private table of functions that the real nvidia-smi asks for. Which entry
 * means what differs between driver branches and is kept as data below; each entry is a function of its own,
 * so that the entry says what was asked. What is not known answers SUCCESS and writes nothing. */
#include <string.h>

#include "exports.h"
#include "live.h"
#include "text.h"

GS_EXPORT nvmlReturn_t nvmlInternalGetExportTable(const void **table, const void *guid);

typedef nvmlReturn_t (*entry_function)(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d,
                                       uintptr_t e);

/* What was called with, in the order of the calling convention. */
typedef const uintptr_t *arguments;

/* A row of the private process lists, by NVIDIA's own public mock: public fields, then the name in place. */
struct process_row {
    uint32_t pid;
    uint32_t reserved;
    uint64_t memory;
    uint32_t gpu_instance;
    uint32_t compute_instance;
    uint64_t protected_memory;
    char name[4096];
};
_Static_assert(sizeof(struct process_row) == 4128, "nvidia-smi steps by this");

/* The caller says in *count how many rows there is room for. `name` is the public function of these rows: what a
 * fault makes of that, it makes of this. */
static nvmlReturn_t list_processes(arguments a, uint32_t kind, const char *name) {
    const struct gs_device *device = NULL;
    unsigned *count = (unsigned *)a[1];
    struct process_row *rows = (struct process_row *)a[2];
    nvmlReturn_t result = gs_enter_device((nvmlDevice_t)a[0], gs_function_id(name), &device);
    if (result != NVML_SUCCESS || !count) {
        return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
    }
    struct gs_allocation allocation;
    gs_copy_allocation(device, &allocation);
    unsigned room = rows ? *count : 0, needed = 0;
    for (uint32_t i = 0; i < allocation.process_count && i < GS_PROCESSES; i++) {
        const struct gs_process *process = &allocation.processes[i];
        if (!process->pid || !(process->kind & kind)) {
            continue;
        }
        if (needed < room) {
            struct process_row *row = &rows[needed];
            memset(row, 0, offsetof(struct process_row, name));
            row->pid = process->pid;
            row->memory = process->memory;
            row->gpu_instance = process->gpu_instance;
            row->compute_instance = process->compute_instance;
            memcpy(row->name, process->name, sizeof process->name);
            row->name[sizeof process->name] = '\0';
        }
        needed++;
    }
    *count = needed;
    return needed <= room ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

static nvmlReturn_t enter(uintptr_t handle, const struct gs_device **device) {
    return gs_enter_device((nvmlDevice_t)handle, 0, device);
}

/* (text, &domain, &bus, &device, &function) */
static nvmlReturn_t parse_bus_id(arguments a) {
    struct gs_bus_id id;
    if (gs_parse_bus_id((const char *)a[0], &id)) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    *(uint32_t *)a[1] = id.domain;
    *(uint32_t *)a[2] = id.bus;
    *(uint32_t *)a[3] = id.device;
    *(uint32_t *)a[4] = id.function;
    return NVML_SUCCESS;
}

/* (index, &domain, &bus, &device) */
static nvmlReturn_t bus_id_by_index(arguments a) {
    const struct gs_snapshot *snapshot = gs_snapshot();
    unsigned index = (unsigned)a[0]; /* the upper half of the register is anything */
    if (index >= snapshot->count) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    const struct gs_config *config = gs_config_of(&gs_devices[snapshot->order[index]]);
    *(uint32_t *)a[1] = config->pci_domain;
    *(uint32_t *)a[2] = config->pci_bus;
    *(uint32_t *)a[3] = config->pci_device;
    return NVML_SUCCESS;
}

/* (index, &handle, 0x22). Of a lost GPU a real driver gives nvidia-smi no handle, and nvidia-smi says so. */
static nvmlReturn_t handle_by_index(arguments a) {
    const struct gs_device *device = NULL;
    nvmlDevice_t handle = NULL;
    nvmlReturn_t result = nvmlDeviceGetHandleByIndex_v2((unsigned)a[0], &handle);
    if (result == NVML_SUCCESS) {
        result = enter((uintptr_t)handle, &device);
    }
    if (result == NVML_SUCCESS) {
        *(nvmlDevice_t *)a[1] = handle;
    }
    return result;
}

/* (bus id, another, &steps): how far a GPU is from another on PCIe, of `topo`. */
static nvmlReturn_t path_between(arguments a) {
    static const struct {
        nvmlGpuTopologyLevel_t level;
        int steps;
    } known[] = {{NVML_TOPOLOGY_MULTIPLE, 1},
                 {NVML_TOPOLOGY_HOSTBRIDGE, 2},
                 {NVML_TOPOLOGY_NODE, 3},
                 {NVML_TOPOLOGY_SYSTEM, 4}};
    nvmlDevice_t one = NULL, other = NULL;
    nvmlGpuTopologyLevel_t level = NVML_TOPOLOGY_INTERNAL;
    nvmlReturn_t result = nvmlDeviceGetHandleByPciBusId_v2((const char *)a[0], &one);
    if (result == NVML_SUCCESS) {
        result = nvmlDeviceGetHandleByPciBusId_v2((const char *)a[1], &other);
    }
    if (result == NVML_SUCCESS) {
        result = nvmlDeviceGetTopologyCommonAncestor(one, other, &level);
    }
    if (result != NVML_SUCCESS) {
        return result;
    }
    *(int *)a[2] = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].level == level) {
            *(int *)a[2] = known[i].steps;
        }
    }
    return NVML_SUCCESS;
}

/* (device, &count, rows), one entry for each kind. */
static nvmlReturn_t compute_processes(arguments a) {
    return list_processes(a, 1u << 0, "nvmlDeviceGetComputeRunningProcesses_v3");
}

static nvmlReturn_t graphics_processes(arguments a) {
    return list_processes(a, 1u << 1, "nvmlDeviceGetGraphicsRunningProcesses_v3");
}

static nvmlReturn_t mps_processes(arguments a) {
    return list_processes(a, 1u << 2, "nvmlDeviceGetMPSComputeRunningProcesses_v3");
}

/* (device, &milliwatts): of a query; -q asks in public. */
static nvmlReturn_t enforced_power_limit(arguments a) {
    return nvmlDeviceGetEnforcedPowerLimit((nvmlDevice_t)a[0], (unsigned *)a[1]);
}

/* (device, text, size) */
static nvmlReturn_t gpu_part_number(arguments a) {
    const struct gs_device *device = NULL;
    nvmlReturn_t result = enter(a[0], &device);
    return result != NVML_SUCCESS
               ? result
               : gs_give_text((char *)a[1], (unsigned)a[2], gs_config_of(device)->gpu_part_number);
}

/* (device, &number): three figures of boards that have the feature. */
static nvmlReturn_t temperature_margin(arguments a) {
    const struct gs_device *device = NULL;
    nvmlReturn_t result = enter(a[0], &device);
    if (result != NVML_SUCCESS) {
        return result;
    }
    const struct gs_config *config = gs_config_of(device);
    if (!(config->features & GS_HAS_TLIMIT)) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    *(int *)a[1] = config->temp_gpu_max - gs_live_temperature(device);
    return NVML_SUCCESS;
}

static nvmlReturn_t addressing_mode(arguments a) {
    const struct gs_device *device = NULL;
    nvmlReturn_t result = enter(a[0], &device);
    if (result == NVML_SUCCESS) {
        *(int *)a[1] = NVML_DEVICE_ADDRESSING_MODE_HMM;
    }
    return result;
}

static nvmlReturn_t sparse_operation_mode(arguments a) {
    const struct gs_device *device = NULL;
    nvmlReturn_t result = enter(a[0], &device);
    if (result != NVML_SUCCESS) {
        return result;
    }
    if (!(gs_config_of(device)->features & GS_HAS_SPARSE_MODE)) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    *(int *)a[1] = 0;
    return NVML_SUCCESS;
}

/* N/A on all captured boards. */
static nvmlReturn_t refused(arguments a) {
    (void)a;
    return NVML_ERROR_NOT_SUPPORTED;
}

/* Found out by logging the entries that each view of nvidia-smi 535.261.03 and 550.163.01 calls, and by
 * answering one of them differently; where only one branch calls an entry, it says which. */
static const struct {
    unsigned entry;
    nvmlReturn_t (*answer)(arguments a);
} known_entries[] = {
    {12, parse_bus_id},
    {23, path_between},
    {75, bus_id_by_index},
    {81, handle_by_index},
    {108, enforced_power_limit},
    {165, refused}, /* relaxed ordering */
    {168, refused}, /* the reset of `nvidia-smi -r` */
    {209, refused}, /* voltage */
    {213, compute_processes},
    {214, mps_processes},
    {215, graphics_processes},
    {230, refused}, /* the host's highest PCIe generation */
    {231, gpu_part_number},
    {232, refused}, /* deferred memory clock */
    {240, temperature_margin},
    {241, refused}, /* 535: the NUMA node of its memory */
    {242, addressing_mode},
    {243, sparse_operation_mode}, /* 535 */
    {249, sparse_operation_mode}, /* 550 */
};

static void log_call(unsigned entry, arguments a) {
    char line[160];
    struct gs_text text = gs_text_in(line, sizeof line);
    gs_text_add(&text, "export table entry ");
    gs_text_add_number(&text, entry);
    for (unsigned i = 0; i < 4; i++) {
        gs_text_add(&text, " 0x");
        gs_text_add_hex(&text, a[i], 1);
    }
    gs_debug(line);
}

__attribute__((noinline)) static nvmlReturn_t called(unsigned entry, arguments a) {
    log_call(entry, a);
    for (size_t i = 0; i < sizeof known_entries / sizeof *known_entries; i++) {
        if (known_entries[i].entry == entry) {
            return known_entries[i].answer(a);
        }
    }
    return NVML_SUCCESS;
}

#define ENTRY(high, low)                                                                           \
    static nvmlReturn_t entry_##high##_##low(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d,   \
                                             uintptr_t e) {                                        \
        return called(high * 16 + low, (const uintptr_t[]){a, b, c, d, e});                        \
    }
#define NAME(high, low) [high * 16 + low] = entry_##high##_##low,
/* clang-format off */
#define ROW(X, high) \
    X(high, 0) X(high, 1) X(high, 2) X(high, 3) X(high, 4) X(high, 5) X(high, 6) X(high, 7) \
    X(high, 8) X(high, 9) X(high, 10) X(high, 11) X(high, 12) X(high, 13) X(high, 14) X(high, 15)
#define ALL(X) \
    ROW(X, 0) ROW(X, 1) ROW(X, 2) ROW(X, 3) ROW(X, 4) ROW(X, 5) ROW(X, 6) ROW(X, 7) \
    ROW(X, 8) ROW(X, 9) ROW(X, 10) ROW(X, 11) ROW(X, 12) ROW(X, 13) ROW(X, 14) ROW(X, 15)
/* clang-format on */
ALL(ENTRY)

enum { ENTRIES = 512 };
static union {
    uint64_t size;
    entry_function function;
} entries[ENTRIES] = {{.size = sizeof entries}};

nvmlReturn_t nvmlInternalGetExportTable(const void **table, const void *guid) {
    static const unsigned char known[16] = {0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e,
                                            0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4};
    static const entry_function functions[256] = {ALL(NAME)};
    if (!table || !guid) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (memcmp(guid, known, sizeof known) != 0) {
        gs_debug("unknown table");
        return NVML_ERROR_NOT_SUPPORTED;
    }
    for (unsigned i = 1; i < ENTRIES; i++) {
        entries[i].function = functions[i % 256];
    }
    *table = entries;
    return NVML_SUCCESS;
}
