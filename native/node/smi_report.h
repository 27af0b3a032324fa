/* SPDX-License-Identifier: Apache-2.0
 * The report of `nvidia-smi -q`: one description (smi_report.c), printed as text and as XML (smi_printer.c). */
#ifndef GPU_SIM_NODE_SMI_REPORT_H
#define GPU_SIM_NODE_SMI_REPORT_H

#include "smi_facts.h"
#include "smi_printer.h"

/* What -d chooses from. */
#define SMI_SECTIONS(X)                                                                            \
    X(MEMORY)                                                                                      \
    X(UTILIZATION)                                                                                 \
    X(ECC)                                                                                         \
    X(TEMPERATURE)                                                                                 \
    X(POWER)                                                                                       \
    X(CLOCK)                                                                                       \
    X(COMPUTE)                                                                                     \
    X(PIDS)                                                                                        \
    X(PERFORMANCE)                                                                                 \
    X(SUPPORTED_CLOCKS)                                                                            \
    X(PAGE_RETIREMENT)                                                                             \
    X(ACCOUNTING)                                                                                  \
    X(ENCODER_STATS)                                                                               \
    X(SUPPORTED_GPU_TARGET_TEMP)                                                                   \
    X(VOLTAGE)                                                                                     \
    X(FBC_STATS)                                                                                   \
    X(ROW_REMAPPER)                                                                                \
    X(RESET_STATUS)                                                                                \
    X(GSP_FIRMWARE_VERSION)

#define SMI_SECTION_NUMBER(name) SMI_NUMBER_##name,
enum { SMI_SECTIONS(SMI_SECTION_NUMBER) SMI_SECTION_COUNT };
#define SMI_SECTION_BIT(name) SMI_IN_##name = 1 << SMI_NUMBER_##name,
enum { SMI_SECTIONS(SMI_SECTION_BIT) SMI_CHOSEN = 1 << 30 }; /* -d was given, be it of none */

enum smi_line_flags {
    SMI_GROUP = 1, /* lines that are deeper follow; where `ask` fails, its failure stands for all */
    SMI_CHOSEN_ONLY = 2, /* in text only when -d names its section */
    SMI_HEX = 4,         /* XML is without the 0x */
    SMI_SRAM_SPLIT = 8,  /* boards whose driver tells kinds of SRAM errors apart */
    SMI_SRAM_WHOLE = 16, /* boards whose does not */
    SMI_MARGINS = 32,    /* boards that tell thresholds as margins */
    SMI_DEGREES = 64     /* boards that tell them in degrees */
};

struct smi_line {
    int depth;         /* in XML, and of what follows a group; 0 is the GPU's own */
    int indent;        /* in text */
    const char *label; /* NULL: not in text */
    const char *tag;   /* NULL: not in XML */
    const char *unit;  /* with what stands before it */
    smi_ask *ask;
    int what;
    unsigned flags, sections;
    void (*list)(struct smi_printer *printer, nvmlDevice_t device); /* prints itself */
};

extern const struct smi_line smi_report_lines[];
extern const size_t smi_report_line_count;

#endif
