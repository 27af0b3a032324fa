/* SPDX-License-Identifier: Apache-2.0
 * Command lines as tables: every command names its options once, and a wrong line is answered with all that is wrong. */
#ifndef GPU_SIM_NODE_ARGUMENTS_H
#define GPU_SIM_NODE_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>

struct option {
    const char *name;   /* with its dashes */
    const char **value; /* takes a value: `--name value` or `--name=value`; NULL for a switch */
    bool *given;        /* set when the option is there; may be NULL */
    bool required;
};

#define OPTION_COUNT(table) (sizeof(table) / sizeof *(table))

/* False after it has reported every wrong option; nothing but options is allowed. An empty value is wrong, since a
 * script whose variable is empty does not mean the default; so is an option that is given twice. At most 64 options. */
bool arguments_parse(const char *command, int count, char **words, const struct option *options,
                     size_t options_count);

/* The same for a command that takes other words too, before, between or after its options: they are left in `rest`,
 * which has room for `count` of them. */
bool arguments_split(const char *command, int count, char **words, const struct option *options,
                     size_t options_count, char **rest, int *rest_count);

#endif
