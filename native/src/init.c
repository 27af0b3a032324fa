/* SPDX-License-Identifier: Apache-2.0
 *
 * nvmlInit and nvmlShutdown: reads file and environment anew at every call and counts references.
 * What must stay true: nothing is ever unmapped or freed, so that a getter in another thread is safe;
 * a fork while another thread is in here does not hang the child. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "build.h"
#include "discover.h"
#include "exports.h"
#include "reader.h"
#include "text.h"

struct gs_device gs_devices[GS_SLOTS];
uint32_t gs_references;

static struct gs_snapshot snapshots[2];
static uint32_t current; /* of snapshots */
/* Built here from the environment; untouched pages of it cost nothing. */
static struct gs_inventory own;
static struct gs_mapping mapped; /* the file of the last init, if any */
static int ever;                 /* initialised at least once */
enum { DISCOVER_ATTEMPTS = 8 };
static int lock; /* process id of the holder; 0: free */

const struct gs_snapshot *gs_snapshot(void) {
    return &snapshots[__atomic_load_n(&current, __ATOMIC_ACQUIRE)];
}

uint64_t gs_now_ns(void) {
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t gs_wall_us(void) {
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

void gs_debug(const char *message) {
    const char *wanted = getenv("GPU_SIM_DEBUG");
    char line[GS_ERROR_SIZE + 32];
    if (!wanted || !*wanted || strcmp(wanted, "0") == 0) {
        return;
    }
    struct gs_text text = gs_text_in(line, sizeof line);
    gs_text_add(&text, "gpu-sim: ");
    gs_text_add(&text, message);
    gs_text_add(&text, "\n");
    if (write(STDERR_FILENO, line, text.used) < 0) {
        return; /* nobody listens: nothing better to do */
    }
}

/* A holder with another process id was a thread of our parent, which fork did not copy: its lock is free. */
static void take_lock(void) {
    int self = (int)getpid();
    for (;;) {
        int holder = __atomic_load_n(&lock, __ATOMIC_RELAXED);
        if (holder == self) {
            sched_yield();
        } else if (__atomic_compare_exchange_n(&lock, &holder, self, 0, __ATOMIC_ACQUIRE,
                                               __ATOMIC_RELAXED)) {
            return;
        }
    }
}

static void drop_lock(void) {
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

/* The inventory of this process: 0, 1 for none, or -1. path is cut to the folder it lies in. */
static int open_inventory(char path[GS_PATH_SIZE], struct gs_error *error) {
    struct gs_mapping found;
    int result = -1;
    /* A new driver version's installer takes the old name away: whoever found it looks again. */
    for (unsigned attempt = 0; result < 0 && attempt < DISCOVER_ATTEMPTS; attempt++) {
        result = gs_discover(path, error);
        if (!result && gs_map(path, 0, &found, error)) {
            result = -1;
        }
    }
    if (result) {
        return result;
    }
    if (mapped.inventory && mapped.device == found.device && mapped.inode == found.inode) {
        gs_unmap(&found); /* never shown to anyone; the first mapping serves on */
    } else {
        mapped = found; /* the old one stays mapped: other threads may be reading it */
    }
    char *slash = strrchr(path, '/');
    if (slash) {
        *slash = '\0';
    }
    return 0;
}

/* Which slots this process sees: those with a device node under the inventory's root, as a container gets
 * them; without any node, as in a plain process, all that are configured. */
static void choose_visible(const struct gs_inventory *inventory, uint32_t count, const char *root,
                           struct gs_snapshot *next) {
    uint32_t nodes = 0, all = 0;
    for (uint32_t slot = 0; root && slot < GS_SLOTS; slot++) {
        const struct gs_gpu *gpu =
            slot < inventory->header.gpu_slots ? gs_gpu_at(inventory, slot) : NULL;
        uint32_t state = gpu ? gs_state_now(gpu)->slot : GS_SLOT_EMPTY;
        int known = slot < count || state == GS_SLOT_REMOVED;
        if (known && gs_node_exists(root, next->config[slot].minor)) {
            next->order[nodes++] = slot;
        }
    }
    for (uint32_t slot = 0; !nodes && slot < count; slot++) {
        next->order[all++] = slot;
    }
    next->count =
        nodes ? nodes : all; /* once: a getter may still be in the last but one snapshot */
}

static void publish(struct gs_snapshot *next, const struct gs_inventory *live, uint32_t count) {
    uint32_t seen[GS_SLOTS] = {0};
    for (uint32_t i = 0; i < next->count; i++) {
        seen[next->order[i]] = i + 1;
    }
    for (uint32_t slot = 0; slot < GS_SLOTS; slot++) {
        struct gs_device *device = &gs_devices[slot];
        if (!seen[slot]) {
            __atomic_store_n(&device->visible, 0, __ATOMIC_RELEASE);
            continue;
        }
        const struct gs_gpu *gpu =
            live && slot < live->header.gpu_slots ? gs_gpu_at(live, slot) : NULL;
        /* A slot that only the environment added has no state in the file. */
        if (!gpu || (gs_state_now(gpu)->slot == GS_SLOT_EMPTY && slot < count)) {
            gpu = &own.gpus[slot];
        }
        device->slot = slot;
        device->index = seen[slot] - 1;
        __atomic_store_n(&device->config, &next->config[slot], __ATOMIC_RELEASE);
        __atomic_store_n(&device->gpu, gpu, __ATOMIC_RELEASE);
        __atomic_store_n(&device->visible, 1, __ATOMIC_RELEASE);
    }
    next->inventory = live ? live : &own;
    __atomic_store_n(&current, (uint32_t)(next - snapshots), __ATOMIC_RELEASE);
}

/* What was asked for is in `own`. Built anew only for another wish: getters of other threads read it meanwhile. */
static int build_own(const struct gs_spec *spec, struct gs_error *error) {
    int built = own.header.file_state == GS_FILE_LIVE;
    if (built && memcmp(&own.header.node[0].spec, spec, sizeof *spec) == 0) {
        return 0;
    }
    return gs_build(spec, &own, sizeof own, error);
}

static nvmlReturn_t load(void) {
    struct gs_snapshot *next = &snapshots[!current];
    const struct gs_inventory *live = NULL;
    struct gs_error error = {""};
    struct gs_spec spec;
    char folder[GS_PATH_SIZE], root[GS_PATH_SIZE];
    int found = open_inventory(folder, &error);
    if (found < 0) {
        gs_debug(error.text);
        return NVML_ERROR_DRIVER_NOT_LOADED;
    }
    if (found == 0) {
        live = mapped.inventory;
        gs_read_node(live, &next->node);
        spec = next->node.spec;
    } else {
        struct utsname name;
        gs_spec_default(&spec);
        if (uname(&name) == 0) {
            struct gs_text text = gs_text_in(spec.node, sizeof spec.node);
            gs_text_add(&text, name.nodename);
        }
    }
    int overridden = gs_spec_from_environment(&spec, &error);
    if (overridden < 0) {
        gs_debug(error.text);
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    uint32_t count = spec.count;
    if (!live || overridden) {
        if (build_own(&spec, &error)) {
            gs_debug(error.text);
            return NVML_ERROR_INVALID_ARGUMENT;
        }
        next->node = own.header.node[0];
    }
    for (uint32_t slot = 0; slot < GS_SLOTS; slot++) {
        if (slot < count && (!live || overridden)) {
            next->config[slot] = own.gpus[slot].config[0];
        } else if (live && slot < live->header.gpu_slots) {
            const struct gs_gpu *gpu = gs_gpu_at(live, slot);
            if (gs_state_now(gpu)->slot != GS_SLOT_EMPTY) {
                gs_read_config(gpu, &next->config[slot]);
            }
        }
    }
    int rooted = live && gs_root_of(folder, root) == 0;
    choose_visible(live ? live : &own, count, rooted ? root : NULL, next);
    publish(next, live, count);
    return NVML_SUCCESS;
}

/* Counted only when it succeeds. The three have their faults by their own names. */
static nvmlReturn_t init(uint32_t function) {
    take_lock();
    nvmlReturn_t result = load();
    drop_lock();
    if (result == NVML_SUCCESS) { /* without the lock: a fault may take its time */
        const struct gs_header *header = &gs_snapshot()->inventory->header;
        result = gs_faulted(header->faults, header->fault_details, function);
    }
    if (result == NVML_SUCCESS) {
        take_lock();
        ever = 1;
        __atomic_store_n(&gs_references, gs_references + 1, __ATOMIC_RELEASE);
        drop_lock();
    }
    return result;
}

nvmlReturn_t gsInitWithFlags(unsigned int flags) {
    (void)flags; /* NO_GPUS and NO_ATTACH allow what is always allowed here */
    return init(gs_function_id("nvmlInitWithFlags"));
}

nvmlReturn_t gsInit(void) {
    return init(gs_function_id("nvmlInit"));
}

nvmlReturn_t gsInit_v2(void) {
    return init(gs_function_id("nvmlInit_v2"));
}

nvmlReturn_t gsShutdown(void) {
    nvmlReturn_t result = NVML_SUCCESS;
    take_lock();
    if (gs_references) {
        __atomic_store_n(&gs_references, gs_references - 1, __ATOMIC_RELEASE);
    } else if (!ever) { /* a surplus shutdown is no error, one without any init is */
        result = NVML_ERROR_UNINITIALIZED;
    }
    drop_lock();
    return result;
}
