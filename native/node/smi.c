/* SPDX-License-Identifier: Apache-2.0
 * The program under the name nvidia-smi: which view of which GPUs, see smi.h. Messages and codes are the real one's. */
#include "smi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "commands.h"
#include "smi_change.h"
#include "smi_facts.h"
#include "smi_fields.h"
#include "visible.h"

static int no_driver(void) {
    puts("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure "
         "that the latest NVIDIA driver is installed and running.\n");
    return SMI_NO_DRIVER;
}

/* Whether GPUs are asked for by the environment, for which the library needs no inventory. */
static bool is_asked_for(void) {
    for (char **variable = environ; *variable; variable++) {
        if (!strncmp(*variable, "NVML_MOCK_", strlen("NVML_MOCK_"))) {
            return true;
        }
    }
    return false;
}

static int start(void) {
    /* The library finds an inventory by where its code lies; an image that brings the program elsewhere does not. */
    struct visible visible;
    struct gs_error error;
    int found = getenv("NVML_MOCK_INVENTORY") ? -1 : visible_open(&visible, NULL, &error);
    if (!found) {
        setenv("NVML_MOCK_INVENTORY", visible.path, 1);
        gs_unmap(&visible.mapping);
    } else if (found > 0 && !is_asked_for()) {
        return no_driver(); /* without a node below it, the library would make GPUs up */
    }
    nvmlReturn_t answer = nvmlInitWithFlags(0); /* as the real one does */
    if (answer == NVML_SUCCESS || answer == NVML_ERROR_DRIVER_NOT_LOADED) {
        return answer == NVML_SUCCESS ? SMI_FINE : no_driver();
    }
    printf("Failed to initialize NVML: %s\n", smi_failure(answer));
    return smi_exit_code(answer);
}

static int show_version(void) {
    static const struct {
        const char *label;
        int what;
    } lines[] = {{"NVIDIA-SMI version ", SMI_PROGRAM},
                 {"NVML version       ", SMI_LIBRARY},
                 {"DRIVER version     ", SMI_DRIVER},
                 {"CUDA Version       ", SMI_CUDA}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct smi_value value = {""};
        nvmlReturn_t answer = smi_node(NULL, lines[i].what, &value);
        printf("%s : %s\n", lines[i].label, answer == NVML_SUCCESS ? value.text : "N/A");
    }
    return SMI_FINE;
}

static int show(const struct smi_words *given, const struct smi_gpus *gpus, bool again) {
    switch (given->view) {
    case SMI_REPORT:
        return smi_report(gpus, given->xml, given->chosen);
    case SMI_QUERY:
        smi_query(given->query, gpus, given->fields, given->format, again);
        return SMI_FINE;
    case SMI_CHANGE:
        return smi_make_change(gpus, given);
    default:
        return smi_table(gpus);
    }
}

static int show_gpus(const struct smi_words *given) {
    bool again = false;
    int code;
    for (;; again = true) {
        struct smi_gpus gpus = {0};
        code = smi_choose(given->ids, &gpus);
        if (code != SMI_FINE) {
            return code;
        }
        if (!gpus.count) {
            puts("No devices were found");
            return SMI_NOT_FOUND;
        }
        code = show(given, &gpus, again);
        if (!given->loop_ms || given->view == SMI_CHANGE || fflush(stdout)) {
            return code;
        }
        const struct timespec pause = {(time_t)(given->loop_ms / 1000),
                                       (long)(given->loop_ms % 1000) * 1000000L};
        nanosleep(&pause, NULL);
    }
}

/* Commands of the real one that are words of their own, and have options of their own. */
static bool is_elsewhere(const char *word) {
    static const char *const names[] = {"dmon",
                                        "pmon",
                                        "daemon",
                                        "replay",
                                        "drain",
                                        "nvlink",
                                        "c2c",
                                        "clocks",
                                        "vgpu",
                                        "mig",
                                        "fbcsessions",
                                        "compute-policy",
                                        "base-clocks",
                                        "boost-slider",
                                        "power-hint",
                                        "conf-compute",
                                        "gpm",
                                        "pci",
                                        "encodersessions"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strcmp(word, names[i])) {
            return true;
        }
    }
    return false;
}

static int not_available(const char *word) {
    printf("nvidia-smi: %s is not simulated by gpu-sim's own nvidia-smi; NVIDIA's program works on "
           "the same library in images with glibc\n",
           word);
    return SMI_NOT_AVAILABLE;
}

static bool asks_for_help(int count, char **words) {
    for (int i = 0; i < count; i++) {
        if (!strcmp(words[i], "-h") || !strcmp(words[i], "--help")) {
            return true;
        }
    }
    return false;
}

/* Without a driver only help is to be had, whatever else stands in the line. */
static int run(int count, char **words) {
    struct smi_words given = {0};
    int code = asks_for_help(count, words) ? SMI_FINE : start();
    if (code != SMI_FINE) {
        return code;
    }
    if (count && !strcmp(words[0], "topo")) {
        return smi_topology(count - 1, words + 1);
    }
    if (count && is_elsewhere(words[0])) {
        return not_available(words[0]);
    }
    code = smi_arguments(count, words, &given);
    if (code != SMI_FINE) {
        return code;
    }
    if (given.file && !freopen(given.file, "w", stdout)) {
        fprintf(stderr, "Failed to create the log file %s\n\n", given.file);
        return SMI_OTHER;
    }
    switch (given.view) {
    case SMI_HELP:
        smi_help();
        return SMI_FINE;
    case SMI_HELP_QUERY:
        smi_query_help(given.query);
        return SMI_FINE;
    case SMI_UNAVAILABLE:
        return not_available(given.unavailable);
    case SMI_VERSION:
        return show_version();
    case SMI_LIST:
        return smi_list();
    case SMI_UNITS:
        return smi_report_units();
    case SMI_LIST_EXCLUDED:
        puts("No excluded devices found.");
        return SMI_FINE;
    default:
        return show_gpus(&given);
    }
}

int command_nvidia_smi(int count, char **words) {
    int code = run(count, words);
    code = code < SMI_OTHER ? code : SMI_OTHER;
    return fflush(stdout) || ferror(stdout) ? SMI_OTHER : code;
}
