/* SPDX-License-Identifier: Apache-2.0
 * `gpu-sim ready`: the node's readiness probe. Ready means usable: the kubelet has every GPU of the inventory, which it
 * shows in the checkpoint that it writes whenever a device plugin reports, and a plugin answers beside it: the kubelet
 * does not write down that one has gone. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../src/reader.h"
#include "arguments.h"
#include "checkpoint.h"
#include "commands.h"
#include "foreign.h"
#include "layout.h"
#include "problem.h"

/* A GPU with an error that stands is rightly missing, but a node on which all are has none to give. */
static int compare(const struct gs_inventory *inventory, const struct checkpoint *checkpoint) {
    uint32_t present = 0, known = 0, broken = 0;
    char missing[80] = "";
    for (uint32_t i = 0; i < inventory->header.gpu_slots; i++) {
        struct gs_state state;
        struct gs_config config;
        gs_read_state(gs_gpu_at(inventory, i), &state);
        gs_read_config(gs_gpu_at(inventory, i), &config);
        if (state.slot != GS_SLOT_PRESENT) {
            continue;
        }
        present++;
        if (!checkpoint || checkpoint_count(checkpoint, config.uuid)) {
            known++;
        } else if (state.lost || state.xids[0].xid || state.faults[0].function) {
            broken++;
        } else if (!missing[0]) {
            snprintf(missing, sizeof missing, "%s", config.uuid);
        }
    }
    if (!present) {
        problem(NULL, "not ready: the inventory has no GPU; see the installer's log");
        return EXIT_INPUT;
    }
    if (known + broken < present) {
        problem(NULL,
                "not ready: the kubelet has %u of %u GPUs, %s is missing; see the device-plugin "
                "container's log",
                known, present, missing);
        return EXIT_INPUT;
    }
    if (!known) {
        problem(NULL,
                "not ready: the kubelet has 0 of %u GPUs, all are broken; see gpu-sim ctl status",
                present);
        return EXIT_INPUT;
    }
    if (broken) {
        printf("ready: the kubelet has %u of %u GPUs, %u broken\n", known, present, broken);
        return EXIT_FINE;
    }
    printf(checkpoint ? "ready: the kubelet has all %u GPUs\n"
                      : "ready: the inventory has %u GPUs\n",
           present);
    return EXIT_FINE;
}

/* A second plugin on the node takes the socket of the first, and when it leaves nobody is behind it. */
static bool plugin_answers(const char *checkpoint) {
    char directory[PATH_MAX], path[PATH_MAX];
    snprintf(directory, sizeof directory, "%s", checkpoint);
    char *slash = strrchr(directory, '/');
    if (slash) {
        *slash = 0;
    }
    if (foreign_plugin(slash ? directory : ".", path, sizeof path)) {
        return true;
    }
    problem(slash ? directory : ".",
            "not ready: the kubelet remembers the GPUs, but no device plugin answers here; "
            "delete this pod to start the plugin anew");
    return false;
}

int command_ready(int count, char **words) {
    const char *root = NULL, *checkpoint = NULL;
    bool no_kubelet = false;
    const struct option options[] = {
        {"--root", &root, NULL, true},
        {"--checkpoint", &checkpoint, NULL, false},
        {"--no-kubelet", NULL, &no_kubelet, false},
    };
    if (!arguments_parse("ready", count, words, options, OPTION_COUNT(options))) {
        return EXIT_USAGE;
    }
    if (!checkpoint && !no_kubelet) {
        problem("ready", "--checkpoint is missing; give the kubelet's file, or --no-kubelet");
        return EXIT_USAGE;
    }

    char directory[PATH_MAX], path[PATH_MAX];
    struct gs_error error;
    struct gs_mapping mapping;
    snprintf(directory, sizeof directory, "%s/" LIBRARIES, root);
    int found = gs_find(directory, path, sizeof path, &error);
    if (found) {
        problem(NULL, "not ready: %s",
                found > 0 ? "there is no inventory; see the installer's log" : error.text);
        return EXIT_INPUT;
    }
    if (gs_map(path, 0, &mapping, &error)) {
        problem(NULL, "not ready: %s", error.text);
        return EXIT_INPUT;
    }

    int code = EXIT_INPUT;
    struct checkpoint kubelet = {0};
    if (no_kubelet) {
        code = compare(mapping.inventory, NULL);
    } else if (!checkpoint_read(checkpoint, &kubelet)) {
        problem_errno(checkpoint, "not ready: the kubelet's checkpoint cannot be read");
    } else if (!kubelet.devices) {
        problem(checkpoint, "not ready: no device plugin has registered with the kubelet");
    } else if (plugin_answers(checkpoint)) {
        code = compare(mapping.inventory, &kubelet);
    }
    checkpoint_free(&kubelet);
    gs_unmap(&mapping);
    return code;
}
