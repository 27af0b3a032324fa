/* SPDX-License-Identifier: Apache-2.0
 * The program under the name nvidia-smi: which view of which GPUs, see smi.h. Messages and codes are the real one's. */
#include "smi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "visible.h"

struct words {
    bool help, version, list, help_query;
    const char *id, *query, *format;
};

/* What the real one says to a wrong line depends on the command that it has recognised so far. */
static int refuse(const char *word, const char *what, int code) {
    printf("ERROR: Option %s is %s\n\n", word, what);
    return code;
}

static void usage(void) {
    puts("NVIDIA System Management Interface of gpu-sim " GS_VERSION ", for simulated GPUs\n"
         "\n"
         "nvidia-smi [OPTION1 [ARG1]] [OPTION2 [ARG2]] ...\n"
         "\n"
         "    -h,   --help                Print usage information and exit.\n"
         "          --version             Print version information and exit.\n"
         "    -L,   --list-gpus           Display a list of GPUs connected to the system.\n"
         "    -i,   --id=                 Target a specific GPU: index, UUID or PCI bus id; "
         "several with commas.\n"
         "          --query-gpu=          Information about GPU. Call --help-query-gpu for more "
         "info.\n"
         "          --format=             Comma separated list of format options:\n"
         "                                  csv - comma separated values (MANDATORY)\n"
         "                                  noheader - skip first line with column headers\n"
         "                                  nounits - don't print units for numerical values\n"
         "          --help-query-gpu      List of valid properties to query.\n"
         "\n"
         "Without options: summary of all GPUs. Other views of NVIDIA's nvidia-smi are not there; "
         "its own program\n"
         "works against the same library in images with glibc.");
}

/* Is words[*at] this option? Its value may follow `=` or be the next word; none is an empty one. */
static bool takes_value(int count, char **words, int *at, const char *name, const char **value) {
    size_t length = strlen(name);
    const char *word = words[*at];
    if (strncmp(word, name, length) || (word[length] && word[length] != '=')) {
        return false;
    }
    *value = word[length] ? word + length + 1 : *at + 1 < count ? words[++*at] : NULL;
    return true;
}

static int parse(int count, char **words, struct words *given) {
    static const char wrong[] = "not valid for this command. Please run 'nvidia-smi -h' for help.";
    const struct {
        const char *names[2];
        bool *given;
    } commands[] = {{{"-h", "--help"}, &given->help},
                    {{"--version", ""}, &given->version},
                    {{"-L", "--list-gpus"}, &given->list},
                    {{"--help-query-gpu", ""}, &given->help_query}};
    const struct {
        const char *name;
        const char **value;
    } values[] = {{"-i", &given->id},
                  {"--id", &given->id},
                  {"--query-gpu", &given->query},
                  {"--format", &given->format}};
    bool *command = NULL;

    for (int i = 0; i < count && !command; i++) {
        for (size_t j = 0; j < sizeof commands / sizeof *commands; j++) {
            if (!strcmp(words[i], commands[j].names[0]) ||
                !strcmp(words[i], commands[j].names[1])) {
                command = commands[j].given;
            }
        }
    }
    if (command) {
        *command = true;
        if (count == 1) {
            return SMI_FINE;
        }
        for (int i = 0; i < count; i++) {
            bool is_command = false;
            for (size_t j = 0; j < sizeof commands / sizeof *commands; j++) {
                is_command |=
                    commands[j].given == command && (!strcmp(words[i], commands[j].names[0]) ||
                                                     !strcmp(words[i], commands[j].names[1]));
            }
            if (!is_command) {
                return refuse(words[i], wrong, SMI_INVALID_ARGUMENT);
            }
        }
        puts(
            "ERROR: Only one command can be run at a time. Please run 'nvidia-smi -h' for help.\n");
        return SMI_INVALID_ARGUMENT;
    }
    for (int i = 0; i < count; i++) {
        const char *word = words[i];
        bool known = false;
        for (size_t j = 0; j < sizeof values / sizeof *values && !known; j++) {
            known = takes_value(count, words, &i, values[j].name, values[j].value);
            if (known && !*values[j].value) {
                return refuse(word, "missing its value. Please run 'nvidia-smi -h' for help.",
                              SMI_OTHER);
            }
        }
        if (!known) {
            return given->query
                       ? refuse(word, "not recognized. Please run 'nvidia-smi -h' for help.",
                                SMI_INVALID_ARGUMENT)
                       : refuse(word, "not recognized. Please run 'nvidia-smi -h'.", SMI_OTHER);
        }
    }
    for (int i = 0; given->format && !given->query && i < count; i++) {
        if (!strncmp(words[i], "--format", 8)) {
            return refuse(words[i], "not recognized. Please run 'nvidia-smi -h'.", SMI_OTHER);
        }
    }
    return SMI_FINE;
}

static bool names(const char *id, nvmlDevice_t device) {
    nvmlDevice_t named;
    char *end;
    unsigned long index = strtoul(id, &end, 0);
    nvmlReturn_t answer = *id >= '0' && *id <= '9' && !*end
                              ? nvmlDeviceGetHandleByIndex_v2((unsigned)index, &named)
                              : nvmlDeviceGetHandleByUUID(id, &named);
    if (answer != NVML_SUCCESS) {
        answer = nvmlDeviceGetHandleByPciBusId_v2(id, &named);
    }
    return answer == NVML_SUCCESS && named == device;
}

static bool wanted(const char *ids, nvmlDevice_t device) {
    for (const char *at = ids; at && *at;
         at += at[strcspn(at, ",")] ? strcspn(at, ",") + 1 : strlen(at)) {
        char id[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
        snprintf(id, sizeof id, "%.*s", (int)strcspn(at, ","), at);
        if (names(id, device)) {
            return true;
        }
    }
    return !ids;
}

/* In the order of their indices; an id that names none is passed over as long as another names one. */
static void choose(const char *ids, struct smi_gpus *gpus) {
    unsigned count = 0;
    nvmlDeviceGetCount_v2(&count);
    for (unsigned i = 0; i < count && i < SMI_MOST_GPUS; i++) {
        nvmlDevice_t device;
        if (nvmlDeviceGetHandleByIndex_v2(i, &device) == NVML_SUCCESS && wanted(ids, device)) {
            gpus->index[gpus->count] = i;
            gpus->device[gpus->count++] = device;
        }
    }
}

static int start(void) {
    /* The library finds an inventory by where its code lies; an image that brings the program elsewhere does not. */
    struct visible visible;
    struct gs_error error;
    if (!getenv("NVML_MOCK_INVENTORY") && !visible_open(&visible, NULL, &error)) {
        setenv("NVML_MOCK_INVENTORY", visible.path, 1);
        gs_unmap(&visible.mapping);
    }
    nvmlReturn_t answer = nvmlInit_v2();
    if (answer == NVML_SUCCESS) {
        return SMI_FINE;
    }
    if (answer == NVML_ERROR_DRIVER_NOT_LOADED) {
        puts("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make "
             "sure that the latest "
             "NVIDIA driver is installed and running.\n");
        return SMI_NO_DRIVER;
    }
    printf("Failed to initialize NVML: %s\n", nvmlErrorString(answer));
    return (int)answer;
}

static void show_version(void) {
    char driver[NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE] = "",
         library[NVML_SYSTEM_NVML_VERSION_BUFFER_SIZE] = "";
    int cuda = 0;
    nvmlSystemGetDriverVersion(driver, sizeof driver);
    nvmlSystemGetNVMLVersion(library, sizeof library);
    nvmlSystemGetCudaDriverVersion_v2(&cuda);
    /* "12.550.163.01" is CUDA's major version and the driver's; shown is the driver's first two numbers. */
    const char *shown = strchr(library, '.') ? strchr(library, '.') + 1 : library;
    size_t length = strcspn(shown, ".");
    length += shown[length] ? 1 + strcspn(shown + length + 1, ".") : 0;
    printf("NVIDIA-SMI version  : %s\nNVML version        : %.*s\n", driver, (int)length, shown);
    printf("DRIVER version      : %s\nCUDA Version        : %d.%d\n", driver, cuda / 1000,
           cuda % 1000 / 10);
}

int command_nvidia_smi(int count, char **words) {
    struct words given = {0};
    struct smi_gpus gpus = {0};
    int code = parse(count, words, &given);
    if (code != SMI_FINE) {
        return code;
    }
    if (given.help || given.help_query) {
        given.help ? usage() : smi_query_help();
        return SMI_FINE;
    }
    code = start();
    if (code != SMI_FINE) {
        return code;
    }
    choose(given.id, &gpus);
    if (given.version) {
        show_version();
    } else if (given.list) {
        smi_list(&gpus);
    } else if (given.query && (code = smi_query_check(given.query, given.format)) != SMI_FINE) {
        /* told */
    } else if (!gpus.count) {
        puts("No devices were found");
        code = SMI_NOT_FOUND;
    } else if (given.query) {
        smi_query(&gpus, given.query, given.format);
    } else {
        smi_table(&gpus);
    }
    nvmlShutdown();
    return fflush(stdout) || ferror(stdout) ? SMI_OTHER : code;
}
