/* SPDX-License-Identifier: Apache-2.0
 * Compares plugin, kubelet and inventory, see repair_look.h. */
#include "repair_look.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../src/reader.h"
#include "ctl.h"
#include "plugin_health.h"
#include "repair.h"

static bool has_fatal(const struct gs_state *state) {
    for (unsigned i = 0; i < GS_XIDS && state->xids[i].xid; i++) {
        if (!plugin_ignores(state->xids[i].xid, NULL)) {
            return true;
        }
    }
    return false;
}

uint64_t repair_standing(const struct gs_inventory *inventory) {
    uint64_t slots = 0;
    for (uint32_t slot = 0; slot < inventory->header.gpu_slots; slot++) {
        struct gs_state state;
        gs_read_state(gs_gpu_at(inventory, slot), &state);
        slots |= (uint64_t)(state.slot == GS_SLOT_PRESENT && has_fatal(&state)) << slot;
    }
    return slots;
}

static bool read_kubelet(const struct look *look, struct checkpoint *checkpoint) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" CHECKPOINT_NAME, look->plugin_dir);
    return checkpoint_read(path, checkpoint);
}

/* Devices that the kubelet has of each GPU; the most of any. */
static uint32_t count_all(struct look *look, const struct checkpoint *checkpoint,
                          uint32_t counts[GS_SLOTS]) {
    uint32_t most = 0;
    look->healthy = look->present = 0;
    memset(counts, 0, GS_SLOTS * sizeof *counts);
    for (uint32_t slot = 0; slot < look->inventory->header.gpu_slots; slot++) {
        struct gs_state state;
        struct gs_config config;
        gs_read_state(gs_gpu_at(look->inventory, slot), &state);
        if (state.slot != GS_SLOT_PRESENT) {
            continue;
        }
        gs_read_config(gs_gpu_at(look->inventory, slot), &config);
        counts[slot] = checkpoint->devices ? checkpoint_count(checkpoint, config.uuid) : 0;
        most = counts[slot] > most ? counts[slot] : most;
        look->present++;
        look->healthy += counts[slot] != 0;
    }
    return most;
}

/* False where no plugin has ever registered. A GPU that it has in part, a shared one, counts as missing. */
static bool sort(struct look *look, uint64_t *whole) {
    struct checkpoint checkpoint;
    uint32_t counts[GS_SLOTS];
    *whole = 0;
    if (!read_kubelet(look, &checkpoint)) {
        return false;
    }
    uint32_t most = count_all(look, &checkpoint, counts);
    bool known = checkpoint.devices != NULL;
    for (uint32_t slot = 0; slot < GS_SLOTS; slot++) {
        *whole |= (uint64_t)(counts[slot] && counts[slot] == most) << slot;
    }
    checkpoint_free(&checkpoint);
    return known;
}

uint64_t look_healthy(struct look *look) {
    uint64_t whole;
    sort(look, &whole);
    return whole;
}

bool look_known(struct look *look) {
    uint64_t whole;
    return sort(look, &whole);
}

uint64_t look_unhealthy(struct look *look, uint64_t slots) {
    uint64_t whole;
    return sort(look, &whole) ? slots & ~whole : 0;
}

void look_before(struct look *look) {
    struct checkpoint checkpoint;
    plugin_sockets(look->plugin_dir, &look->before);
    if (read_kubelet(look, &checkpoint)) {
        look->checkpoint_inode = checkpoint.inode;
        look->checkpoint_ns = checkpoint.written_ns;
        checkpoint_free(&checkpoint);
    }
}

/* With a checkpoint that was written after the plugin's present sockets were made. */
static enum seen compare(struct look *look, const struct plugin_sockets *sockets,
                         const struct checkpoint *checkpoint, uint64_t *missing) {
    uint32_t counts[GS_SLOTS];
    uint64_t standing = repair_standing(look->inventory), back = look->needed & ~standing;
    uint32_t most = count_all(look, checkpoint, counts);
    for (uint32_t slot = ctl_next(back, 0); slot < GS_SLOTS; slot = ctl_next(back, slot + 1)) {
        *missing |= (uint64_t)(!counts[slot]) << slot;
    }
    if (*missing) {
        return SEEN_NOT_BACK;
    }
    if (plugin_sockets_new(sockets, &look->registered) || !look->registered.count) {
        /* Just registered, anew: all it has is what it thinks healthy. */
        look->registered = *sockets;
        memcpy(look->full, counts, sizeof counts);
    }
    for (uint32_t slot = ctl_next(standing, 0); slot < GS_SLOTS;
         slot = ctl_next(standing, slot + 1)) {
        /* Of a shared GPU v0.20.0 takes one replica away. */
        uint32_t full = look->full[slot] > most ? look->full[slot] : most;
        *missing |= (uint64_t)(counts[slot] && counts[slot] >= full) << slot;
    }
    return *missing ? SEEN_BROKEN_AS_HEALTHY : SEEN_ALL;
}

enum seen look_again(struct look *look, uint64_t *missing) {
    struct plugin_sockets sockets;
    struct checkpoint checkpoint;
    enum seen seen;
    *missing = 0;
    plugin_sockets(look->plugin_dir, &sockets);
    if (!sockets.count) {
        return SEEN_NO_PLUGIN;
    }
    if (!plugin_sockets_new(&sockets, &look->before)) {
        return SEEN_OLD_PLUGIN;
    }
    if (!read_kubelet(look, &checkpoint)) {
        return SEEN_NO_REPORT;
    }
    bool same =
        checkpoint.inode == look->checkpoint_inode && checkpoint.written_ns == look->checkpoint_ns;
    seen = same || !checkpoint.devices || checkpoint.written_ns < plugin_sockets_made(&sockets)
               ? SEEN_NO_REPORT
               : compare(look, &sockets, &checkpoint, missing);
    checkpoint_free(&checkpoint);
    return seen;
}

const char *look_text(const struct look *look, enum seen seen, uint64_t missing, char *text,
                      size_t size) {
    char names[256] = "";
    static const char *const waited[] = {
        [SEEN_NO_PLUGIN] = "a device plugin that answers, got none in %s",
        [SEEN_OLD_PLUGIN] = "new sockets of the device plugin, got the old ones in %s",
        [SEEN_NO_REPORT] =
            "the kubelet's checkpoint with the plugin's report, got an older one in %s",
        [SEEN_NOT_BACK] = "%s in the kubelet's checkpoint, got %u of %u GPUs without it",
        [SEEN_BROKEN_AS_HEALTHY] = "the kubelet to take %s away, got %u of %u GPUs with it",
    };
    if (seen == SEEN_NOT_BACK || seen == SEEN_BROKEN_AS_HEALTHY) {
        ctl_names(missing, names, sizeof names);
    }
    snprintf(text, size, waited[seen], *names ? names : look->plugin_dir, look->healthy,
             look->present);
    return text;
}
