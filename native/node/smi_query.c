/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi --query-gpu: chooses fields by name and prints them as CSV. */
#include <stdio.h>
#include <string.h>

#include "smi.h"
#include "smi_fields.h"

void smi_query_help(void) {
    puts("List of valid properties to query for the switch \"--query-gpu=\":\n");
    for (size_t i = 0; i < smi_field_count; i++) {
        printf("\"%s\"%s%s%s\n", smi_fields[i].name, *smi_fields[i].other ? " or \"" : "",
               smi_fields[i].other, *smi_fields[i].other ? "\"" : "");
    }
}

static const struct smi_field *find(const char *name, size_t length) {
    for (size_t i = 0; i < smi_field_count; i++) {
        const char *names[] = {smi_fields[i].name, smi_fields[i].other};
        for (int j = 0; j < 2; j++) {
            if (strlen(names[j]) == length && length && !memcmp(names[j], name, length)) {
                return &smi_fields[i];
            }
        }
    }
    return NULL;
}

/* The next word of a comma-separated list, empty ones left out; false at the end. */
static bool next_word(const char **at, const char **start, size_t *length) {
    *at += strspn(*at, ",");
    *start = *at;
    *length = strcspn(*at, ",");
    *at += *length;
    return *length;
}

static bool has(const char *format, const char *word) {
    const char *start;
    size_t length;
    for (const char *at = format; next_word(&at, &start, &length);) {
        if (strlen(word) == length && !memcmp(start, word, length)) {
            return true;
        }
    }
    return false;
}

int smi_query_check(const char *fields, const char *format) {
    static const char *const modifiers[] = {"csv", "noheader", "nounits"};
    const char *start;
    size_t length;
    if (!format) {
        puts("\"--format=\" switch is missing. Please run 'nvidia-smi -h' for help.\n");
        return SMI_INVALID_ARGUMENT;
    }
    for (const char *at = format; next_word(&at, &start, &length);) {
        bool known = false;
        for (size_t i = 0; i < 3; i++) {
            known |= strlen(modifiers[i]) == length && !memcmp(start, modifiers[i], length);
        }
        if (!known) {
            puts("Format modifier is not recognized.");
            return SMI_INVALID_ARGUMENT;
        }
    }
    if (!has(format, "csv")) {
        puts("Format modifier --format=csv is mandatory.");
        return SMI_INVALID_ARGUMENT;
    }
    for (const char *at = fields; next_word(&at, &start, &length);) {
        if (!find(start, length)) {
            printf("Field \"%.*s\" is not a valid field to query.\n\n", (int)length, start);
            return SMI_INVALID_ARGUMENT;
        }
    }
    return SMI_FINE;
}

void smi_query(const struct smi_gpus *gpus, const char *fields, const char *format) {
    const char *start;
    size_t length;
    bool header = !has(format, "noheader"), units = !has(format, "nounits"), first = true;
    for (const char *at = fields; header && next_word(&at, &start, &length); first = false) {
        const struct smi_field *field = find(start, length);
        const char *unit = units ? field->unit : "";
        printf("%s%s%s%s%s", first ? "" : ", ", field->name, *unit ? " [" : "", unit,
               *unit ? "]" : "");
    }
    fputs(header ? "\n" : "", stdout);
    for (unsigned gpu = 0; gpu < gpus->count; gpu++) {
        first = true;
        for (const char *at = fields; next_word(&at, &start, &length); first = false) {
            const struct smi_field *field = find(start, length);
            struct smi_value value;
            bool known = field->ask(gpus->device[gpu], field->what, &value);
            const char *unit = known && units ? field->unit : "";
            printf("%s%s%s%s", first ? "" : ", ", known ? value.text : "[N/A]", *unit ? " " : "",
                   unit);
        }
        putchar('\n');
    }
}
