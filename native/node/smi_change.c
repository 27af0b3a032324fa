/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi -pm, -pl, -r …: reads the value, asks each GPU, and refuses; see smi_changes.c. */
#include "smi_change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_WORDS = 5 };

/* The number that the value is or names; false if it is neither. */
static bool number_of(const struct smi_change *change, const char *value, long *number) {
    char *end;
    for (*number = 0; *number < MOST_WORDS && change->words[*number]; ++*number) {
        if (!strcmp(value, change->words[*number])) {
            return true;
        }
    }
    *number = strtol(value, &end, 0);
    return *value && !*end;
}

int smi_change_check(const struct smi_change *change, const char *option, const char *value) {
    long number;
    char *end;
    bool good = true;
    if (change->kind == SMI_WORD || change->kind == SMI_NUMBER) {
        good = number_of(change, value, &number);
    } else if (change->kind == SMI_WATTS) {
        strtod(value, &end);
        good = end != value;
    }
    if (!good) {
        printf("ERROR: Option %s is invalid for %s. Please run 'nvidia-smi -h' for help.\n\n",
               value, option);
        return SMI_INVALID_ARGUMENT;
    }
    if ((change->kind == SMI_WORD || change->kind == SMI_WATTS) && *value == '-') {
        puts("Input combination for device modification is not valid.\n");
        return SMI_OTHER;
    }
    return SMI_FINE;
}

static int stop(int code) {
    puts("Terminating early due to previous errors.");
    return code;
}

/* "1000,1200", or where a range may be one clock, "1000". */
static bool clocks_of(const struct smi_change *change, const char *value, unsigned clocks[2]) {
    char *end;
    clocks[0] = clocks[1] = (unsigned)strtoul(value, &end, 10);
    if (end == value || (!*end && change->kind == SMI_CLOCK_RANGE)) {
        return end != value;
    }
    const char *second = *end == ',' ? end + 1 : end;
    clocks[1] = (unsigned)strtoul(second, &end, 10);
    return second[-1] == ',' && end != second && !*end;
}

/* A limit that no board of this kind could have is refused before the board is asked. */
static bool is_power(nvmlDevice_t device, const char *value, const char *bus) {
    unsigned lowest = 0, highest = 0;
    double limit = strtod(value, NULL);
    if (nvmlDeviceGetPowerManagementLimitConstraints(device, &lowest, &highest) != NVML_SUCCESS ||
        (limit * 1000 >= lowest && limit * 1000 <= highest)) {
        return true;
    }
    printf("Provided power limit %.2f W is not a valid power limit which should be between %.2f W "
           "and %.2f W for GPU %s\n",
           limit, lowest / 1000.0, highest / 1000.0, bus);
    return false;
}

/* Two refusals name what was asked for. */
static void say_of(const struct smi_change *change, const char *format, long number,
                   const char *whom) {
    const char *place = strstr(format, " change ");
    bool mig = !strcmp(change->name, "--multi-instance-gpu");
    bool boost = !strcmp(change->name, "--auto-boost-default") && format == change->lost;
    if (place && (mig || boost)) {
        const char *verb = mig ? number ? "enable" : "disable" : number ? "ENABLE" : "DISABLE";
        printf("%.*s %s ", (int)(place - format), format, verb);
        format = place + strlen(" change ");
    }
    printf(format, whom);
    putchar('\n');
}

static void say_lost(const struct smi_change *change, long number, const unsigned clocks[2],
                     const char *reason) {
    if (change->kind == SMI_CLOCK_RANGE || change->kind == SMI_CLOCK_PAIR) {
        printf(change->lost, clocks[0], clocks[1], reason);
        putchar('\n');
    } else {
        say_of(change, change->lost, number, reason);
    }
}

static bool is_already(const struct smi_change *change, nvmlDevice_t device, long number,
                       const char *bus) {
    struct smi_value state;
    if (!change->already || change->ask(device, change->what, &state) != NVML_SUCCESS) {
        return false;
    }
    const char *word = change->words[number]; /* what has a state has only good numbers */
    if (strcasecmp(state.text, word) != 0) {
        return false;
    }
    printf(change->already, change->ask == smi_mode ? word : state.text, bus);
    putchar('\n');
    return true;
}

int smi_make_change(const struct smi_gpus *gpus, const struct smi_words *given) {
    const struct smi_change *change = given->change;
    long number = 0;
    unsigned clocks[2] = {0};
    bool good = true, whole = !strcmp(change->name, "--gpu-reset");
    if (change->kind == SMI_WORD && number_of(change, given->value, &number)) {
        good = number >= 0 && number < MOST_WORDS && change->words[number];
    } else if (change->kind == SMI_CLOCK_RANGE || change->kind == SMI_CLOCK_PAIR) {
        good = clocks_of(change, given->value, clocks);
    }
    if (!good && change->wrong) {
        printf(change->wrong, given->value);
        putchar('\n');
        return stop(SMI_INVALID_ARGUMENT);
    }
    for (unsigned i = 0; i < gpus->count; i++) {
        struct smi_value bus;
        nvmlReturn_t answer = smi_pci(gpus->device[i], SMI_PLACE, &bus);
        if (answer != NVML_SUCCESS) {
            say_lost(change, number, clocks, nvmlErrorString(answer));
            return whole ? (int)answer : stop((int)answer);
        }
        if (change->kind == SMI_WATTS && !is_power(gpus->device[i], given->value, bus.text)) {
            return stop(SMI_INVALID_ARGUMENT);
        }
        if (whole || is_already(change, gpus->device[i], number, bus.text)) {
            continue;
        }
        say_of(change, change->refusal, number, bus.text);
        if (given->early && !change->goes_on) {
            return stop(SMI_NOT_AVAILABLE);
        }
        fputs(change->goes_on ? "" : "Treating as warning and moving on.\n", stdout);
    }
    puts(whole ? change->refusal : "All done.");
    return whole ? SMI_NOT_AVAILABLE : SMI_FINE;
}
