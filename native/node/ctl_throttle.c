/* SPDX-License-Identifier: Apache-2.0
 * `ctl throttle` and `ctl nvlink-down`: what holds a board back. */
#include <nvml.h>
#include <stdio.h>
#include <string.h>

#include "../src/reader.h"
#include "../src/spec.h"
#include "../src/writer.h"
#include "arguments.h"
#include "clock.h"
#include "ctl.h"
#include "ctl_lists.h"
#include "ctl_set.h"
#include "problem.h"

#define REASON(name, bit, policy) {name, bit, policy},
const struct throttle_reason throttle_reasons[] = {
    GS_THROTTLE_REASONS(REASON){NULL, 0, -1},
};

void ctl_throttle_help(void) {
    puts("gpu-sim ctl throttle --gpu G REASON…|none\n\nThe reasons given replace those before:\n");
    for (const struct throttle_reason *reason = throttle_reasons; reason->name; reason++) {
        printf("  %s\n", reason->name);
    }
}

static bool find(const char *subject, const char *word, uint64_t *reasons) {
    char names[256] = "none";
    for (const struct throttle_reason *reason = throttle_reasons; reason->name; reason++) {
        if (!strcmp(word, reason->name)) {
            *reasons |= reason->bit;
            return true;
        }
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, ", %s", reason->name);
    }
    problem(subject, "no such reason, got %s; give %s", word, names);
    return false;
}

/* The time of a policy counts up while one of its reasons is there. */
static void count_time(struct gs_state *state, uint64_t reasons, uint64_t now) {
    uint64_t rates[8] = {0};
    for (const struct throttle_reason *reason = throttle_reasons; reason->name; reason++) {
        if (reasons & reason->bit && reason->policy >= 0) {
            rates[reason->policy] = 1000000000u;
        }
    }
    for (unsigned i = 0; i < 8; i++) {
        if (state->violation[i].per_second != rates[i]) {
            gs_counter_rate(&state->violation[i], now, rates[i]);
        }
    }
}

int ctl_throttle(struct change *change, int count, char **words) {
    const char *gpu = NULL;
    const struct option options[] = {{"--gpu", &gpu, NULL, true}};
    char *rest[CTL_WORDS];
    int others;
    uint64_t slots, reasons = 0;
    if (!ctl_few(change, count) ||
        !arguments_split(change->subject, count, words, options, 1, rest, &others)) {
        return EXIT_USAGE;
    }
    if (!others) {
        problem(change->subject, "no reason given; see gpu-sim ctl throttle --help, or give none");
        return EXIT_USAGE;
    }
    bool good = ctl_gpus(change, gpu, &slots), none = false;
    const char *reason = NULL;
    for (int i = 0; i < others; i++) {
        bool is_none = !strcmp(rest[i], "none");
        none |= is_none;
        reason = is_none ? reason : rest[i];
        good &= is_none || find(change->subject, rest[i], &reasons);
    }
    if (none && reasons) {
        problem(change->subject, "none stands alone, got %s beside it; give none, or reasons",
                reason);
        good = false;
    }
    if (!good) {
        return EXIT_INPUT;
    }
    uint64_t now = clock_boot_ns();
    for (uint32_t slot = ctl_next(slots, 0); slot < GS_SLOTS; slot = ctl_next(slots, slot + 1)) {
        struct gs_state *state = change_state(change, slot);
        state->throttle_reasons = reasons;
        count_time(state, reasons, now);
    }
    return EXIT_FINE;
}

/* "4", "0,2" or "all", on one board. */
static bool links_on(const char *subject, uint32_t slot, const struct gs_config *config,
                     const char *text, uint64_t *links) {
    char word[24];
    *links = config->nvlinks >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << config->nvlinks) - 1;
    if (!config->nvlinks) {
        problem(subject, "GPU %u, a %s, has no NVLink, got --link %s; name another GPU", slot,
                config->name, text);
        return false;
    }
    if (!strcmp(text, "all")) {
        return true;
    }
    *links = 0;
    for (const char *p = text;; p++) {
        uint64_t link;
        size_t length = strcspn(p, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, p);
        if (length >= sizeof word || gs_parse_number(word, 0, config->nvlinks - 1, &link)) {
            problem(subject, "--link: no such link of GPU %u, got %s; it has 0 to %u, or all", slot,
                    length ? word : "nothing beside a comma", config->nvlinks - 1);
            return false;
        }
        *links |= (uint64_t)1 << link;
        p += length;
        if (!*p) {
            return true;
        }
    }
}

int ctl_nvlink_down(struct change *change, int count, char **words) {
    const char *gpu = NULL, *link = NULL;
    const struct option options[] = {{"--gpu", &gpu, NULL, true}, {"--link", &link, NULL, true}};
    uint64_t slots, links[GS_SLOTS];
    if (!arguments_parse(change->subject, count, words, options, 2)) {
        return EXIT_USAGE;
    }
    bool good = ctl_gpus(change, gpu, &slots);
    for (uint32_t slot = ctl_next(slots, 0); slot < GS_SLOTS; slot = ctl_next(slots, slot + 1)) {
        struct gs_config config;
        gs_read_config(gs_gpu_at(change->inventory, slot), &config);
        good &= links_on(change->subject, slot, &config, link, &links[slot]);
    }
    for (uint32_t slot = good ? ctl_next(slots, 0) : GS_SLOTS; slot < GS_SLOTS;
         slot = ctl_next(slots, slot + 1)) {
        change_state(change, slot)->nvlink_down |= links[slot];
    }
    return good ? EXIT_FINE : EXIT_INPUT;
}
