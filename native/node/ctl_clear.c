/* SPDX-License-Identifier: Apache-2.0
 * `ctl clear` and `ctl reset`: back to as configured. The configuration is built anew from what the installer wrote
 * down, so that it is said in one place. */
#include <stdlib.h>
#include <string.h>

#include "../src/build.h"
#include "../src/reader.h"
#include "../src/writer.h"
#include "arguments.h"
#include "clock.h"
#include "ctl.h"
#include "plugin_health.h"
#include "problem.h"

const struct gs_inventory *ctl_configured(const struct gs_inventory *inventory,
                                          const char *subject) {
    static struct gs_inventory *built;
    struct gs_node node;
    struct gs_error error;
    gs_read_node(inventory, &node);
    free(built);
    built = calloc(1, gs_inventory_size());
    if (!built || gs_build(&node.spec, built, gs_inventory_size(), &error)) {
        problem(subject, "%s", built ? error.text : "no memory for the configuration");
        free(built);
        built = NULL;
    }
    return built;
}

void ctl_clear_node_faults(struct change *change) {
    for (unsigned i = 0; i < GS_FAULTS; i++) {
        uint32_t function = change->faults[i].function;
        change->node_cleared |= function && function != GS_NO_FUNCTION;
    }
    memset(change->faults, 0, sizeof change->faults);
    memset(change->details, 0, sizeof change->details);
    change->declared = 0;
    change->node_touched = true;
}

/* Has it what the plugin takes for the end of a GPU, or may have met when it started, as an error of its registration
 * for events, of which it says nothing to the kubelet? */
static bool broken(const struct gs_state *state) {
    bool fatal = state->lost != 0;
    for (unsigned i = 0; i < GS_FAULTS && state->faults[i].function; i++) {
        fatal |= state->faults[i].function != GS_NO_FUNCTION;
    }
    for (unsigned i = 0; i < GS_XIDS && state->xids[i].xid; i++) {
        fatal |= !plugin_ignores(state->xids[i].xid, NULL);
    }
    return fatal;
}

static void clear_slot(struct change *change, uint32_t slot, const struct gs_state *fresh,
                       bool reset) {
    struct gs_state *state = change_state(change, slot);
    uint64_t now = clock_boot_ns();
    if (broken(state)) {
        change->cleared |= (uint64_t)1 << slot;
    }
    struct gs_state next = *fresh;
    /* A board's past, and which walk its readings take. */
    next.seed = state->seed;
    next.energy = state->energy;
    next.pcie_replays = state->pcie_replays;
    next.nvlink_tx = state->nvlink_tx;
    next.nvlink_rx = state->nvlink_rx;
    memcpy(next.violation, state->violation, sizeof next.violation);
    memcpy(next.ecc_aggregate, state->ecc_aggregate, sizeof next.ecc_aggregate);
    memcpy(next.retired_pages, state->retired_pages, sizeof next.retired_pages);
    memcpy(next.remapped_rows, state->remapped_rows, sizeof next.remapped_rows);
    for (size_t i = 0; i < sizeof next.violation / sizeof *next.violation; i++) {
        gs_counter_rate(&next.violation[i], now, 0);
    }
    if (!reset) {
        memcpy(next.ecc_volatile, state->ecc_volatile, sizeof next.ecc_volatile);
        next.persistence_mode = state->persistence_mode;
        next.compute_mode = state->compute_mode;
        next.ecc_current = state->ecc_current;
        next.ecc_pending = state->ecc_pending;
        next.mig_current = state->mig_current;
        next.mig_pending = state->mig_pending;
        next.power_limit = state->power_limit;
        next.clock_app_graphics = state->clock_app_graphics;
        next.clock_app_memory = state->clock_app_memory;
        next.clock_lock_min = state->clock_lock_min;
        next.clock_lock_max = state->clock_lock_max;
    }
    *state = next;
}

/* What values or an annotation say stays so: cleared for a moment, it would look healthy to the scheduler. */
static uint64_t declared_among(const struct change *change, uint64_t slots) {
    uint64_t found = 0;
    for (uint32_t slot = ctl_next(slots, 0); slot < GS_SLOTS; slot = ctl_next(slots, slot + 1)) {
        found |= (uint64_t)(change->states[slot].declared != 0) << slot;
    }
    return found;
}

static int clear(struct change *change, int count, char **words, bool reset) {
    const char *gpu = NULL;
    uint64_t slots;
    const struct option options[] = {{"--gpu", &gpu, NULL, true}};
    if (!arguments_parse(change->subject, count, words, options, 1)) {
        return EXIT_USAGE;
    }
    const struct gs_inventory *built = ctl_configured(change->inventory, change->subject);
    if (!built || !ctl_gpus(change, gpu, &slots)) {
        return EXIT_INPUT;
    }
    bool all = !strcmp(gpu, "all");
    uint64_t kept = declared_among(change, slots);
    char names[256];
    if (kept && !all) {
        problem(change->subject,
                "%s: declared like this by the node's values or annotation, got clear; take the "
                "line out of gpuSim.faults or gpu-sim.io/faults",
                ctl_names(kept, names, sizeof names));
        return EXIT_INPUT;
    }
    if (kept && !change->checking) {
        notice(change->subject, "%s: kept as declared by the node's values or annotation",
               ctl_names(kept, names, sizeof names));
    }
    uint64_t freed = slots & ~kept;
    for (uint32_t slot = ctl_next(freed, 0); slot < GS_SLOTS; slot = ctl_next(freed, slot + 1)) {
        struct gs_state fresh;
        gs_read_state(gs_gpu_at(built, slot), &fresh);
        clear_slot(change, slot, &fresh, reset);
    }
    if (all && !change->declared) {
        ctl_clear_node_faults(change);
    }
    change->asked |= slots;
    return EXIT_FINE;
}

int ctl_clear(struct change *change, int count, char **words) {
    return clear(change, count, words, false);
}

int ctl_reset(struct change *change, int count, char **words) {
    return clear(change, count, words, true);
}

bool ctl_clear_slots(struct change *change, uint64_t slots) {
    const struct gs_inventory *built = ctl_configured(change->inventory, change->subject);
    for (uint32_t slot = ctl_next(slots, 0); built && slot < GS_SLOTS;
         slot = ctl_next(slots, slot + 1)) {
        struct gs_state fresh;
        gs_read_state(gs_gpu_at(built, slot), &fresh);
        clear_slot(change, slot, &fresh, false);
    }
    change->asked |= slots;
    return built;
}
