/* SPDX-License-Identifier: Apache-2.0
 *
 * A new configuration into an inventory that others have mapped; see build.h. Called by the installer.
 * Each group is filled in its unused copy first, so that being killed anywhere leaves the file usable. */
#include <string.h>

#include "build.h"
#include "reader.h"
#include "writer.h"

static void rebase(struct gs_counter *counter, uint64_t now_ns, int same_boot) {
    if (same_boot && now_ns > counter->at_ns) {
        uint64_t seconds = (now_ns - counter->at_ns) / 1000000000u;
        counter->value += seconds * counter->per_second;
        counter->at_ns += seconds * 1000000000u;
    } else {
        counter->at_ns = now_ns;
    }
}

static void rebase_all(struct gs_state *state, uint64_t now_ns, int same_boot) {
    rebase(&state->energy, now_ns, same_boot);
    rebase(&state->pcie_replays, now_ns, same_boot);
    rebase(&state->nvlink_tx, now_ns, same_boot);
    rebase(&state->nvlink_rx, now_ns, same_boot);
    for (size_t i = 0; i < sizeof state->violation / sizeof *state->violation; i++) {
        rebase(&state->violation[i], now_ns, same_boot);
    }
}

static int apply_gpu(struct gs_gpu *live, const struct gs_gpu *built, uint64_t now_ns,
                     int same_boot) {
    const struct gs_config *old_config = &live->config[gs_flip(&live->config_flip)];
    const struct gs_config *new_config = &built->config[gs_flip(&built->config_flip)];
    const struct gs_state *old_state = &live->state[gs_flip(&live->state_flip)];
    const struct gs_state *new_state = gs_state_now(built);
    struct gs_state *next = &live->state[!gs_flip(&live->state_flip)];
    int wanted = new_state->slot == GS_SLOT_PRESENT;
    int same = wanted && old_state->slot != GS_SLOT_EMPTY &&
               memcmp(old_config, new_config, sizeof *new_config) == 0;
    int changed =
        wanted ? !same || old_state->slot != GS_SLOT_PRESENT : old_state->slot == GS_SLOT_PRESENT;
    if (!wanted && old_state->slot == GS_SLOT_EMPTY) {
        return 0;
    }
    *next = wanted && !same ? *new_state : *old_state;
    next->slot = wanted ? GS_SLOT_PRESENT : GS_SLOT_REMOVED;
    rebase_all(next, now_ns, same_boot && (same || !wanted));
    next->lost_from_ns = same_boot ? next->lost_from_ns : 0; /* a moment of another boot's clock */
    if (wanted && !same) {
        /* A new board under this number: hidden while configuration and state do not fit together. */
        struct gs_state *hidden = next;
        hidden->slot = GS_SLOT_REMOVED;
        gs_flip_publish(&live->state_flip);
        live->config[!gs_flip(&live->config_flip)] = *new_config;
        gs_flip_publish(&live->config_flip);
        next = &live->state[!gs_flip(&live->state_flip)];
        *next = *hidden;
        next->slot = GS_SLOT_PRESENT;
    }
    gs_flip_publish(&live->state_flip);
    return changed;
}

uint32_t gs_apply(struct gs_inventory *live, const struct gs_inventory *built, const char *boot_id,
                  uint64_t now_ns) {
    struct gs_header *header = &live->header;
    gs_end_batch(live);
    int same_boot = strncmp(header->boot_id, boot_id, sizeof header->boot_id) == 0;
    uint32_t changed = 0;
    for (uint32_t slot = 0; slot < header->gpu_slots && slot < built->header.gpu_slots; slot++) {
        changed += (uint32_t)apply_gpu((struct gs_gpu *)(uintptr_t)gs_gpu_at(live, slot),
                                       gs_gpu_at(built, slot), now_ns, same_boot);
    }
    if (!same_boot) { /* a repair's time limit of another boot's clock */
        __atomic_store_n(&header->ring.replay_until_ns, 0, __ATOMIC_RELEASE);
    }
    header->minor = built->header.minor > header->minor ? built->header.minor : header->minor;
    strncpy(header->boot_id, boot_id, sizeof header->boot_id - 1);
    header->node[!gs_flip(&header->node_flip)] =
        built->header.node[gs_flip(&built->header.node_flip)];
    gs_flip_publish(&header->node_flip);
    __atomic_store_n(&header->generation, header->generation + 1, __ATOMIC_RELEASE);
    return changed;
}
