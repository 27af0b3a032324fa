/* SPDX-License-Identifier: Apache-2.0
 * Parses a command line by its table, see arguments.h. */
#include "arguments.h"

#include <stdint.h>
#include <string.h>

#include "problem.h"

static const struct option *find(const char *word, const struct option *options, size_t count) {
    size_t length = strcspn(word, "=");
    for (size_t i = 0; i < count; i++) {
        if (strlen(options[i].name) == length && !memcmp(options[i].name, word, length)) {
            return &options[i];
        }
    }
    return NULL;
}

bool arguments_parse(const char *command, int count, char **words, const struct option *options,
                     size_t options_count) {
    return arguments_split(command, count, words, options, options_count, NULL, NULL);
}

bool arguments_split(const char *command, int count, char **words, const struct option *options,
                     size_t options_count, char **rest, int *rest_count) {
    int before = problem_count();
    uint64_t seen = 0;
    if (rest_count) {
        *rest_count = 0;
    }

    for (int i = 0; i < count; i++) {
        const struct option *option = find(words[i], options, options_count);
        const char *equals = strchr(words[i], '=');
        if (!option && rest && words[i][0] != '-') {
            rest[(*rest_count)++] = words[i];
            continue;
        }
        if (!option) {
            problem(command, "no such option, got %s; see gpu-sim --help", words[i]);
            continue;
        }
        uint64_t bit = (uint64_t)1 << (option - options);
        bool again = seen & bit;
        seen |= bit;
        if (!option->value) {
            if (equals) {
                problem(command, "%s takes no value, got %s", option->name, equals + 1);
            }
            *option->given = true;
            continue;
        }
        const char *value = equals ? equals + 1 : NULL;
        if (!value) {
            if (i + 1 >= count) {
                problem(command, "%s needs a value; give one after it", option->name);
                continue;
            }
            value = words[++i];
        }
        if (!*value) {
            problem(command, "%s needs a value; give one that is not empty", option->name);
            continue;
        }
        if (again) {
            problem(command, "%s is given twice, got %s; give it once", option->name, value);
            continue;
        }
        *option->value = value;
        if (option->given) {
            *option->given = true;
        }
    }
    for (size_t i = 0; i < options_count; i++) {
        if (options[i].required && !(seen >> i & 1)) {
            problem(command, "%s is missing; give it a value", options[i].name);
        }
    }
    return problem_count() == before;
}
