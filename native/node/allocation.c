/* SPDX-License-Identifier: Apache-2.0
 * Reads and checks what `gpu-sim allocate` is given, see allocation.h. */
#include "allocation.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../src/spec.h"
#include "problem.h"

enum { PID_MAX = 4194304, LINES_MAX = 4096, FIELDS = 6 };

static bool number(const char *text, size_t length, uint64_t most, uint64_t *value) {
    char digits[24];
    if (length >= sizeof digits) {
        return false;
    }
    snprintf(digits, sizeof digits, "%.*s", (int)length, text);
    return !gs_parse_number(digits, 0, most, value);
}

static bool parse_memory(const char *text, struct holder *holder) {
    size_t digits = strspn(text, "0123456789");
    uint64_t value;
    if (!strcmp(text, "none") || !strcmp(text, "whole")) {
        holder->percent = *text == 'w' ? 100 : 0;
        return true;
    }
    if (digits && !strcmp(text + digits, "%") && number(text, digits, 100, &value)) {
        holder->percent = (uint32_t)value;
        return true;
    }
    if (digits && !strcmp(text + digits, "MiB") &&
        number(text, digits, GS_MEMORY_MIB_MAX, &value)) {
        holder->bytes = value << 20;
        return true;
    }
    return false;
}

static bool parse_utilization(const char *text, struct holder *holder) {
    size_t digits = strspn(text, "0123456789");
    uint64_t low, high;
    if (!strcmp(text, "none")) {
        return true;
    }
    if (!digits || !number(text, digits, 100, &low)) {
        return false;
    }
    high = low;
    if (text[digits] == '-' &&
        (!text[digits + 1] || gs_parse_number(text + digits + 1, low, 100, &high))) {
        return false;
    }
    holder->utilization = (struct gs_reading){(int32_t)low, (int32_t)high};
    return text[digits] == '-' || !text[digits];
}

/* "key=value": the value, or NULL. */
static const char *value_of(const char *word, const char *key) {
    size_t length = strlen(key);
    return word && !strncmp(word, key, length) && word[length] == '=' ? word + length + 1 : NULL;
}

static bool wrong(const char *subject, const char *what, const char *got, const char *remedy) {
    problem(subject, "%s, got %s; %s", what, got ? got : "nothing", remedy);
    return false;
}

static bool parse_line(const char *subject, char *line, struct holder *holder) {
    char *words[FIELDS + 1] = {NULL}, *save = NULL;
    int count = 0;
    for (char *word = strtok_r(line, " \t", &save); word && count <= FIELDS;
         word = strtok_r(NULL, " \t", &save)) {
        words[count++] = word;
    }
    if (count != FIELDS) {
        return wrong(subject, "not six words", words[0],
                     "give <uuid> <namespace>/<pod> <container> pid= memory= utilization=");
    }
    uint64_t pid;
    bool good = true;
    const char *memory = value_of(words[4], "memory"), *load = value_of(words[5], "utilization"),
               *process = value_of(words[3], "pid");
    if (strlen(words[0]) >= sizeof holder->uuid) {
        good =
            wrong(subject, "no UUID of a GPU", words[0], "give one as gpu-sim ctl status has them");
    }
    if (!strchr(words[1], '/') || strlen(words[1]) >= sizeof holder->pod) {
        good = wrong(subject, "no pod", words[1], "give <namespace>/<pod>");
    }
    if (!process || gs_parse_number(process, 1, PID_MAX, &pid)) {
        good = wrong(subject, "no process id", words[3], "give pid=1 to pid=4194304");
    }
    if (!memory || !parse_memory(memory, holder)) {
        good = wrong(subject, "no amount of memory", words[4],
                     "give memory=none, whole, 0% to 100%, or MiB as in 20000MiB");
    }
    if (!load || !parse_utilization(load, holder)) {
        good = wrong(subject, "no utilization", words[5],
                     "give utilization=none, a per cent as in 50, or a range as in 20-80");
    }
    if (good) {
        strcpy(holder->uuid, words[0]);
        strcpy(holder->pod, words[1]);
        holder->pid = (uint32_t)pid;
    }
    return good;
}

static int parse_all(struct holders *holders) {
    char *copy = strdup(holders->text), *next = copy;
    holders->list = calloc(LINES_MAX, sizeof *holders->list);
    int before = problem_count();
    for (unsigned number_ = 1; copy && holders->list && next; number_++) {
        char subject[32], *line = next;
        next = strchr(line, '\n');
        if (next) {
            *next++ = 0;
        }
        snprintf(subject, sizeof subject, "stdin:%u", number_);
        if (!line[strspn(line, " \t\r")]) {
            continue;
        }
        if (holders->count == LINES_MAX) {
            problem(subject,
                    "more lines than a node has holders, got over %d; is it the right text?",
                    LINES_MAX);
            break;
        }
        holders->count += parse_line(subject, line, &holders->list[holders->count]);
    }
    free(copy);
    return problem_count() == before ? EXIT_FINE : EXIT_INPUT;
}

int holders_read(FILE *input, struct holders *holders) {
    size_t room = 0;
    *holders = (struct holders){0};
    ssize_t length = getdelim(&holders->text, &room, 0, input);
    if (length < 0 && ferror(input)) {
        problem_errno("stdin", "cannot be read");
        return EXIT_MACHINE;
    }
    if (length < 0) { /* nobody holds anything */
        free(holders->text);
        holders->text = strdup("");
        length = 0;
    }
    holders->size = (size_t)length;
    if (strlen(holders->text) != holders->size) {
        problem("stdin", "a NUL in it, got %zu bytes; give lines of text", holders->size);
        return EXIT_INPUT;
    }
    return parse_all(holders);
}

void holders_free(struct holders *holders) {
    free(holders->list);
    free(holders->text);
}

uint64_t holder_memory(const struct holder *holder, uint64_t room) {
    return holder->bytes ? holder->bytes
                         : room / 100 * holder->percent + room % 100 * holder->percent / 100;
}
