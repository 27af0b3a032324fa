/* SPDX-License-Identifier: Apache-2.0
 *
 * What the chapters of the library share: devices, the check at every entry, output helpers.
 * What must stay true: a getter takes no lock, and everything that a handle points to stays mapped. */
#ifndef GPU_SIM_STATE_H
#define GPU_SIM_STATE_H

#ifndef NVML_NO_UNVERSIONED_FUNC_DEFS
#error "nvml.h would rename the unversioned functions"
#endif
#include <nvml.h>

#include "inventory.h"
#include "reader.h"

#define GS_EXPORT __attribute__((visibility("default")))

/* What an nvmlDevice_t points to. Clients have been seen to read through a handle, so it is real memory;
 * its address belongs to a slot for ever. 64 bytes, for a cheap check. */
struct gs_device {
    const struct gs_config *config; /* this process's copy */
    const struct gs_gpu *gpu;       /* run-time groups, in the mapped file */
    uint32_t slot;
    uint32_t index;   /* among the visible */
    uint32_t visible; /* 0: this handle is not valid */
    uint32_t reserved[9];
};
_Static_assert(sizeof(struct gs_device) == 64, "the handle check counts on it");

/* What init made of file and environment. Two of them: the one in use is never written. */
struct gs_snapshot {
    struct gs_node node;
    const struct gs_inventory *inventory;
    uint32_t count;
    uint32_t order[GS_SLOTS]; /* slot of each visible index */
    struct gs_config config[GS_SLOTS];
};

extern struct gs_device gs_devices[GS_SLOTS];
extern uint32_t gs_references;

/* Of the last successful init. */
const struct gs_snapshot *gs_snapshot(void);

/* CLOCK_BOOTTIME in nanoseconds. */
uint64_t gs_now_ns(void);

/* The injected code for a call of the function, after the injected delay; NVML_SUCCESS: go on. */
nvmlReturn_t gs_faulted(const struct gs_fault *faults, const struct gs_fault_detail *details,
                        uint32_t function);

static inline const struct gs_state *gs_state_of(const struct gs_device *device) {
    const struct gs_gpu *gpu = __atomic_load_n(&device->gpu, __ATOMIC_ACQUIRE);
    return gs_state_now(gpu);
}

static inline const struct gs_allocation *gs_allocation_of(const struct gs_device *device) {
    const struct gs_gpu *gpu = __atomic_load_n(&device->gpu, __ATOMIC_ACQUIRE);
    return &gpu->allocation[gs_flip(&gpu->allocation_flip)];
}

/* For answers of more than one figure: all of one moment, however often a writer flips meanwhile. */
static inline void gs_copy_state(const struct gs_device *device, struct gs_state *state) {
    gs_read_state(__atomic_load_n(&device->gpu, __ATOMIC_ACQUIRE), state);
}

static inline void gs_copy_allocation(const struct gs_device *device,
                                      struct gs_allocation *allocation) {
    gs_read_allocation(__atomic_load_n(&device->gpu, __ATOMIC_ACQUIRE), allocation);
}

static inline const struct gs_config *gs_config_of(const struct gs_device *device) {
    return __atomic_load_n(&device->config, __ATOMIC_ACQUIRE);
}

/* At the start of each function that has no device. */
static inline nvmlReturn_t gs_enter(uint32_t function) {
    if (!__atomic_load_n(&gs_references, __ATOMIC_ACQUIRE)) {
        return NVML_ERROR_UNINITIALIZED;
    }
    const struct gs_header *header = &gs_snapshot()->inventory->header;
    return header->faults->function ? gs_faulted(header->faults, header->fault_details, function)
                                    : NVML_SUCCESS;
}

/* `lost` may be held back until a moment: the clock is read only then. */
static inline int gs_is_lost(const struct gs_state *state) {
    return (state->lost && (!state->lost_from_ns || gs_now_ns() >= state->lost_from_ns)) ||
           state->slot == GS_SLOT_REMOVED;
}

/* At the start of each function for each device: initialised, a handle of ours, not lost, no fault. */
static inline nvmlReturn_t gs_enter_device(nvmlDevice_t handle, uint32_t function,
                                           const struct gs_device **device) {
    uintptr_t offset = (uintptr_t)handle - (uintptr_t)gs_devices;
    if (!__atomic_load_n(&gs_references, __ATOMIC_ACQUIRE)) {
        return NVML_ERROR_UNINITIALIZED;
    }
    if (offset >= sizeof gs_devices || offset % sizeof *gs_devices) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    const struct gs_device *found = &gs_devices[offset / sizeof *gs_devices];
    if (!__atomic_load_n(&found->visible, __ATOMIC_ACQUIRE)) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    const struct gs_state *state = gs_state_of(found);
    if (gs_is_lost(state)) {
        return NVML_ERROR_GPU_IS_LOST;
    }
    *device = found;
    return state->faults->function ? gs_faulted(state->faults, state->fault_details, function)
                                   : NVML_SUCCESS;
}

/* Text into a caller's buffer: all of it with its NUL, or INSUFFICIENT_SIZE and the buffer as it was. */
nvmlReturn_t gs_give_text(char *out, unsigned int length, const char *text);

struct gs_bus_id {
    uint32_t domain;
    uint32_t bus;
    uint32_t device;
    uint32_t function;
};

/* "domain:bus:device.function" with up to 8 digits of domain, "bus:device.function", any letter case, the
 * function optional: what a real driver takes. 0, or -1 for anything else. */
int gs_parse_bus_id(const char *text, struct gs_bus_id *id);

/* The kernel's list of CPUs, "0-3,8", as bits in a set of `size` words; what does not fit is left out. */
void gs_parse_cpus(const char *text, unsigned int size, unsigned long *set);

/* Microseconds since 1970. */
uint64_t gs_wall_us(void);

/* Diagnostics on stderr, only with GPU_SIM_DEBUG=1. */
void gs_debug(const char *text);

/* What a generated stub answers. */
nvmlReturn_t gs_not_simulated(const char *function);

#define GS_VERSIONED(pointer, wanted)                                                              \
    do {                                                                                           \
        if ((pointer)->version != (wanted)) {                                                      \
            return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;                                           \
        }                                                                                          \
    } while (0)

#endif
