/* SPDX-License-Identifier: Apache-2.0
 *
 * nvmlInternalGetExportTable: the private table of functions that the real nvidia-smi asks for. Which entry
 * means what differs between driver branches and is kept as data below; each entry is a function of its own,
 * so that the entry says what was asked. What is not known answers SUCCESS and writes nothing. */
#include <string.h>

#include "exports.h"
#include "text.h"

GS_EXPORT nvmlReturn_t nvmlInternalGetExportTable(const void **table, const void *guid);

typedef nvmlReturn_t (*entry_function)(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d);

enum meaning { HANDLE_BY_INDEX, COMPUTE_PROCESSES, GRAPHICS_PROCESSES, MPS_PROCESSES, REFUSED };

/* Found out by logging the entries that each view of nvidia-smi 535.261.03 and 550.163.01 calls; both branches
 * and 580 agree on these. */
static const struct {
    unsigned entry;
    enum meaning meaning;
} known_entries[] = {
    {81, HANDLE_BY_INDEX},    {168, REFUSED}, /* the reset of `nvidia-smi -r` */
    {213, COMPUTE_PROCESSES}, {214, MPS_PROCESSES}, {215, GRAPHICS_PROCESSES},
    {230, REFUSED}, /* the host's highest PCIe generation: N/A on all captured boards */
};

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

/* The caller says in *count how many rows there is room for. */
static nvmlReturn_t list_processes(nvmlDevice_t handle, uint32_t kind, unsigned *count,
                                   struct process_row *rows) {
    const struct gs_device *device = NULL;
    nvmlReturn_t result = gs_enter_device(handle, 0, &device);
    if (result != NVML_SUCCESS || !count) {
        return result != NVML_SUCCESS ? result : NVML_ERROR_INVALID_ARGUMENT;
    }
    const struct gs_allocation *allocation = gs_allocation_of(device);
    unsigned room = rows ? *count : 0, needed = 0;
    for (uint32_t i = 0; i < allocation->process_count && i < GS_PROCESSES; i++) {
        const struct gs_process *process = &allocation->processes[i];
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

static void log_call(unsigned entry, const uintptr_t arguments[4]) {
    char line[160];
    struct gs_text text = gs_text_in(line, sizeof line);
    gs_text_add(&text, "export table entry ");
    gs_text_add_number(&text, entry);
    for (unsigned i = 0; i < 4; i++) {
        gs_text_add(&text, " 0x");
        gs_text_add_hex(&text, arguments[i], 1);
    }
    gs_debug(line);
}

__attribute__((noinline)) static nvmlReturn_t called(unsigned entry, uintptr_t a, uintptr_t b,
                                                     uintptr_t c, uintptr_t d) {
    log_call(entry, (const uintptr_t[]){a, b, c, d});
    for (size_t i = 0; i < sizeof known_entries / sizeof *known_entries; i++) {
        if (known_entries[i].entry != entry) {
            continue;
        }
        switch (known_entries[i].meaning) {
        case HANDLE_BY_INDEX:
            return b ? nvmlDeviceGetHandleByIndex_v2((unsigned)a, (nvmlDevice_t *)b)
                     : NVML_ERROR_INVALID_ARGUMENT;
        case COMPUTE_PROCESSES:
            return list_processes((nvmlDevice_t)a, 1u << 0, (unsigned *)b, (struct process_row *)c);
        case GRAPHICS_PROCESSES:
            return list_processes((nvmlDevice_t)a, 1u << 1, (unsigned *)b, (struct process_row *)c);
        case MPS_PROCESSES:
            return list_processes((nvmlDevice_t)a, 1u << 2, (unsigned *)b, (struct process_row *)c);
        case REFUSED:
            return NVML_ERROR_NOT_SUPPORTED;
        }
    }
    return NVML_SUCCESS;
}

#define ENTRY(high, low)                                                                           \
    static nvmlReturn_t entry_##high##_##low(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) { \
        return called(high * 16 + low, a, b, c, d);                                                \
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
