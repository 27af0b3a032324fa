/* SPDX-License-Identifier: Apache-2.0
 * Groups and values as text or as XML; what has no label is not in the text, what has no tag is not in the XML. */
#ifndef GPU_SIM_NODE_SMI_PRINTER_H
#define GPU_SIM_NODE_SMI_PRINTER_H

#include <stdbool.h>

struct smi_printer {
    bool xml;
    unsigned sections; /* 0: all that the whole report has */
};

/* `indent` is that of text, `depth` that of XML. */
void smi_open(const struct smi_printer *printer, int indent, const char *label, int depth,
              const char *tag);
void smi_close(const struct smi_printer *printer, int depth, const char *tag);
void smi_value(const struct smi_printer *printer, int indent, const char *label, int depth,
               const char *tag, const char *text, const char *unit);

/* Its value is left as the driver gives it, but for the names of processes, which the real one escapes. */
void smi_escaped(const struct smi_printer *printer, int indent, const char *label, int depth,
                 const char *tag, const char *text);

#endif
