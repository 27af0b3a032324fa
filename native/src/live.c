/* SPDX-License-Identifier: Apache-2.0
 *
 * Readings as functions of inventory and clock; see live.h. */
#include "live.h"

enum { STEP_NS_SHIFT = 32 }; /* a new random point every 4.3 s, straight lines between them */

static uint32_t scramble(uint64_t value) {
    value ^= value >> 33;
    value *= 0xFF51AFD7ED558CCDull;
    value ^= value >> 33;
    value *= 0xC4CEB9FE1A85EC53ull;
    return (uint32_t)(value >> 32);
}

/* A seeded walk between low and high; no clock is read where they are equal. */
static int32_t walk(const struct gs_reading *reading, uint64_t seed) {
    int64_t range = (int64_t)reading->high - reading->low;
    if (range <= 0) {
        return reading->low;
    }
    uint64_t now = gs_now_ns();
    uint64_t step = now >> STEP_NS_SHIFT;
    int64_t from = scramble(seed ^ step) % (uint64_t)(range + 1);
    int64_t to = scramble(seed ^ (step + 1)) % (uint64_t)(range + 1);
    int64_t part = (int64_t)((now >> (STEP_NS_SHIFT - 10)) & 1023);
    return (int32_t)(reading->low + from + (to - from) * part / 1024);
}

/* What was set hides what the holder does. */
static uint32_t per_cent(const struct gs_reading *own, const struct gs_reading *allocated,
                         uint64_t seed, uint32_t set) {
    int32_t a = walk(own, seed);
    int32_t b = set ? a : walk(allocated, seed);
    int32_t most = a > b ? a : b;
    return most < 0 ? 0 : most > 100 ? 100 : (uint32_t)most;
}

uint32_t gs_live_utilization(const struct gs_device *device) {
    const struct gs_state *state = gs_state_of(device);
    return per_cent(&state->utilization_gpu, &gs_allocation_of(device)->utilization_gpu,
                    state->seed, state->overridden & GS_SET_UTILIZATION);
}

uint32_t gs_live_memory_utilization(const struct gs_device *device) {
    const struct gs_state *state = gs_state_of(device);
    return per_cent(&state->utilization_memory, &gs_allocation_of(device)->utilization_memory,
                    state->seed + 1, state->overridden & GS_SET_MEMORY_UTILIZATION);
}

static int32_t under_load(const struct gs_device *device, const struct gs_reading *reading) {
    int64_t range = (int64_t)reading->high - reading->low;
    return (int32_t)(reading->low + range * gs_live_utilization(device) / 100);
}

uint32_t gs_live_power(const struct gs_device *device) {
    const struct gs_state *state = gs_state_of(device);
    uint32_t power = (uint32_t)under_load(device, &state->power);
    return power < state->power_limit ? power : state->power_limit;
}

int32_t gs_live_temperature(const struct gs_device *device) {
    return under_load(device, &gs_state_of(device)->temperature);
}

int32_t gs_live_memory_temperature(const struct gs_device *device) {
    return under_load(device, &gs_state_of(device)->memory_temperature);
}

uint32_t gs_live_clock(const struct gs_device *device, const struct gs_reading *clock) {
    return (uint32_t)(gs_live_utilization(device) ? clock->high : clock->low);
}

uint64_t gs_live_counter(const struct gs_counter *counter) {
    if (!counter->per_second) {
        return counter->value;
    }
    uint64_t now = gs_now_ns();
    uint64_t passed = now > counter->at_ns ? now - counter->at_ns : 0;
    return counter->value + passed / 1000000000u * counter->per_second +
           passed % 1000000000u * counter->per_second / 1000000000u;
}

uint64_t gs_live_memory_used(const struct gs_device *device) {
    const struct gs_config *config = gs_config_of(device);
    const struct gs_flip *flip = &__atomic_load_n(&device->gpu, __ATOMIC_ACQUIRE)->allocation_flip;
    uint64_t room = config->memory_total - config->memory_reserved, used = 0;
    /* Of one moment, without copying what most callers do not need. */
    for (unsigned attempt = 0; attempt < GS_ATTEMPTS; attempt++) {
        uint32_t before = __atomic_load_n(&flip->sequence, __ATOMIC_ACQUIRE);
        const struct gs_allocation *allocation = gs_allocation_of(device);
        const struct gs_state *state = gs_state_of(device);
        uint64_t held = 0;
        for (uint32_t i = 0; i < allocation->process_count && i < GS_PROCESSES; i++) {
            held += allocation->processes[i].memory;
        }
        used = state->memory_used;
        used = !(state->overridden & GS_SET_MEMORY_USED) ? used + held : used > held ? used : held;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&flip->sequence, __ATOMIC_RELAXED) == before) {
            break;
        }
    }
    return used < room ? used : room;
}
