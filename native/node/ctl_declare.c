/* SPDX-License-Identifier: Apache-2.0
 * `ctl declare`: the faults that a node shall have, as a full set. Each GPU remembers a hash of the lines that are about
 * it, so that the same set again changes nothing, and a GPU whose lines changed starts from as configured. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/reader.h"
#include "ctl.h"
#include "ctl_lines.h"
#include "problem.h"
#include "repair.h"
#include "repair_look.h"

struct plan {
    uint32_t hash[GS_SLOTS], node; /* of the lines; 0: none */
    uint64_t changed, unchanged;   /* by slot; unchanged: declared, as before */
    bool node_changed;
};

static uint32_t fold(uint32_t hash, const struct line *line) {
    hash = hash ? hash : 2166136261u;
    for (int i = 0; i < line->count; i++) {
        hash = (hash ^ gs_function_id(line->words[i])) * 16777619u;
    }
    return hash ? hash : 1;
}

static bool make(struct change *change, const struct line *line) {
    const struct verb *verb = ctl_verb(line->words[0]);
    char names[128];
    change->subject = line->subject;
    if (verb && verb->declarable) {
        char *copy[LINE_WORDS];
        memcpy(copy, line->words + 1, (size_t)(line->count - 1) * sizeof *copy);
        return verb->make(change, line->count - 1, copy) == EXIT_FINE;
    }
    problem(line->subject, "cannot be declared, got %s; there are %s", line->words[0],
            ctl_verb_names(true, names, sizeof names));
    return false;
}

/* Which lines are about which GPU: each is tried by itself, and what it touches is what it is about. */
static bool plan_lines(struct change *change, const struct lines *lines, struct plan *plan) {
    bool good = true;
    change->checking = true;
    for (size_t i = 0; i < lines->count; i++) {
        change_begin(change);
        good &= make(change, &lines->list[i]);
        for (uint32_t slot = 0; slot < GS_SLOTS; slot++) {
            if (change->touched >> slot & 1) {
                plan->hash[slot] = fold(plan->hash[slot], &lines->list[i]);
            }
        }
        plan->node = change->node_touched ? fold(plan->node, &lines->list[i]) : plan->node;
    }
    change_begin(change);
    change->checking = false;
    for (uint32_t slot = 0; slot < GS_SLOTS; slot++) {
        uint64_t bit = (uint64_t)1 << slot;
        const struct gs_state *state = &change->states[slot];
        plan->changed |=
            state->slot == GS_SLOT_PRESENT && state->declared != plan->hash[slot] ? bit : 0;
        plan->unchanged |= plan->hash[slot] && state->declared == plan->hash[slot] ? bit : 0;
    }
    plan->node_changed = plan->node != change->declared;
    return good;
}

/* All lines are made, and what they do to GPUs that have them already is taken back. */
static bool make_all(struct change *change, const struct lines *lines, const struct plan *plan) {
    static struct change old;
    old = *change;
    uint64_t had = 0;
    for (uint32_t slot = 0; slot < GS_SLOTS; slot++) {
        had |= (uint64_t)(plan->changed >> slot & 1 && old.states[slot].declared) << slot;
    }
    if (!ctl_clear_slots(change, had)) {
        return false;
    }
    if (plan->node_changed && old.declared) {
        ctl_clear_node_faults(change);
        change->asked |= ctl_present(change); /* what the node had, the plugin met on all of them */
    }
    change->checking = !plan->changed && !plan->node_changed;
    for (size_t i = 0; i < lines->count; i++) {
        if (!make(change, &lines->list[i])) {
            return false;
        }
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < change->event_count; i++) {
        if (plan->changed >> change->events[i].slot & 1) {
            change->events[kept++] = change->events[i];
        }
    }
    change->event_count = kept;
    change->touched &= plan->changed;
    for (uint32_t slot = 0; slot < GS_SLOTS; slot++) {
        if (plan->changed >> slot & 1) {
            change_state(change, slot)->declared = plan->hash[slot];
        }
    }
    change->node_touched = plan->node_changed;
    change->declared = plan->node;
    if (!plan->changed && !plan->node_changed) {
        change->fault_sequence = old.fault_sequence;
    }
    return true;
}

/* The plugin may have started after the Xid was raised, and nothing tells it but another event. */
static void raise_unseen(struct change *change, const struct ctl *ctl, uint64_t slots) {
    struct look look = {.inventory = change->inventory, .plugin_dir = ctl->plugin_dir};
    if (!ctl->plugin_dir) {
        return;
    }
    slots &= repair_standing(change->inventory) & look_healthy(&look);
    for (uint32_t slot = ctl_next(slots, 0); slot < GS_SLOTS; slot = ctl_next(slots, slot + 1)) {
        change_xids(change, slot);
    }
}

int ctl_declare(const struct ctl *ctl) {
    static struct change change;
    struct plan plan = {.node = 0};
    struct lines lines;
    int code = lines_read(&lines);
    if (code == EXIT_FINE) {
        code = change_open(&change, ctl, true);
    }
    if (code == EXIT_FINE) {
        code = plan_lines(&change, &lines, &plan) && make_all(&change, &lines, &plan) ? EXIT_FINE
                                                                                      : EXIT_INPUT;
        if (code == EXIT_FINE) {
            raise_unseen(&change, ctl, plan.unchanged);
            change_commit(&change);
            printf("gpu-sim: %zu declared, %d GPUs%s changed\n", lines.count,
                   __builtin_popcountll(plan.changed), plan.node_changed ? " and the node" : "");
            fflush(stdout);
        }
        change_close(&change);
    }
    lines_free(&lines);
    change.subject = "ctl declare";
    return code == EXIT_FINE ? ctl_after(ctl, &change) : code;
}
