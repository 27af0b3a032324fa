/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi's options, and the reading of a line word by word: what it holds, not yet whether that makes sense. */
#include "smi_words.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "smi_change.h"
#include "smi_fields.h"

static const struct smi_option options[] = {
    {"-h", "--help", LONE, SMI_HELP},
    {"", "--version", LONE, SMI_VERSION},
    {"-L", "--list-gpus", LONE, SMI_LIST},
    {"-B", "--list-excluded-gpus", LONE, SMI_LIST_EXCLUDED},
    {"", "--help-query-gpu", HELP_QUERY, SMI_QUERY_GPU},
    {"", "--help-query-compute-apps", HELP_QUERY, SMI_QUERY_APPS},
    {"", "--help-query-remapped-rows", HELP_QUERY, SMI_QUERY_ROWS},
    {"", "--query-remapped-rows", QUERY, SMI_QUERY_ROWS},
    {"", "--query-gpu", QUERY, SMI_QUERY_GPU},
    {"", "--query-compute-apps", QUERY, SMI_QUERY_APPS},
    {"-q", "--query", FLAG, 'q'},
    {"-x", "--xml-format", FLAG, 'x'},
    {"-u", "--unit", FLAG, 'u'},
    {"-eow", "--error-on-warning", FLAG, 'e'},
    {"-i", "--id", VALUE, offsetof(struct smi_words, ids)},
    {"-d", "--display", VALUE, offsetof(struct smi_words, sections)},
    {"", "--format", VALUE, offsetof(struct smi_words, format)},
    {"-f", "--filename", VALUE, offsetof(struct smi_words, file)},
    {"-l", "--loop", LOOP, 1000},
    {"-lms", "--loop-ms", LOOP, 1},
    /* The real one has them. */
    {"", "--dtd", ELSEWHERE, 0},
    {"", "--query-supported-clocks", ELSEWHERE, 0},
    {"", "--query-accounted-apps", ELSEWHERE, 0},
    {"", "--query-retired-pages", ELSEWHERE, 0},
    {"-cc", "--cuda-clocks", ELSEWHERE, 0},
    {"-lmcd", "--lock-memory-clocks-deferred", ELSEWHERE, 0},
    {"-rmcd", "--reset-memory-clocks-deferred", ELSEWHERE, 0},
    {"-t", "--toggle-led", ELSEWHERE, 0},
};

int smi_refuse(const char *word, const char *what, int code) {
    printf("ERROR: Option %s is %s\n\n", word, what);
    return code;
}

static bool is_name(const char *word, const char *name) {
    size_t length = strlen(name);
    return length && !strncmp(word, name, length) && (!word[length] || word[length] == '=');
}

static const struct smi_option *find_option(const char *word) {
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (is_name(word, options[i].short_name) || is_name(word, options[i].name)) {
            return &options[i];
        }
    }
    return NULL;
}

static const struct smi_change *find_change(const char *word) {
    for (size_t i = 0; i < smi_change_count; i++) {
        if (is_name(word, smi_changes[i].short_name) || is_name(word, smi_changes[i].name)) {
            return &smi_changes[i];
        }
    }
    return NULL;
}

static void first(const char **place, const char *word) {
    *place = *place ? *place : word;
}

/* What a view, a query or a change knows: where such a word stands, the value of the one before it is missing. */
static bool is_known_to(bool query, bool change, const char *word) {
    const struct smi_option *option = find_option(word);
    if (change) {
        return find_change(word) || (option && !strcmp(option->name, "--id"));
    }
    return option && !(query && (option->kind == FLAG || !strcmp(option->name, "--display")));
}

/* The value follows `=`, or is the next word; NULL if there is none. */
static const char *value_of(int count, char **words, int *at, bool query, bool change) {
    const char *equals = strchr(words[*at], '=');
    if (equals) {
        return equals + 1;
    }
    bool follows = *at + 1 < count && !is_known_to(query, change, words[*at + 1]);
    return follows ? words[++*at] : NULL;
}

/* Help goes before the version, and that before the lists; what is less is not valid beside it. */
static int rank(const struct smi_option *option) {
    return option->what == SMI_HELP ? 0 : option->what == SMI_VERSION ? 1 : 2;
}

static void note_lone(struct smi_line_words *line, const struct smi_option *option,
                      const char *word) {
    if (line->lone && rank(option) > rank(line->lone)) {
        first(&line->not_lone, word);
        return;
    }
    if (line->lone && rank(option) < rank(line->lone)) {
        first(&line->not_lone, line->lone_word);
        line->lones = 0;
    }
    line->lones++;
    line->lone = option;
    line->lone_word = word;
}

static void note_word(struct smi_line_words *line, const struct smi_option *option,
                      const char *word) {
    switch (option->kind) {
    case HELP_QUERY:
        line->help = option;
        break;
    case QUERY:
        line->several_queries |= line->query && line->query != option;
        line->query = option;
        first(&line->query_word, word);
        break;
    case FLAG:
        line->flags[option->what] = true;
        first(option->what == 'e' ? &line->early_word : &line->stranger, word);
        if (option->what == 'e') {
            first(&line->not_view, word);
        }
        break;
    case VALUE:
        line->ids += option->what == offsetof(struct smi_words, ids);
        if (option->what == offsetof(struct smi_words, sections)) {
            first(&line->stranger, word);
        } else if (option->what == offsetof(struct smi_words, format)) {
            first(&line->format_word, word);
            first(&line->not_view, word);
        }
        break;
    default:
        break;
    }
}

/* What is no number at all, such as 1e3, is passed over as if nothing had been given. */
static int loop(struct smi_words *given, const char *value, int unit) {
    char *end;
    long number = value ? strtol(value, &end, 0) : 0;
    if (!value || end == value || *end || number < 0 || number > INT_MAX) {
        number = unit == 1 ? 100 : 5;
    }
    given->loop_ms = (unsigned long long)number * (unsigned long long)unit;
    if (!given->loop_ms) {
        puts("Provided [-l(ms) | --loop(-ms)=] value is incorrect. Loop frequency must be greater "
             "than 0.\n");
        return SMI_INVALID_ARGUMENT;
    }
    return SMI_FINE;
}

/* One word, with its value if it has one. */
int smi_read_word(int count, char **words, int *at, struct smi_words *given,
                  struct smi_line_words *line) {
    const char *word = words[*at], *value = strchr(word, '=');
    const struct smi_option *option = find_option(word);
    const struct smi_change *change = option ? NULL : find_change(word);
    bool takes = change ? change->kind != SMI_NO_VALUE
                        : option && (option->kind == VALUE || option->kind == QUERY);
    if (option && option->kind == LOOP) {
        value = value_of(count, words, at, false, false);
        return loop(given, value, option->what);
    }
    if (takes) {
        bool query = option && (option->kind == QUERY || !strcmp(option->name, "--format"));
        value = value_of(count, words, at, query, change);
        if (!value) {
            return smi_refuse(word, "missing its value. Please run 'nvidia-smi -h' for help.",
                              SMI_OTHER);
        }
    } else if (value && (option || change)) {
        first(&line->not_view, value + 1); /* the real one cuts a word at its `=` */
        first(&line->stranger, value + 1);
    }
    if (change) {
        line->changes++;
        given->change = change;
        given->value = takes ? value : NULL;
        return takes ? smi_change_check(change, word, value) : SMI_FINE;
    }
    if (!option) {
        first(&line->not_view, word);
        first(&line->stranger, word);
        return SMI_FINE;
    }
    note_word(line, option, word);
    if (option->kind == VALUE) {
        memcpy((char *)given + option->what, &value, sizeof value);
    } else if (option->kind == QUERY) {
        given->fields = value;
    } else if (option->kind == ELSEWHERE) {
        first(&given->unavailable, word);
    }
    return SMI_FINE;
}

bool smi_read_lone(int count, char **words, struct smi_line_words *line) {
    for (int i = 0; i < count; i++) {
        const struct smi_option *option = find_option(words[i]);
        const char *value = strchr(words[i], '=');
        if (!option || option->kind != LONE) {
            first(&line->not_lone, words[i]);
            continue;
        }
        note_lone(line, option, words[i]);
        if (value) {
            first(&line->not_lone, value + 1);
        }
    }
    return line->lone;
}
