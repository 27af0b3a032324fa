/* SPDX-License-Identifier: Apache-2.0
 * `ctl timeline`: commands on standard input, each at its time. What is left to chance is drawn from one seed before
 * anything starts, so that the same seed and lines give the same run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../src/spec.h"
#include "clock.h"
#include "ctl.h"
#include "ctl_lines.h"
#include "problem.h"
#include "repair_hinder.h"

static const uint64_t LATEST_MS = 7u * 24 * 3600 * 1000;

struct entry {
    uint64_t at_ms;
    struct line *line;
    const struct verb *verb;
};

/* splitmix64: short, and the same everywhere. */
static uint64_t draw(uint64_t *seed) {
    uint64_t value = *seed += 0x9E3779B97F4A7C15u;
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

/* "10s", "500ms", "2m" up to `end`. */
static bool parse_moment(const char *text, size_t length, uint64_t *ms) {
    static const struct {
        const char *unit;
        uint64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}};
    char number[24], unit[4];
    size_t digits = strspn(text, "0123456789");
    if (!digits || digits >= length || digits >= sizeof number || length - digits >= sizeof unit) {
        return false;
    }
    snprintf(number, sizeof number, "%.*s", (int)digits, text);
    snprintf(unit, sizeof unit, "%.*s", (int)(length - digits), text + digits);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!strcmp(unit, units[i].unit) &&
            !gs_parse_number(number, 0, LATEST_MS / units[i].ms, ms)) {
            *ms *= units[i].ms;
            return true;
        }
    }
    return false;
}

static bool parse_time(const struct line *line, uint64_t *seed, uint64_t *at_ms) {
    const char *text = line->words[0] + 1;
    size_t length = strcspn(text, "-");
    uint64_t low, high;
    if (line->words[0][0] == '+' && parse_moment(text, length, &low)) {
        high = low;
        if (!text[length] ||
            (parse_moment(text + length + 1, strlen(text + length + 1), &high) && high >= low)) {
            *at_ms = low + (high > low ? draw(seed) % (high - low + 1) : 0);
            return true;
        }
    }
    problem(line->subject,
            "no time, got %s; give +10s, +500ms or +2m after the start, or +10s-20s for one "
            "between",
            line->words[0]);
    return false;
}

/* `--gpu any` becomes one of the GPUs that are there. */
static void draw_gpu(const struct change *change, uint64_t *seed, const struct entry *entry) {
    uint64_t valid = ctl_present(change);
    for (int i = 1; i < entry->line->count; i++) {
        char **word = &entry->line->words[i];
        bool joined = !strcmp(*word, "--gpu=any");
        if (!valid ||
            (!joined && (strcmp(*word, "any") || strcmp(entry->line->words[i - 1], "--gpu")))) {
            continue;
        }
        uint32_t slot = ctl_next(valid, 0);
        for (uint64_t skip = draw(seed) % (uint64_t)__builtin_popcountll(valid); skip; skip--) {
            slot = ctl_next(valid, slot + 1);
        }
        snprintf(entry->line->drawn, sizeof entry->line->drawn, joined ? "--gpu=%u" : "%u",
                 slot % GS_SLOTS);
        *word = entry->line->drawn;
    }
}

static int make(struct change *change, const struct entry *entry) {
    char *copy[LINE_WORDS];
    memcpy(copy, entry->line->words + 2, (size_t)(entry->line->count - 2) * sizeof *copy);
    change->subject = entry->line->subject;
    return entry->verb->make(change, entry->line->count - 2, copy);
}

static bool prepare(struct change *change, uint64_t *seed, struct entry *entry) {
    const struct line *line = entry->line;
    if (!parse_time(line, seed, &entry->at_ms)) {
        return false;
    }
    entry->verb = line->count > 1 ? ctl_verb(line->words[1]) : NULL;
    if (!entry->verb) {
        char names[128];
        problem(line->subject, "no such command, got %s; there are %s",
                line->count > 1 ? line->words[1] : "nothing",
                ctl_verb_names(false, names, sizeof names));
        return false;
    }
    draw_gpu(change, seed, entry);
    change_begin(change);
    return make(change, entry) == EXIT_FINE;
}

static int by_time(const void *a, const void *b) {
    const struct entry *one = a, *other = b;
    return one->at_ms != other->at_ms ? (one->at_ms < other->at_ms ? -1 : 1)
                                      : (one->line < other->line ? -1 : one->line > other->line);
}

static void show(const struct entry *entry) {
    printf("+%llu.%03llus", (unsigned long long)entry->at_ms / 1000,
           (unsigned long long)entry->at_ms % 1000);
    for (int i = 1; i < entry->line->count; i++) {
        printf(" %s", entry->line->words[i]);
    }
    putchar('\n');
    fflush(stdout);
}

static void sleep_until(double moment) {
    double left;
    while ((left = moment - clock_seconds()) > 0) {
        struct timespec period = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
        nanosleep(&period, NULL);
    }
}

static int play(const struct ctl *ctl, const struct entry *entries, size_t count) {
    static struct change change;
    double start = clock_seconds();
    int worst = EXIT_FINE;
    for (size_t i = 0; i < count; i++) {
        sleep_until(start + (double)entries[i].at_ms / 1000);
        show(&entries[i]);
        int code = change_open(&change, ctl, true);
        if (code == EXIT_FINE) {
            code = make(&change, &entries[i]);
            code = code == EXIT_FINE ? hinder_refuse(ctl, &change) : code;
            if (code == EXIT_FINE) {
                change_commit(&change);
            }
            change_close(&change);
        }
        code = code == EXIT_FINE ? ctl_after(ctl, &change) : code;
        worst = code > worst ? code : worst;
    }
    return worst;
}

int ctl_timeline(const struct ctl *ctl, const char *given, bool dry_run) {
    static struct entry entries[LINES_MAX];
    static struct change change;
    struct lines lines;
    uint64_t seed = (uint64_t)time(NULL);
    if (given && gs_parse_number(given, 0, UINT64_MAX, &seed)) {
        problem("ctl timeline", "--seed: no number, got %s; give a whole one, or leave it out",
                given);
        return EXIT_INPUT;
    }
    uint64_t drawn = seed;
    int code = lines_read(&lines);
    if (code == EXIT_FINE) {
        code = change_open(&change, ctl, false);
    }
    if (code == EXIT_FINE) {
        change.checking = true;
        bool good = true;
        for (size_t i = 0; i < lines.count; i++) {
            entries[i].line = &lines.list[i];
            good &= prepare(&change, &drawn, &entries[i]);
        }
        change_close(&change);
        code = good ? EXIT_FINE : EXIT_INPUT;
    }
    if (code == EXIT_FINE) {
        qsort(entries, lines.count, sizeof *entries, by_time);
        printf("seed %llu\n", (unsigned long long)seed);
        fflush(stdout);
        for (size_t i = 0; dry_run && i < lines.count; i++) {
            show(&entries[i]);
        }
        code = dry_run ? EXIT_FINE : play(ctl, entries, lines.count);
    }
    lines_free(&lines);
    return code;
}
