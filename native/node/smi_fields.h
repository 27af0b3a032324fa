/* SPDX-License-Identifier: Apache-2.0
 * The fields that nvidia-smi's --query-… options know. */
#ifndef GPU_SIM_NODE_SMI_FIELDS_H
#define GPU_SIM_NODE_SMI_FIELDS_H

#include "smi_facts.h"

/* Of a row of --query-compute-apps. */
enum { SMI_PROCESS_PID, SMI_PROCESS_NAME, SMI_PROCESS_MEMORY };

struct smi_field {
    const char *name;  /* the header's */
    const char *other; /* also accepted; "" for none */
    const char *unit;
    smi_ask *ask; /* NULL: of the process */
    int what;
};

struct smi_query {
    const char *option, *help;
    const struct smi_field *fields;
    size_t count;
};

enum { SMI_QUERY_GPU, SMI_QUERY_APPS, SMI_QUERY_ROWS, SMI_QUERIES };
extern const struct smi_query smi_queries[SMI_QUERIES];

const struct smi_field *smi_find_field(const struct smi_query *query, const char *name,
                                       size_t length);

#endif
