/* SPDX-License-Identifier: Apache-2.0
 * Reads commands from standard input, see ctl_lines.h. */
#include "ctl_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problem.h"

static void split(struct line *line, char *text) {
    char *save = NULL;
    text[strcspn(text, "#\r")] = 0;
    for (char *word = strtok_r(text, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
        if (line->count == LINE_WORDS) {
            problem(line->subject, "too many words, got over %d; is it a command of gpu-sim ctl?",
                    LINE_WORDS);
            return;
        }
        line->words[line->count++] = word;
    }
}

int lines_read(struct lines *lines) {
    size_t room = 0;
    int before = problem_count();
    *lines = (struct lines){.list = calloc(LINES_MAX, sizeof *lines->list)};
    ssize_t length = getdelim(&lines->text, &room, 0, stdin);
    if (!lines->list || (length < 0 && ferror(stdin))) {
        problem_errno("stdin", "cannot be read");
        return EXIT_MACHINE;
    }
    /* What stands before it may be nothing, which would clear all that was declared. */
    if (length > 0 && strlen(lines->text) != (size_t)length) {
        problem("stdin", "a NUL in it, got %zu bytes before it; give lines of text",
                strlen(lines->text));
        return EXIT_INPUT;
    }
    char *next = length > 0 ? lines->text : NULL;
    for (unsigned number = 1; next; number++) {
        char *text = next;
        next = strchr(text, '\n');
        if (next) {
            *next++ = 0;
        }
        if (lines->count == LINES_MAX) {
            problem("stdin", "too many lines, got over %d; split them", LINES_MAX);
            break;
        }
        struct line *line = &lines->list[lines->count];
        snprintf(line->subject, sizeof line->subject, "stdin:%u", number);
        split(line, text);
        lines->count += line->count > 0;
    }
    return problem_count() == before ? EXIT_FINE : EXIT_INPUT;
}

void lines_free(struct lines *lines) {
    free(lines->text);
    free(lines->list);
}
