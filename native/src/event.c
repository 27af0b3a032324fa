/* SPDX-License-Identifier: Apache-2.0
 *
 * Chapter "Event Handling". Sets live in a static table; each has its own place in the inventory's ring, so
 * that each set gets each event once. A wait sleeps on the ring's futex word, also on a read-only mapping. */
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "exports.h"

enum { SETS = 128 };
static const uint64_t LONGEST_SLEEP_NS = 1000000000u; /* a lost wake-up costs a second at most */
static const uint64_t SUPPORTED = nvmlEventTypeSingleBitEccError | nvmlEventTypeDoubleBitEccError |
                                  nvmlEventTypePState | nvmlEventTypeXidCriticalError |
                                  nvmlEventTypeClock;

/* What an nvmlEventSet_t points to. */
struct set {
    uint32_t used;
    uint32_t serial; /* changes when the set is freed: ends waits on it */
    uint64_t
        cursor; /* next event to look at; moved by compare-and-swap, as several threads may wait */
    uint64_t mask[GS_SLOTS];
};
static struct set sets[SETS];

static struct set *find(nvmlEventSet_t handle) {
    uintptr_t offset = (uintptr_t)handle - (uintptr_t)sets;
    if (offset >= sizeof sets || offset % sizeof *sets) {
        return NULL;
    }
    struct set *set = &sets[offset / sizeof *sets];
    return __atomic_load_n(&set->used, __ATOMIC_ACQUIRE) ? set : NULL;
}

static const struct gs_ring *ring(void) {
    return &gs_snapshot()->inventory->header.ring;
}

nvmlReturn_t gsEventSetCreate(nvmlEventSet_t *set) {
    for (unsigned i = 0; i < SETS; i++) {
        uint32_t free_ = 0;
        if (__atomic_compare_exchange_n(&sets[i].used, &free_, 1, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            memset(sets[i].mask, 0, sizeof sets[i].mask);
            sets[i].cursor = __atomic_load_n(&ring()->head, __ATOMIC_ACQUIRE);
            *set = (nvmlEventSet_t)(void *)&sets[i];
            return NVML_SUCCESS;
        }
    }
    return NVML_ERROR_INSUFFICIENT_RESOURCES;
}

nvmlReturn_t gsEventSetFree(nvmlEventSet_t handle) {
    struct set *set = find(handle);
    if (!set) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    __atomic_add_fetch(&set->serial, 1, __ATOMIC_ACQ_REL);
    __atomic_store_n(&set->used, 0, __ATOMIC_RELEASE);
    return NVML_SUCCESS;
}

nvmlReturn_t gsDeviceGetSupportedEventTypes(const struct gs_device *device,
                                            unsigned long long *eventTypes) {
    (void)device;
    *eventTypes = SUPPORTED;
    return NVML_SUCCESS;
}

/* Where a set begins. What happened before anyone registered is nobody's event, unless a repair wants it heard. */
static uint64_t beginning(void) {
    const struct gs_ring *events = ring();
    uint64_t until = __atomic_load_n(&events->replay_until_ns, __ATOMIC_ACQUIRE);
    uint64_t from = __atomic_load_n(&events->replay_from, __ATOMIC_ACQUIRE);
    uint64_t head = __atomic_load_n(&events->head, __ATOMIC_ACQUIRE);
    return until && from <= head && gs_now_ns() < until ? from : head;
}

nvmlReturn_t gsDeviceRegisterEvents(const struct gs_device *device, unsigned long long eventTypes,
                                    nvmlEventSet_t handle) {
    struct set *set = find(handle);
    int nothing_yet = 1;
    if (!set || eventTypes & ~(uint64_t)nvmlEventTypeAll) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (eventTypes & ~SUPPORTED) {
        return NVML_ERROR_NOT_SUPPORTED;
    }
    for (unsigned i = 0; i < GS_SLOTS; i++) {
        nothing_yet &= !set->mask[i];
    }
    if (nothing_yet) {
        __atomic_store_n(&set->cursor, beginning(), __ATOMIC_RELEASE);
    }
    __atomic_or_fetch(&set->mask[device->slot], eventTypes, __ATOMIC_ACQ_REL);
    return NVML_SUCCESS;
}

/* The next event that the set registered for, or 0. An entry that a writer overtook meanwhile is skipped. */
static int next_event(struct set *set, struct gs_event *event) {
    const struct gs_ring *events = ring();
    for (;;) {
        uint64_t cursor = __atomic_load_n(&set->cursor, __ATOMIC_ACQUIRE);
        uint64_t head = __atomic_load_n(&events->head, __ATOMIC_ACQUIRE);
        if (cursor > head) { /* another inventory than at registration: begin at its end */
            __atomic_store_n(&set->cursor, head, __ATOMIC_RELEASE);
            return 0;
        }
        if (cursor == head) {
            return 0;
        }
        uint64_t at = head - cursor > GS_EVENTS ? head - GS_EVENTS : cursor;
        const struct gs_event *entry = &events->events[at % GS_EVENTS];
        uint64_t before = __atomic_load_n(&entry->sequence, __ATOMIC_ACQUIRE);
        *event = *entry;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        int whole =
            before == at + 1 && __atomic_load_n(&entry->sequence, __ATOMIC_RELAXED) == before;
        if (!__atomic_compare_exchange_n(&set->cursor, &cursor, at + 1, 0, __ATOMIC_ACQ_REL,
                                         __ATOMIC_RELAXED)) {
            continue; /* another thread took it */
        }
        if (whole && event->slot < GS_SLOTS && set->mask[event->slot] & event->type &&
            gs_devices[event->slot].visible) {
            return 1;
        }
    }
}

static nvmlReturn_t wait(nvmlEventSet_t handle, struct gs_event *event, unsigned int timeout_ms) {
    struct set *set = find(handle);
    if (!set) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    uint32_t serial = __atomic_load_n(&set->serial, __ATOMIC_ACQUIRE);
    uint64_t end = gs_now_ns() + (uint64_t)timeout_ms * 1000000u;
    for (;;) {
        const struct gs_ring *events = ring();
        uint32_t word = __atomic_load_n(&events->futex, __ATOMIC_ACQUIRE);
        if (next_event(set, event)) {
            return NVML_SUCCESS;
        }
        uint64_t now = gs_now_ns();
        if (now >= end) {
            return NVML_ERROR_TIMEOUT;
        }
        uint64_t sleep = end - now < LONGEST_SLEEP_NS ? end - now : LONGEST_SLEEP_NS;
        struct timespec period = {(time_t)(sleep / 1000000000u), (long)(sleep % 1000000000u)};
        syscall(SYS_futex, &events->futex, FUTEX_WAIT, word, &period, NULL, 0);
        if (__atomic_load_n(&set->serial, __ATOMIC_ACQUIRE) != serial) {
            return NVML_ERROR_INVALID_ARGUMENT; /* freed meanwhile */
        }
        if (!__atomic_load_n(&gs_references, __ATOMIC_ACQUIRE)) {
            return NVML_ERROR_UNINITIALIZED;
        }
    }
}

/* Waits, and gives what both versions of the struct have; the first ends before the instance ids. */
static nvmlReturn_t wait_for(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms,
                             struct gs_event *event) {
    nvmlReturn_t result = wait(set, event, timeoutms);
    if (result == NVML_SUCCESS) {
        data->device = (nvmlDevice_t)&gs_devices[event->slot];
        data->eventType = event->type;
        data->eventData = event->data;
    }
    return result;
}

nvmlReturn_t gsEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms) {
    struct gs_event event;
    nvmlReturn_t result = wait_for(set, data, timeoutms, &event);
    if (result == NVML_SUCCESS) {
        data->gpuInstanceId = event.gpu_instance;
        data->computeInstanceId = event.compute_instance;
    }
    return result;
}

nvmlReturn_t gsEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms) {
    struct gs_event event;
    return wait_for(set, data, timeoutms, &event);
}
