/* SPDX-License-Identifier: Apache-2.0
 * Options by which nvidia-smi changes a GPU. A simulated one refuses them as a board without the feature does. */
#ifndef GPU_SIM_NODE_SMI_CHANGE_H
#define GPU_SIM_NODE_SMI_CHANGE_H

#include "smi.h"
#include "smi_facts.h"

enum smi_value_kind {
    SMI_NO_VALUE,
    SMI_WORD,
    SMI_NUMBER,
    SMI_WATTS,
    SMI_CLOCK_RANGE,
    SMI_CLOCK_PAIR
};

struct smi_change {
    const char *short_name, *name;
    enum smi_value_kind kind;
    const char *words[5]; /* of SMI_WORD: what 0, 1 … are called */
    const char *wrong;    /* said of a value out of range, a number or clocks; NULL: any is taken */
    const char
        *already; /* said, with the state and the GPU, where the GPU is so; NULL: not looked at */
    smi_ask *ask; /* that state */
    int what;
    const char *refusal; /* of a GPU, with its bus id */
    const char *lost;    /* of a GPU that does not answer, with the reason */
    bool goes_on;        /* its refusal is no warning */
};

extern const struct smi_change smi_changes[];
extern const size_t smi_change_count;

/* Whether `value` can be read at all; what is wrong is told. */
int smi_change_check(const struct smi_change *change, const char *option, const char *value);
int smi_make_change(const struct smi_gpus *gpus, const struct smi_words *given);

#endif
