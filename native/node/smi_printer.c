/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi -q: the whole report, of each GPU, in text or XML. */
#include "smi_printer.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "smi.h"
#include "smi_report.h"

enum { VALUES_AT = 42 };

static void tabs(int depth) {
    for (int i = 0; i < depth + 2; i++) {
        putchar('\t');
    }
}

void smi_open(const struct smi_printer *printer, int indent, const char *label, int depth,
              const char *tag) {
    if (printer->xml && tag) {
        tabs(depth);
        printf("<%s>\n", tag);
    } else if (!printer->xml && label) {
        printf("%*s%s\n", 4 * indent + 4, "", label);
    }
}

void smi_close(const struct smi_printer *printer, int depth, const char *tag) {
    if (printer->xml && tag) {
        tabs(depth);
        printf("</%s>\n", tag);
    }
}

void smi_value(const struct smi_printer *printer, int indent, const char *label, int depth,
               const char *tag, const char *text, const char *unit) {
    if (printer->xml && tag) {
        tabs(depth);
        printf("<%s>%s%s</%s>\n", tag, text, unit, tag);
    } else if (!printer->xml && label) {
        int in = 4 * indent + 4;
        printf("%*s%-*s: %s%s\n", in, "", VALUES_AT - in, label, text, unit);
    }
}

void smi_escaped(const struct smi_printer *printer, int indent, const char *label, int depth,
                 const char *tag, const char *text) {
    char escaped[1024];
    size_t used = 0;
    for (; printer->xml && *text && used < sizeof escaped - 8; text++) {
        const char *word = *text == '<'    ? "&lt;"
                           : *text == '>'  ? "&gt;"
                           : *text == '&'  ? "&amp;"
                           : *text == '"'  ? "&quot;"
                           : *text == '\'' ? "&apos;"
                                           : NULL;
        size_t length = word ? strlen(word) : 1;
        memcpy(escaped + used, word ? word : text, length);
        used += length;
    }
    escaped[used] = '\0';
    smi_value(printer, indent, label, depth, tag, printer->xml ? escaped : text, "");
}

/* Boards differ in which of two forms they have. */
static bool has_form(unsigned flags, nvmlDevice_t device) {
    struct smi_value value;
    if (flags & (SMI_SRAM_SPLIT | SMI_SRAM_WHOLE)) {
        nvmlDeviceArchitecture_t got = NVML_DEVICE_ARCH_UNKNOWN;
        bool known = nvmlDeviceGetArchitecture(device, &got) == NVML_SUCCESS;
        return known && flags & (got >= NVML_DEVICE_ARCH_AMPERE ? SMI_SRAM_SPLIT : SMI_SRAM_WHOLE);
    }
    if (flags & (SMI_MARGINS | SMI_DEGREES)) {
        bool margins =
            smi_field(device, NVML_FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT, &value) == NVML_SUCCESS;
        return margins == !!(flags & SMI_MARGINS);
    }
    return true;
}

static bool wanted(const struct smi_printer *printer, const struct smi_line *line) {
    if (line->depth == 0 && printer->sections && !(line->sections & printer->sections)) {
        return false;
    }
    return !(line->flags & SMI_CHOSEN_ONLY) || printer->sections || printer->xml;
}

/* One line; false if what is deeper is not to follow. */
static bool print(struct smi_printer *printer, const struct smi_line *line, nvmlDevice_t device) {
    struct smi_value value = {""};
    if (line->list) {
        line->list(printer, device);
        return true;
    }
    nvmlReturn_t answer = line->ask ? line->ask(device, line->what, &value) : NVML_SUCCESS;
    const char *text = answer == NVML_SUCCESS ? value.text : smi_failure(answer);
    if (line->flags & SMI_GROUP && answer == NVML_SUCCESS) {
        smi_open(printer, line->indent, line->label, line->depth, line->tag);
        return true;
    }
    if (printer->xml && line->flags & SMI_HEX && answer == NVML_SUCCESS) {
        text += 2;
    }
    bool bare = answer != NVML_SUCCESS || !strcmp(text, "N/A");
    smi_value(printer, line->indent, line->label, line->depth, line->tag, text,
              bare || !line->unit ? "" : line->unit);
    return false;
}

static void print_gpu(struct smi_printer *printer, nvmlDevice_t device) {
    const struct smi_line *open[8];
    int opened = 0, skipped_below = 99;
    for (size_t i = 0; i <= smi_report_line_count; i++) {
        const struct smi_line *line = &smi_report_lines[i];
        int depth = i < smi_report_line_count ? line->depth : 0;
        while (opened && open[opened - 1]->depth >= depth) {
            opened--;
            smi_close(printer, open[opened]->depth, open[opened]->tag);
        }
        if (i == smi_report_line_count || depth > skipped_below) {
            continue;
        }
        skipped_below = 99;
        if (!wanted(printer, line) || !has_form(line->flags, device)) {
            skipped_below = depth;
        } else if (!(line->flags & SMI_GROUP)) {
            print(printer, line, device);
        } else if (print(printer, line, device)) {
            open[opened++] = line;
        } else {
            skipped_below = depth;
        }
    }
}

static void print_head(const struct smi_printer *printer) {
    char now[64];
    struct smi_value driver = {""}, cuda = {""};
    time_t seconds = time(NULL);
    struct tm local;
    strftime(now, sizeof now, "%a %b %e %H:%M:%S %Y", localtime_r(&seconds, &local));
    nvmlReturn_t no_cuda = smi_node(NULL, SMI_CUDA, &cuda),
                 no_driver = smi_node(NULL, SMI_DRIVER, &driver);
    fputs(printer->xml ? "<?xml version=\"1.0\" ?>\n"
                         "<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n"
                         "<nvidia_smi_log>\n"
                       : "\n==============NVSMI LOG==============\n\n",
          stdout);
    smi_value(printer, -1, "Timestamp", -1, "timestamp", now, "");
    smi_value(printer, -1, "Driver Version", -1, "driver_version",
              no_driver ? smi_failure(no_driver) : driver.text, "");
    smi_value(printer, -1, "CUDA Version", -1, "cuda_version",
              no_cuda ? smi_failure(no_cuda) : cuda.text, "");
    fputs(printer->xml ? "" : "\n", stdout);
}

/* S-class boxes that hold GPUs: none. */
int smi_report_units(void) {
    const struct smi_printer printer = {false, 0};
    print_head(&printer);
    smi_value(&printer, -1, "HIC Info", -1, NULL, "N/A", "");
    smi_value(&printer, -1, "Attached Units", -1, NULL, "0", "");
    putchar('\n');
    return SMI_FINE;
}

int smi_report(const struct smi_gpus *gpus, bool xml, unsigned sections) {
    struct smi_printer printer = {xml, sections};
    struct smi_value count;
    int code = SMI_FINE;
    print_head(&printer);
    smi_node(NULL, SMI_COUNT, &count);
    smi_value(&printer, -1, "Attached GPUs", -1, "attached_gpus", count.text, "");
    for (unsigned i = 0; i < gpus->count; i++) {
        nvmlDevice_t device = gpus->device[i];
        struct smi_value bus = {""};
        nvmlReturn_t answer = smi_pci(device, SMI_PLACE, &bus);
        if (answer != NVML_SUCCESS) {
            code = (int)answer;
            printf("%sUnable to determine the PCI bus id for the target device: %s%s\n\n",
                   xml ? "\t<error_string>" : "", nvmlErrorString(answer),
                   xml ? "</error_string>" : "");
            continue;
        }
        printf(xml ? "\t<gpu id=\"%s\">\n" : "GPU %s\n", bus.text);
        print_gpu(&printer, device);
        puts(xml ? "\t</gpu>\n" : "");
    }
    fputs(xml ? "</nvidia_smi_log>\n" : "", stdout);
    return code;
}

int smi_report_sections(const char *words, unsigned *sections) {
    static const char *const names[] = {
#define NAME(name) #name,
        SMI_SECTIONS(NAME)};
    *sections = SMI_CHOSEN;
    for (const char *at = words; *at;) {
        size_t length = strcspn(at, ",");
        unsigned found = length ? 0 : ~0u;
        for (unsigned i = 0; i < SMI_SECTION_COUNT; i++) {
            if (strlen(names[i]) == length && !strncasecmp(names[i], at, length)) {
                found = 1u << i;
            }
        }
        if (!found) {
            puts("Failed to parse --display/-d flags");
            return SMI_INVALID_ARGUMENT;
        }
        *sections |= found == ~0u ? 0 : found;
        at += length + (at[length] == ',');
    }
    return SMI_FINE;
}
