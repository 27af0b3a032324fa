/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi's command line. What the real one says to a wrong line depends on the kind of command that it has
 * recognised anywhere in the line: a lone one, a query, a change, or a view. */
#include <stdio.h>

#include "smi_words.h"

static int invalid(const char *text) {
    printf("Invalid combination of input arguments%s\n", text);
    return SMI_INVALID_ARGUMENT;
}

static int lone(const struct smi_line_words *line, struct smi_words *given) {
    const char *word = line->not_lone;
    if (line->lones > 1 && line->lone->what != SMI_HELP) {
        puts(
            "ERROR: Only one command can be run at a time. Please run 'nvidia-smi -h' for help.\n");
        return SMI_INVALID_ARGUMENT;
    }
    given->view = line->lone->what;
    return word ? smi_refuse(word,
                             "not valid for this command. Please run 'nvidia-smi -h' for help.",
                             SMI_INVALID_ARGUMENT)
                : SMI_FINE;
}

static int view(const struct smi_line_words *line, struct smi_words *given) {
    bool query = line->flags['q'], xml = line->flags['x'], unit = line->flags['u'];
    if (line->not_view) {
        return smi_refuse(line->not_view, "not recognized. Please run 'nvidia-smi -h'.", SMI_OTHER);
    }
    if (!query && unit) {
        return invalid(". Specify -q/--query and -u/--unit to run a unit query.  Please run "
                       "'nvidia-smi -h' for help.\n");
    }
    if (!query && xml) {
        return invalid(". Specify -q/--query and -x/--xml-format to run an XML query.  Please run "
                       "'nvidia-smi -h' for help.\n");
    }
    if (!query && given->sections) {
        return invalid(". Specify -q/--query and -d/--display to run a filtered query.  Please run "
                       "'nvidia-smi -h' for help.\n");
    }
    if (xml && given->sections) {
        return invalid(": --display/-d flags can not be combined with -x/--xml-format flags.");
    }
    given->xml = xml;
    given->view = unit ? SMI_UNITS : query ? SMI_REPORT : SMI_SUMMARY;
    return given->sections ? smi_report_sections(given->sections, &given->chosen) : SMI_FINE;
}

int smi_arguments(int count, char **words, struct smi_words *given) {
    struct smi_line_words line = {.lones = 0};
    if (smi_read_lone(count, words, &line)) {
        return lone(&line, given);
    }
    for (int i = 0; i < count; i++) {
        int code = smi_read_word(count, words, &i, given, &line);
        if (code != SMI_FINE) {
            return code;
        }
    }
    const char *stranger = line.stranger;
    if (line.help) {
        given->view = SMI_HELP_QUERY;
        given->query = line.help->what;
        return SMI_FINE;
    }
    if (line.ids > 1 && !line.changes) { /* the real one takes it for a change */
        stranger = stranger ? stranger : line.query_word;
        if (!stranger) {
            puts("Input combination for device modification is not valid.\n");
            return SMI_OTHER;
        }
        return smi_refuse(stranger, "not recognized. Please run 'nvidia-smi -h' for help.",
                          SMI_OTHER);
    }
    if (given->unavailable) {
        given->view = SMI_UNAVAILABLE;
        return SMI_FINE;
    }
    if (line.query) {
        given->view = SMI_QUERY;
        given->query = line.query->what;
        if (line.several_queries) {
            puts("Only one --query-* switch can be used at a time.");
            return SMI_INVALID_ARGUMENT;
        }
        stranger = stranger ? stranger : line.early_word;
        return stranger
                   ? smi_refuse(stranger, "not recognized. Please run 'nvidia-smi -h' for help.",
                                SMI_INVALID_ARGUMENT)
                   : smi_query_check(given->query, given->fields, given->format);
    }
    if (line.changes) {
        given->view = SMI_CHANGE;
        given->early = line.flags['e'];
        stranger = stranger ? stranger : line.format_word;
        if (line.changes > 1) {
            return invalid(". Only one device modification may be done at a time.\n");
        }
        return stranger
                   ? smi_refuse(stranger, "not recognized. Please run 'nvidia-smi -h' for help.",
                                SMI_OTHER)
                   : SMI_FINE;
    }
    return view(&line, given);
}
