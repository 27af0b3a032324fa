/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi -h, of what is simulated. */
#include <stdio.h>

#include "smi.h"
#include "smi_change.h"
#include "smi_report.h"

static const struct {
    const char *options, *meaning;
} lines[] = {
    {"-h, --help", "this text"},
    {"--version", "versions of driver, library and CUDA"},
    {"-L, --list-gpus", "one line for each GPU: index, name, UUID"},
    {"-B, --list-excluded-gpus", "GPUs that the driver leaves out: none"},
    {"-q, --query", "everything that is known of each GPU"},
    {"-x, --xml-format", "with -q: as XML"},
    {"-d, --display=", "with -q: only these sections, with commas between them (listed below)"},
    {"--query-gpu=", "chosen fields, as CSV; --help-query-gpu lists them"},
    {"--query-compute-apps=", "processes on GPUs; --help-query-compute-apps lists the fields"},
    {"--query-remapped-rows=",
     "rows of memory replaced; --help-query-remapped-rows lists the fields"},
    {"--format=", "with --query-…: csv, and with commas noheader, nounits"},
    {"-i, --id=", "only these GPUs: index, UUID, serial or bus id, with commas between them"},
    {"-f, --filename=", "into a file"},
    {"-l, --loop=", "again every so many seconds"},
    {"-lms, --loop-ms=", "again every so many milliseconds"},
    {"-eow, --error-on-warning", "stop at the first change that is refused"},
    {"topo -m", "how GPUs are connected; topo -h says more"},
};

void smi_help(void) {
    static const char *const sections[] = {
#define NAME(name) #name,
        SMI_SECTIONS(NAME)};
    puts("NVIDIA System Management Interface of gpu-sim " GS_VERSION ", for simulated GPUs\n\n"
         "nvidia-smi [OPTION1 [ARG1]] [OPTION2 [ARG2]] ...\n\n"
         "Without options: a table of the GPUs and their processes.\n");
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        printf("    %-28s%s\n", lines[i].options, lines[i].meaning);
    }
    fputs("\nSections of -d:\n   ", stdout);
    for (size_t i = 0; i < SMI_SECTION_COUNT; i++) {
        printf(" %s%s", sections[i], i % 6 == 5 ? "\n   " : "");
    }
    fputs("\n\nChanges, all refused as on a board without the feature:\n   ", stdout);
    for (size_t i = 0; i < smi_change_count; i++) {
        printf(" %s%s", smi_changes[i].name, i % 4 == 3 ? "\n   " : "");
    }
    puts("\n\nOther commands of NVIDIA's nvidia-smi are not there; its own program works against "
         "the same library\nin images with glibc.");
}
