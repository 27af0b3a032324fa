/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi --query-…: chooses fields by name and prints them as CSV. */
#include <stdio.h>
#include <string.h>

#include "smi.h"
#include "smi_fields.h"
#include "smi_processes.h"

void smi_query_help(int which) {
    const struct smi_query *query = &smi_queries[which];
    printf("List of valid properties to query for the switch \"%s=\":\n\n", query->option);
    for (size_t i = 0; i < query->count; i++) {
        const struct smi_field *field = &query->fields[i];
        printf("\"%s\"%s%s%s%s%s\n", field->name, *field->other ? " or \"" : "", field->other,
               *field->other ? "\"" : "", *field->unit ? ", in " : "", field->unit);
    }
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

int smi_query_check(int which, const char *fields, const char *format) {
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
        if (!smi_find_field(&smi_queries[which], start, length)) {
            printf("Field \"%.*s\" is not a valid field to query.\n\n", (int)length, start);
            return SMI_INVALID_ARGUMENT;
        }
    }
    return SMI_FINE;
}

static nvmlReturn_t ask_process(const struct smi_process *process, int what,
                                struct smi_value *value) {
    switch (what) {
    case SMI_PROCESS_PID:
        return smi_say(value, NVML_SUCCESS, "%u", process->info.pid);
    case SMI_PROCESS_NAME:
        return nvmlSystemGetProcessName(process->info.pid, value->text, sizeof value->text);
    default:
        smi_process_memory(process, "", value->text, sizeof value->text);
        return *value->text == 'N' ? NVML_ERROR_NOT_SUPPORTED : NVML_SUCCESS;
    }
}

/* `failed` is said of what only a process has. */
static void row(const struct smi_query *query, const char *fields, bool units, nvmlDevice_t device,
                const struct smi_process *process, nvmlReturn_t failed) {
    const char *start;
    size_t length;
    bool first = true;
    for (const char *at = fields; next_word(&at, &start, &length); first = false) {
        const struct smi_field *field = smi_find_field(query, start, length);
        struct smi_value value = {""};
        nvmlReturn_t answer = field->ask               ? field->ask(device, field->what, &value)
                              : failed != NVML_SUCCESS ? failed
                                                       : ask_process(process, field->what, &value);
        fputs(first ? "" : ", ", stdout);
        if (answer != NVML_SUCCESS) {
            printf("[%s]", smi_failure(answer));
        } else {
            const char *unit = units ? field->unit : "";
            printf("%s%s%s", value.text, *unit ? " " : "", unit);
        }
    }
    putchar('\n');
}

void smi_query(int which, const struct smi_gpus *gpus, const char *fields, const char *format,
               bool again) {
    const struct smi_query *query = &smi_queries[which];
    const char *start;
    size_t length;
    bool header = !again && !has(format, "noheader"), units = !has(format, "nounits"), first = true;
    for (const char *at = fields; header && next_word(&at, &start, &length); first = false) {
        const struct smi_field *field = smi_find_field(query, start, length);
        const char *unit = field->unit; /* also with nounits */
        printf("%s%s%s%s%s", first ? "" : ", ", field->name, *unit ? " [" : "", unit,
               *unit ? "]" : "");
    }
    fputs(header ? "\n" : "", stdout);
    for (unsigned i = 0; i < gpus->count; i++) {
        if (which != SMI_QUERY_APPS) {
            row(query, fields, units, gpus->device[i], NULL, NVML_SUCCESS);
            continue;
        }
        struct smi_processes found;
        nvmlReturn_t answer = smi_compute_processes(gpus->device[i], &found);
        if (answer != NVML_SUCCESS) {
            row(query, fields, units, gpus->device[i], NULL, answer);
        }
        for (unsigned j = 0; j < found.count; j++) {
            row(query, fields, units, gpus->device[i], &found.rows[j], NVML_SUCCESS);
        }
    }
}
