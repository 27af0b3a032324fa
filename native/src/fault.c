/* SPDX-License-Identifier: Apache-2.0
 *
 * Injected faults: a function answers with another code, or late. The library cannot write to the inventory,
 * so each process counts its own calls. */
#include <time.h>

#include "state.h"

enum { COUNTERS = 1024 };
static const uint64_t LONGEST_DELAY_NS = 10000000000u; /* a broken file must not hang a client */

/* A fault's id and how many of this process's calls it got. Ids are given one after the other, so faults
 * that stand at the same time share a place only after a thousand others. */
static uint64_t counters[COUNTERS];

/* Is this call one of the first that get it? */
static int counted(const struct gs_fault_detail *detail) {
    uint64_t *counter = &counters[detail->id % COUNTERS];
    uint64_t seen = __atomic_load_n(counter, __ATOMIC_RELAXED), next;
    do {
        uint32_t calls = seen >> 32 == detail->id ? (uint32_t)seen : 0;
        if (calls >= detail->count) {
            return 0;
        }
        next = (uint64_t)detail->id << 32 | (calls + 1);
    } while (
        !__atomic_compare_exchange_n(counter, &seen, next, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return 1;
}

static void sleep_for(uint64_t ns) {
    ns = ns < LONGEST_DELAY_NS ? ns : LONGEST_DELAY_NS;
    struct timespec left = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    while (ns && nanosleep(&left, &left)) {
    }
}

nvmlReturn_t gs_faulted(const struct gs_fault *faults, const struct gs_fault_detail *details,
                        uint32_t function) {
    for (unsigned i = 0; i < GS_FAULTS; i++) {
        uint32_t found = __atomic_load_n(&faults[i].function, __ATOMIC_ACQUIRE);
        if (!found) {
            break;
        }
        if (found != function) {
            continue;
        }
        struct gs_fault fault = faults[i];
        struct gs_fault_detail detail = details[i];
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&faults[i].function, __ATOMIC_RELAXED) != function ||
            __atomic_load_n(&details[i].id, __ATOMIC_RELAXED) != detail.id) {
            continue; /* the place got another fault meanwhile */
        }
        uint64_t now = gs_now_ns();
        if (now < fault.from_ns || (fault.until_ns && now >= fault.until_ns) ||
            (detail.count && !counted(&detail))) {
            continue;
        }
        sleep_for(detail.delay_ns);
        return (nvmlReturn_t)fault.code;
    }
    return NVML_SUCCESS;
}
