/* SPDX-License-Identifier: Apache-2.0
 * `ctl xid`, `ctl lost` and `ctl ecc`: what a board reports by an event. */
#include <nvml.h>
#include <stdio.h>
#include <string.h>

#include "../src/reader.h"
#include "../src/spec.h"
#include "arguments.h"
#include "ctl.h"
#include "ctl_lists.h"
#include "ctl_set.h"
#include "plugin_health.h"
#include "problem.h"

enum { FALLEN_OFF_THE_BUS = 79 };

/* --gpu and `wanted` other words, which *rest gets; `what` names them. */
static int parse(struct change *change, int count, char **words, const struct option *more,
                 size_t more_count, int wanted, const char *what, uint64_t *slots, char **rest) {
    const char *gpu = NULL;
    struct option options[4] = {{"--gpu", &gpu, NULL, true}};
    for (size_t i = 0; i < more_count; i++) {
        options[i + 1] = more[i];
    }
    int others;
    char *left[CTL_WORDS];
    if (!ctl_few(change, count) ||
        !arguments_split(change->subject, count, words, options, more_count + 1, left, &others)) {
        return EXIT_USAGE;
    }
    if (others != wanted) {
        problem(change->subject, "needs %s, got %d words; see gpu-sim ctl --help", what, others);
        return EXIT_USAGE;
    }
    memcpy(rest, left, (size_t)wanted * sizeof *left);
    return ctl_gpus(change, gpu, slots) ? EXIT_FINE : EXIT_INPUT;
}

/* What a repair raises again. */
static bool stands(struct change *change, uint32_t slot, uint32_t xid) {
    struct gs_xid *xids = change_state(change, slot)->xids;
    for (unsigned i = 0; i < GS_XIDS; i++) {
        if (!xids[i].xid || xids[i].xid == xid) {
            xids[i].xid = xid;
            return true;
        }
    }
    problem(change->subject, "GPU %u has %u Xids already, got one more; clear it first", slot,
            GS_XIDS);
    return false;
}

void change_xids(struct change *change, uint32_t slot) {
    const struct gs_xid *xids = change->states[slot].xids;
    for (unsigned i = 0; i < GS_XIDS && xids[i].xid; i++) {
        if (!plugin_ignores(xids[i].xid, NULL)) {
            change_event(change, slot, nvmlEventTypeXidCriticalError, xids[i].xid);
        }
    }
}

static int raise_xid(struct change *change, uint64_t slots, uint32_t xid) {
    for (uint32_t slot = ctl_next(slots, 0); slot < GS_SLOTS; slot = ctl_next(slots, slot + 1)) {
        if (!stands(change, slot, xid) ||
            !change_event(change, slot, nvmlEventTypeXidCriticalError, xid)) {
            return EXIT_INPUT;
        }
    }
    return EXIT_FINE;
}

int ctl_xid(struct change *change, int count, char **words) {
    uint64_t slots, xid;
    char *word, names[256];
    const char *why;
    int code =
        parse(change, count, words, NULL, 0, 1, "--gpu and one Xid, such as 79", &slots, &word);
    if (code == EXIT_USAGE) {
        return code;
    }
    if (gs_parse_number(word, 1, GS_XID_MAX, &xid)) {
        problem(change->subject, "no Xid, got %s; give a number from 1 to %d, such as 48, 79 or 94",
                word, GS_XID_MAX);
        code = EXIT_INPUT;
    }
    if (code != EXIT_FINE) {
        return code;
    }
    if (plugin_ignores((uint32_t)xid, &why) && !change->checking) {
        notice(change->subject,
               "the device plugin ignores Xid %u (%s): %s stays healthy to the "
               "kubelet",
               (unsigned)xid, why, ctl_names(slots, names, sizeof names));
    }
    return raise_xid(change, slots, (uint32_t)xid);
}

int ctl_lost(struct change *change, int count, char **words) {
    uint64_t slots;
    char *none[1], names[256];
    int code = parse(change, count, words, NULL, 0, 0, "--gpu and nothing else", &slots, none);
    if (code != EXIT_FINE) {
        return code;
    }
    for (uint32_t slot = ctl_next(slots, 0); slot < GS_SLOTS; slot = ctl_next(slots, slot + 1)) {
        struct gs_state *state = change_state(change, slot);
        state->lost = 1;
        state->lost_from_ns = 0;
    }
    if (!change->checking) {
        notice(
            change->subject,
            "while %s is lost, device plugin v0.20.0 refuses every pod of this node that asks for "
            "GPUs, and does not start again once it stops; gpu-sim ctl clear ends it",
            ctl_names(slots, names, sizeof names));
    }
    return raise_xid(change, slots, FALLEN_OFF_THE_BUS);
}

#define LOCATION(name, location) {name, location},
static const struct {
    const char *name;
    nvmlMemoryLocation_t location;
} locations[] = {GS_ECC_LOCATIONS(LOCATION)};
enum { LOCATIONS = sizeof locations / sizeof *locations };

const char *ctl_ecc_location(unsigned location) {
    for (size_t i = 0; i < LOCATIONS; i++) {
        if (locations[i].location == location) {
            return locations[i].name;
        }
    }
    return NULL;
}

static bool find_location(const char *subject, const char *name, unsigned *location) {
    char names[128] = "";
    for (size_t i = 0; i < LOCATIONS; i++) {
        if (!strcmp(locations[i].name, name)) {
            *location = locations[i].location;
            return true;
        }
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", locations[i].name);
    }
    problem(subject, "--location: no such place, got %s; give one of %s", name, names);
    return false;
}

static bool has_ecc(const struct change *change, uint64_t slots) {
    bool good = true;
    for (uint32_t slot = ctl_next(slots, 0); slot < GS_SLOTS; slot = ctl_next(slots, slot + 1)) {
        struct gs_config config;
        gs_read_config(gs_gpu_at(change->inventory, slot), &config);
        if (!(config.features & GS_HAS_ECC) || !change->states[slot].ecc_current) {
            problem(change->subject,
                    "GPU %u counts no memory errors, got %s without ECC; name a "
                    "GPU that has it switched on",
                    slot, config.name);
            good = false;
        }
    }
    return good;
}

int ctl_ecc(struct change *change, int count, char **words) {
    const char *corrected = NULL, *uncorrected = NULL, *place = "dram";
    const struct option options[] = {{"--corrected", &corrected, NULL, false},
                                     {"--uncorrected", &uncorrected, NULL, false},
                                     {"--location", &place, NULL, false}};
    uint64_t slots, errors = 0;
    unsigned location = 0;
    char *none[1];
    int code = parse(change, count, words, options, 3, 0,
                     "--gpu, and --corrected or --uncorrected with a number", &slots, none);
    if (code == EXIT_USAGE) {
        return code;
    }
    if (!corrected == !uncorrected) {
        problem(change->subject, "how many errors? give either --corrected or --uncorrected");
        return EXIT_USAGE;
    }
    const char *given = corrected ? corrected : uncorrected;
    if (gs_parse_number(given, 1, UINT32_MAX, &errors)) {
        problem(change->subject, "%s: no number of errors, got %s; give 1 to %u",
                corrected ? "--corrected" : "--uncorrected", given, UINT32_MAX);
        code = EXIT_INPUT;
    }
    if (!find_location(change->subject, place, &location) ||
        (code == EXIT_FINE && !has_ecc(change, slots)) || code != EXIT_FINE) {
        return EXIT_INPUT;
    }
    for (uint32_t slot = ctl_next(slots, 0); slot < GS_SLOTS; slot = ctl_next(slots, slot + 1)) {
        struct gs_state *state = change_state(change, slot);
        state->ecc_volatile[!corrected][location] += errors;
        state->ecc_aggregate[!corrected][location] += errors;
        if (!change_event(change, slot,
                          corrected ? nvmlEventTypeSingleBitEccError
                                    : nvmlEventTypeDoubleBitEccError,
                          errors)) {
            return EXIT_INPUT;
        }
    }
    return EXIT_FINE;
}
