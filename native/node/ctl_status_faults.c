/* SPDX-License-Identifier: Apache-2.0
 * What of a GPU and of the node is not as configured, for `ctl status`: one walk over it writes the table's words or the
 * JSON of docs/ctl-status.md. */
#include <stdio.h>

#include "ctl_fault.h"
#include "ctl_set.h"
#include "ctl_status.h"

/* Where the walk writes, and how much it has written. */
struct out {
    bool json;
    unsigned count;
};

/* In JSON the object stays open, for what belongs to the kind. */
static void begin(struct out *out, const char *kind, bool only_reset) {
    if (out->json) {
        printf("%s{\"kind\": \"%s\", \"ends_with\": \"%s\"", out->count ? ", " : "", kind,
               only_reset ? "reset" : "clear");
    } else {
        printf("%s", out->count ? ", " : "");
    }
    out->count++;
}

static void tell_xids(struct out *out, const struct gs_state *state) {
    for (unsigned i = 0; i < GS_XIDS && state->xids[i].xid; i++) {
        begin(out, "xid", false);
        printf(out->json ? ", \"xid\": %u}" : "Xid %u", state->xids[i].xid);
    }
    if (state->lost) {
        begin(out, "lost", false);
        printf(out->json ? "}" : "lost");
    }
}

static void tell_ecc(struct out *out, const struct gs_state *state, const struct gs_state *fresh) {
    for (unsigned kind = 0; kind < 2; kind++) {
        for (unsigned place = 0; place < 8; place++) {
            const char *errors = kind ? "uncorrected" : "corrected";
            const char *location = ctl_ecc_location(place);
            uint64_t count = state->ecc_volatile[kind][place];
            if (!location || count == fresh->ecc_volatile[kind][place]) {
                continue;
            }
            begin(out, "ecc", true);
            if (out->json) {
                printf(", \"errors\": \"%s\", \"location\": \"%s\", \"count\": %llu}", errors,
                       location, (unsigned long long)count);
            } else {
                printf("%llu %s ECC %s", (unsigned long long)count, errors, location);
            }
        }
    }
}

static void tell_set(struct out *out, const struct gs_state *state, const struct gs_state *fresh) {
    for (unsigned i = 0; i < ctl_set_count(); i++) {
        struct set_shown set;
        if (!ctl_set_shown(i, state, fresh, &set)) {
            continue;
        }
        begin(out, "set", set.only_reset);
        if (out->json) {
            printf(", \"key\": \"%s\", \"low\": %.12g, \"high\": %.12g, \"unit\": \"%s\"}",
                   set.name, set.low, set.high, set.unit);
        } else {
            printf("%s=%.12g", set.name, set.low);
            if (set.high > set.low) {
                printf("-%.12g", set.high);
            }
            printf("%s", set.unit);
        }
    }
}

static void tell_throttle(struct out *out, const struct gs_state *state) {
    for (const struct throttle_reason *reason = throttle_reasons; reason->name; reason++) {
        if (state->throttle_reasons & reason->bit) {
            begin(out, "throttle", false);
            printf(out->json ? ", \"reason\": \"%s\"}" : "%s", reason->name);
        }
    }
}

static void tell_links(struct out *out, const struct gs_state *state) {
    if (!state->nvlink_down) {
        return;
    }
    begin(out, "nvlink-down", false);
    if (!out->json) {
        printf("%d NVLinks down", __builtin_popcountll(state->nvlink_down));
        return;
    }
    printf(", \"links\": ");
    status_links(state->nvlink_down);
    putchar('}');
}

static void tell_codes(struct out *out, const struct gs_fault *faults,
                       const struct gs_fault_detail *details) {
    for (unsigned i = 0; i < GS_FAULTS && faults[i].function; i++) {
        const char *name = ctl_function_name(faults[i].function);
        const char *code = ctl_code_name(faults[i].code);
        double delay_ms = (double)details[i].delay_ns / 1e6;
        if (faults[i].function == GS_NO_FUNCTION || !name) {
            continue;
        }
        begin(out, "fault", false);
        if (out->json) {
            printf(", \"function\": \"%s\", \"code\": \"%s\", \"count\": %u, \"delay_ms\": %.9g}",
                   name, code, details[i].count, delay_ms);
            continue;
        }
        printf("%s=%s", name, code);
        if (details[i].count) {
            printf(" (the first %u)", details[i].count);
        }
        if (details[i].delay_ns) {
            printf(" after %.9g ms", delay_ms);
        }
    }
}

void status_links(uint64_t links) {
    const char *separator = "";
    putchar('[');
    for (unsigned link = 0; link < 64; link++) {
        if (links >> link & 1) {
            printf("%s%u", separator, link);
            separator = ", ";
        }
    }
    putchar(']');
}

void status_gpu_faults(const struct shown *shown, bool json) {
    struct out out = {.json = json};
    const struct gs_state *state = &shown->state, *fresh = &shown->fresh;
    tell_xids(&out, state);
    tell_ecc(&out, state, fresh);
    tell_set(&out, state, fresh);
    tell_throttle(&out, state);
    tell_links(&out, state);
    tell_codes(&out, state->faults, state->fault_details);
    if (!json && state->declared) {
        printf(" (declared)");
    }
}

void status_node_faults(const struct gs_header *header, bool json) {
    struct out out = {.json = json};
    tell_codes(&out, header->faults, header->fault_details);
    if (!json && header->declared) {
        printf(" (declared)");
    }
}

bool status_node_has_faults(const struct gs_header *header) {
    for (unsigned i = 0; i < GS_FAULTS && header->faults[i].function; i++) {
        if (header->faults[i].function != GS_NO_FUNCTION) {
            return true;
        }
    }
    return false;
}
