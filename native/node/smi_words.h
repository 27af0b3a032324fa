/* SPDX-License-Identifier: Apache-2.0
 * A command line of nvidia-smi, word by word; smi_arguments.c judges it. */
#ifndef GPU_SIM_NODE_SMI_WORDS_H
#define GPU_SIM_NODE_SMI_WORDS_H

#include "smi.h"

struct smi_option {
    const char *short_name, *name;
    enum { LONE, HELP_QUERY, FLAG, VALUE, QUERY, LOOP, ELSEWHERE } kind;
    int what;
};

/* What a line was found to hold. */
struct smi_line_words {
    bool flags[128];
    const struct smi_option *lone, *help, *query;
    const char *not_view;    /* the first that is nothing to a view */
    const char *stranger;    /* the first that is nothing, or that only views know */
    const char *format_word; /* the first that only queries know */
    const char *query_word;  /* the first that asks for a query */
    const char *early_word;  /* the first that only changes know */
    const char *lone_word;   /* the first lone command */
    const char *not_lone;    /* the first that is no lone command */
    unsigned lones, ids, changes;
    bool several_queries;
};

/* Prints what is wrong with a word and returns the code. */
int smi_refuse(const char *word, const char *what, int code);

/* words[*at], with its value if it has one. */
int smi_read_word(int count, char **words, int *at, struct smi_words *given,
                  struct smi_line_words *line);

/* Whether a lone command is in the line; what else there is, is not read, only noted. */
bool smi_read_lone(int count, char **words, struct smi_line_words *line);

#endif
