/* SPDX-License-Identifier: Apache-2.0
 * A change in memory and how it is written, see ctl.h. */
#include <string.h>
#include <time.h>

#include "../src/reader.h"
#include "../src/writer.h"
#include "clock.h"
#include "ctl.h"
#include "energy.h"
#include "problem.h"

static const uint64_t LOST_AFTER_EVENT_NS = 1000000000u;

int change_open(struct change *change, const struct ctl *ctl, bool write) {
    int code = opened_open(&change->opened, ctl->root, write);
    if (code == EXIT_FINE) {
        change->inventory = change->opened.inventory;
        change_begin(change);
    }
    return code;
}

void change_begin(struct change *change) {
    change->lost_from_ns = 0;
    const struct gs_header *header = &change->inventory->header;
    change->touched = change->asked = change->cleared = 0;
    change->node_touched = change->node_cleared = false;
    change->event_count = 0;
    change->declared = header->declared;
    change->fault_sequence = header->fault_sequence;
    memcpy(change->faults, header->faults, sizeof change->faults);
    memcpy(change->details, header->fault_details, sizeof change->details);
    memset(change->states, 0, sizeof change->states);
    for (uint32_t slot = 0; slot < header->gpu_slots; slot++) {
        gs_read_state(gs_gpu_at(change->inventory, slot), &change->states[slot]);
    }
}

struct gs_state *change_state(struct change *change, uint32_t slot) {
    change->touched |= (uint64_t)1 << slot;
    return &change->states[slot];
}

bool change_event(struct change *change, uint32_t slot, uint64_t type, uint64_t data) {
    if (change->event_count == GS_EVENTS) {
        problem(change->subject,
                "more events at once than waiting programs can be given, got %u; "
                "name fewer GPUs",
                GS_EVENTS + 1);
        return false;
    }
    change->events[change->event_count++] =
        (struct gs_event){.slot = slot, .type = type, .data = data};
    return true;
}

/* The device plugin asks the GPU of an event for its UUID, and an answer GPU_IS_LOST makes it take all GPUs of the node
 * away. So a lost GPU answers until that is asked. A repair may have held it back for longer. */
static void hold_back(struct change *change) {
    uint64_t until = clock_boot_ns() + LOST_AFTER_EVENT_NS;
    for (uint32_t i = 0; i < change->event_count; i++) {
        struct gs_state *state = &change->states[change->events[i].slot];
        if (state->lost && state->lost_from_ns < until) {
            change_state(change, change->events[i].slot)->lost_from_ns = until;
            change->lost_from_ns = until;
        }
    }
}

void change_settle(const struct change *change) {
    uint64_t now;
    while ((now = clock_boot_ns()) < change->lost_from_ns) {
        uint64_t left = change->lost_from_ns - now;
        struct timespec period = {(time_t)(left / 1000000000u), (long)(left % 1000000000u)};
        nanosleep(&period, NULL);
    }
}

/* States first: whoever an event wakes sees what it is about. */
void change_commit(struct change *change) {
    struct gs_inventory *inventory = change->inventory;
    hold_back(change);
    if (inventory->header.minor < GS_MINOR) {
        __atomic_store_n(&inventory->header.minor, GS_MINOR, __ATOMIC_RELEASE);
    }
    for (uint32_t slot = 0; slot < GS_SLOTS; slot++) {
        if (change->touched >> slot & 1) {
            struct gs_allocation allocation;
            gs_read_allocation(gs_gpu_at(inventory, slot), &allocation);
            energy_follow(&change->states[slot], &allocation);
        }
    }
    /* Ids of faults first: killed after this they are wasted, killed before it they would be given again, and a program
     * that counts its calls by them would hold a new fault for used up. */
    __atomic_store_n(&inventory->header.fault_sequence, change->fault_sequence, __ATOMIC_RELEASE);
    if (change->touched) {
        gs_write_states(inventory, change->touched, change->states);
    }
    if (change->node_touched) {
        gs_write_node_faults(inventory, change->faults, change->details);
        __atomic_store_n(&inventory->header.declared, change->declared, __ATOMIC_RELEASE);
    }
    if (change->event_count) {
        gs_raise_events(inventory, change->events, change->event_count);
    }
}

void change_close(struct change *change) {
    opened_close(&change->opened);
}
