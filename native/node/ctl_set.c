/* SPDX-License-Identifier: Apache-2.0
 * `ctl set`: what a GPU shows. GS_SET_KEYS has each key with unit, range and place; messages, help and status come from
 * it. */
#include "ctl_set.h"

#include <stdio.h>
#include <string.h>

#include "../src/reader.h"
#include "../src/spec.h"
#include "arguments.h"
#include "ctl.h"
#include "ctl_lists.h"
#include "problem.h"

enum kind { READING, NUMBER32, NUMBER64, COMPUTE_MODE };

static const char COMPUTE_MODES[] = "0, 2 or 3";

struct field {
    const char *name, *unit, *about;
    enum kind kind;
    size_t place;   /* in struct gs_state */
    uint64_t scale; /* of the unit in what is stored */
    uint64_t low, high;
    size_t least,
        most; /* places in struct gs_config that narrow low and high, in what is stored; 0: none */
    uint32_t override; /* enum gs_override */
    uint64_t feature;  /* that the board needs; 0: none */
    bool only_reset;   /* clear leaves it */
};

#define NONE 0
#define OF_BOARD(member) offsetof(struct gs_config, member)
#define FIELD(name, unit, kind, member, scale, low, high, least, most, feature, override, reset,   \
              about)                                                                               \
    {name, unit,     about,   kind, offsetof(struct gs_state, member), scale, low, high, least,    \
     most, override, feature, reset},
static const struct field fields[] = {GS_SET_KEYS(FIELD)};
enum { FIELDS = sizeof fields / sizeof *fields };

void ctl_set_help(const char *command) {
    if (strcmp(command, "set")) {
        ctl_throttle_help();
        return;
    }
    puts("gpu-sim ctl set --gpu G KEY=VALUE…\n\nA value needs its unit. LOW-HIGH is a range.\n");
    for (unsigned i = 0; i < FIELDS; i++) {
        const struct field *field = &fields[i];
        char range[48];
        if (field->kind == COMPUTE_MODE) {
            snprintf(range, sizeof range, "%s", COMPUTE_MODES);
        } else if (field->high) {
            snprintf(range, sizeof range, "%llu%s to %llu%s", (unsigned long long)field->low,
                     field->unit, (unsigned long long)field->high, field->unit);
        } else {
            snprintf(range, sizeof range, "in %s, up to the board's", field->unit);
        }
        printf("  %-20s %-26s %s\n", field->name, range, field->about);
    }
}

static uint64_t of_config(const struct gs_config *config, size_t place) {
    uint32_t small;
    uint64_t large;
    memcpy(&large, (const char *)config + place, sizeof large);
    memcpy(&small, (const char *)config + place, sizeof small);
    return place == OF_BOARD(memory_total) ? large - config->memory_reserved : small;
}

/* The range on this board, in the field's unit. */
static void range_on(const struct field *field, const struct gs_config *config, uint64_t *low,
                     uint64_t *high) {
    *low = field->least ? (of_config(config, field->least) + field->scale - 1) / field->scale
                        : field->low;
    *high = field->most ? of_config(config, field->most) / field->scale : field->high;
}

/* "85C" or, for readings, "10-30%": digits, a dash, digits, the unit. */
static bool parse(const struct field *field, const char *text, uint64_t low, uint64_t high,
                  uint64_t value[2]) {
    char numbers[48], *dash;
    size_t length = strlen(text), unit = strlen(field->unit);
    if (length <= unit || length - unit >= sizeof numbers ||
        strcmp(text + length - unit, field->unit)) {
        return false;
    }
    /* P8, as nvidia-smi writes it. */
    bool named = !strcmp(field->name, "pstate") && *text == 'P';
    snprintf(numbers, sizeof numbers, "%.*s", (int)(length - unit - named), text + named);
    dash = field->kind == READING ? strchr(numbers, '-') : NULL;
    if (dash) {
        *dash = 0;
    }
    if (gs_parse_number(numbers, low, high, &value[0]) ||
        (field->kind == COMPUTE_MODE && value[0] == GS_COMPUTE_MODE_GONE)) {
        return false;
    }
    value[1] = value[0];
    return !dash || !gs_parse_number(dash + 1, value[0], high, &value[1]);
}

static void store(const struct field *field, const uint64_t value[2], struct gs_state *state) {
    char *place = (char *)state + field->place;
    if (field->kind == READING) {
        struct gs_reading reading = {(int32_t)(value[0] * field->scale),
                                     (int32_t)(value[1] * field->scale)};
        memcpy(place, &reading, sizeof reading);
    } else if (field->kind == NUMBER32 || field->kind == COMPUTE_MODE) {
        uint32_t number = (uint32_t)(value[0] * field->scale);
        memcpy(place, &number, sizeof number);
    } else {
        uint64_t number = value[0] * field->scale;
        memcpy(place, &number, sizeof number);
    }
    state->overridden |= field->override;
}

static void load(const struct field *field, const struct gs_state *state, uint64_t value[2]) {
    const char *place = (const char *)state + field->place;
    struct gs_reading reading;
    uint32_t number;
    if (field->kind == READING) {
        memcpy(&reading, place, sizeof reading);
        value[0] = (uint64_t)reading.low;
        value[1] = (uint64_t)reading.high;
        return;
    }
    memcpy(&number, place, sizeof number);
    memcpy(&value[0], place, sizeof value[0]);
    value[0] = value[1] = field->kind == NUMBER64 ? value[0] : number;
}

bool ctl_set_shown(unsigned index, const struct gs_state *state, const struct gs_state *fresh,
                   struct set_shown *shown) {
    const struct field *field = &fields[index];
    uint64_t now[2], configured[2];
    load(field, state, now);
    load(field, fresh, configured);
    *shown = (struct set_shown){field->name, field->unit, (double)now[0] / (double)field->scale,
                                (double)now[1] / (double)field->scale, field->only_reset};
    return state->overridden & field->override || memcmp(now, configured, sizeof now) != 0;
}

unsigned ctl_set_count(void) {
    return FIELDS;
}

static const struct field *find(const char *subject, const char *word) {
    size_t length = strcspn(word, "=");
    char names[256] = "";
    for (unsigned i = 0; i < FIELDS; i++) {
        if (word[length] && strlen(fields[i].name) == length &&
            !memcmp(fields[i].name, word, length)) {
            return &fields[i];
        }
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", fields[i].name);
    }
    problem(subject, "no such KEY=VALUE, got %s; keys are %s", word, names);
    return NULL;
}

static bool set_one(struct change *change, uint32_t slot, const struct field *field,
                    const char *text) {
    struct gs_config config;
    uint64_t low, high, value[2];
    gs_read_config(gs_gpu_at(change->inventory, slot), &config);
    range_on(field, &config, &low, &high);
    if (field->feature && !(config.features & field->feature)) {
        problem(change->subject, "GPU %u, a %s, does not tell its %s, got %s; leave it out", slot,
                config.name, field->name, text);
        return false;
    }
    bool good = parse(field, text, low, high, value);
    if (!good && field->kind == COMPUTE_MODE) {
        problem(change->subject, "%s of GPU %u: wrong value, got %s; give %s", field->name, slot,
                text, COMPUTE_MODES);
    } else if (!good) {
        problem(change->subject, "%s of GPU %u: wrong value, got %s; give %llu%s to %llu%s%s",
                field->name, slot, text, (unsigned long long)low, field->unit,
                (unsigned long long)high, field->unit,
                field->kind == READING ? ", or a range of it as LOW-HIGH with the unit" : "");
    } else {
        store(field, value, change_state(change, slot));
    }
    return good;
}

int ctl_set(struct change *change, int count, char **words) {
    const char *gpu = NULL;
    const struct option options[] = {{"--gpu", &gpu, NULL, true}};
    char *rest[CTL_WORDS];
    int others;
    uint64_t slots;
    if (!ctl_few(change, count) ||
        !arguments_split(change->subject, count, words, options, 1, rest, &others)) {
        return EXIT_USAGE;
    }
    if (!others) {
        problem(change->subject, "nothing to set; give KEY=VALUE, see gpu-sim ctl set --help");
        return EXIT_USAGE;
    }
    bool good = ctl_gpus(change, gpu, &slots), seen[FIELDS] = {false};
    for (int i = 0; i < others; i++) {
        const struct field *field = find(change->subject, rest[i]);
        good &= field != NULL;
        if (field && seen[field - fields]) {
            problem(change->subject, "%s is given twice, got %s; give it once", field->name,
                    rest[i]);
            good = false;
            continue;
        }
        if (field) {
            seen[field - fields] = true;
        }
        for (uint32_t slot = field ? ctl_next(slots, 0) : GS_SLOTS; slot < GS_SLOTS;
             slot = ctl_next(slots, slot + 1)) {
            good &= set_one(change, slot, field, strchr(rest[i], '=') + 1);
        }
    }
    return good ? EXIT_FINE : EXIT_INPUT;
}
