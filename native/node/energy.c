/* SPDX-License-Identifier: Apache-2.0
 * The energy counter's pace, see energy.h. */
#include "energy.h"

#include "../src/writer.h"
#include "clock.h"

static uint64_t mean_power(const struct gs_state *state, const struct gs_allocation *allocation) {
    const struct gs_reading *own = &state->utilization_gpu, *held = &allocation->utilization_gpu;
    int64_t mine = ((int64_t)own->low + own->high) / 2,
            theirs = ((int64_t)held->low + held->high) / 2;
    int64_t load = state->overridden & GS_SET_UTILIZATION || mine > theirs ? mine : theirs;
    int64_t power = state->power.low + ((int64_t)state->power.high - state->power.low) * load / 100;
    return power < 0                              ? 0
           : (uint64_t)power > state->power_limit ? state->power_limit
                                                  : (uint64_t)power;
}

bool energy_follow(struct gs_state *state, const struct gs_allocation *allocation) {
    uint64_t rate = mean_power(state, allocation);
    if (state->energy.per_second == rate) {
        return false;
    }
    gs_counter_rate(&state->energy, clock_boot_ns(), rate);
    return true;
}
