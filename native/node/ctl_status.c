/* SPDX-License-Identifier: Apache-2.0
 * `ctl status`: gathers what there is to see of a node, see ctl_status.h. Needs no lock. */
#include "ctl_status.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/live.h"
#include "../src/reader.h"
#include "checkpoint.h"
#include "ctl.h"
#include "foreign.h"
#include "pods_file.h"
#include "problem.h"

static const char *health(const struct gs_state *state) {
    return state->slot == GS_SLOT_REMOVED ? "removed"
           : state->lost                  ? "lost"
           : state->xids[0].xid           ? "xid"
                                          : "ok";
}

/* A shared GPU of which one replica is missing is not healthy, hence the largest count. */
static void ask_kubelet(struct status *status, const char *plugin_dir) {
    char path[PATH_MAX];
    struct checkpoint checkpoint = {0};
    uint32_t most = 0;
    snprintf(path, sizeof path, "%s/" CHECKPOINT_NAME, plugin_dir ? plugin_dir : "");
    bool known = plugin_dir && checkpoint_read(path, &checkpoint) && checkpoint.devices;
    char socket[PATH_MAX];
    /* The kubelet does not write down that a plugin has gone. */
    bool served = plugin_dir && foreign_plugin(plugin_dir, socket, sizeof socket);
    for (uint32_t i = 0; i < status->count; i++) {
        uint32_t count = known ? checkpoint_count(&checkpoint, status->gpus[i].config.uuid) : 0;
        most = count > most ? count : most;
    }
    for (uint32_t i = 0; i < status->count; i++) {
        uint32_t count = known ? checkpoint_count(&checkpoint, status->gpus[i].config.uuid) : 0;
        status->gpus[i].kubelet = !known                   ? "unknown"
                                  : !served                ? "no plugin"
                                  : count && count == most ? "healthy"
                                                           : "unhealthy";
    }
    checkpoint_free(&checkpoint);
}

static void look(struct shown *shown, const struct gs_inventory *inventory,
                 const struct gs_inventory *configured, uint32_t slot) {
    struct gs_allocation allocation;
    shown->slot = slot;
    shown->gpu = gs_gpu_at(inventory, slot);
    gs_read_config(shown->gpu, &shown->config);
    gs_read_state(shown->gpu, &shown->state);
    gs_read_allocation(shown->gpu, &allocation);
    if (configured) {
        gs_read_state(gs_gpu_at(configured, slot), &shown->fresh);
    }
    if (shown->fresh.slot != GS_SLOT_PRESENT) { /* taken away: it has no configuration any more */
        shown->fresh = shown->state;
    }
    /* As the library's own handles are, so that both show the same. */
    struct gs_device device = {.config = &shown->config, .gpu = shown->gpu, .slot = slot};
    shown->health = health(&shown->state);
    shown->allocated = allocation.allocated != 0;
    shown->memory_used = gs_live_memory_used(&device);
    shown->utilization = gs_live_utilization(&device);
    shown->power_mw = gs_live_power(&device);
    shown->temperature = gs_live_temperature(&device);
}

int ctl_status(const struct ctl *ctl, bool json) {
    static struct status status;
    struct opened opened;
    int code = opened_open(&opened, ctl->root, false);
    if (code != EXIT_FINE) {
        return code;
    }
    /* Where this program does not know the node's profile, it says so, and tells what needs no comparison. */
    const struct gs_inventory *configured = ctl_configured(opened.inventory, "ctl status");
    char *pods = pods_read(ctl->root);
    status.header = &opened.inventory->header;
    gs_read_node(opened.inventory, &status.node);
    for (uint32_t slot = 0; slot < opened.inventory->header.gpu_slots; slot++) {
        struct shown *shown = &status.gpus[status.count];
        look(shown, opened.inventory, configured, slot);
        shown->pods = pods;
        /* One that was taken away is of interest while a pod still holds it. */
        status.count += shown->state.slot == GS_SLOT_PRESENT ||
                        (shown->state.slot == GS_SLOT_REMOVED && shown->allocated);
    }
    ask_kubelet(&status, ctl->plugin_dir);
    if (json) {
        status_json(&status);
    } else {
        status_table(&status);
    }
    free(pods);
    opened_close(&opened);
    return EXIT_FINE;
}
