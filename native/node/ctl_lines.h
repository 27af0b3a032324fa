/* SPDX-License-Identifier: Apache-2.0
 * Commands as lines on standard input, for `ctl timeline` and `ctl declare`. Empty ones and what follows a # do not
 * count. */
#ifndef GPU_SIM_NODE_CTL_LINES_H
#define GPU_SIM_NODE_CTL_LINES_H

#include <stddef.h>

enum { LINE_WORDS = 64, LINES_MAX = 1024 };

struct line {
    char subject[48]; /* "stdin:3", for messages */
    int count;
    char *words[LINE_WORDS];
    char drawn[16]; /* a word that a timeline put there */
};

struct lines {
    char *text;
    size_t count;
    struct line *list;
};

/* EXIT_FINE, or an exit code after the problems. To be freed in any case. */
int lines_read(struct lines *lines);
void lines_free(struct lines *lines);

#endif
