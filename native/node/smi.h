/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi for containers that have no glibc, in the format of version 550. It asks the library's own functions,
 * which are linked in, so it cannot tell another story than a client of the library hears. */
#ifndef GPU_SIM_NODE_SMI_H
#define GPU_SIM_NODE_SMI_H

#include <nvml.h>
#include <stdbool.h>
#include <stddef.h>

/* nvidia-smi's exit codes, as its manual lists them; an NVML code of another failure is one too. */
enum smi_exit {
    SMI_FINE = 0,
    SMI_INVALID_ARGUMENT = 2,
    SMI_NOT_AVAILABLE = 3,
    SMI_NOT_FOUND = 6,
    SMI_NO_DRIVER = 9,
    SMI_OTHER = 255,
};

enum { SMI_MOST_GPUS = 64 }; /* the slots of an inventory */

struct smi_gpus {
    unsigned count;
    unsigned index[SMI_MOST_GPUS];
    nvmlDevice_t device[SMI_MOST_GPUS];
};

struct smi_change; /* see smi_change.h */

/* A command line, understood; see smi_arguments.c. */
struct smi_words {
    enum {
        SMI_SUMMARY,
        SMI_HELP,
        SMI_VERSION,
        SMI_LIST,
        SMI_LIST_EXCLUDED,
        SMI_HELP_QUERY,
        SMI_REPORT,
        SMI_UNITS,
        SMI_QUERY,
        SMI_CHANGE,
        SMI_UNAVAILABLE
    } view;
    int query; /* SMI_QUERY_… */
    bool xml, early;
    const char *ids, *sections, *fields, *format, *file, *value;
    const struct smi_change *change;
    unsigned long long loop_ms; /* 0: once */
    unsigned chosen;            /* bits of `sections` */
    const char *unavailable;
};

/* What is wrong is told; the exit code. */
int smi_arguments(int count, char **words, struct smi_words *given);

/* The GPUs that `ids` names, by index, UUID, serial or bus id, all if NULL, in the order of their indices; a name of
 * none is passed over as long as another names one. An exit code, after it has been said what is wrong. */
int smi_choose(const char *ids, struct smi_gpus *gpus);
/* The real one's long words for why there is no handle of a GPU, and its exit code for that. */
const char *smi_no_handle(nvmlReturn_t answer);
int smi_exit_code(nvmlReturn_t answer);

/* Views print and return an exit code. */
int smi_table(const struct smi_gpus *gpus);
int smi_list(void);
int smi_report(const struct smi_gpus *gpus, bool xml, unsigned sections);
int smi_report_units(void);
int smi_report_sections(const char *words, unsigned *sections);
int smi_query_check(int which, const char *fields, const char *format);
void smi_query(int which, const struct smi_gpus *gpus, const char *fields, const char *format,
               bool again);
int smi_topology(int count, char **words);

void smi_help(void);
void smi_query_help(int which);

#endif
