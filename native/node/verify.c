/* SPDX-License-Identifier: Apache-2.0
 * `gpu-sim verify`: run inside a pod that asked for GPUs (helm test does), tells whether it got what the values say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/spec.h"
#include "arguments.h"
#include "commands.h"
#include "problem.h"
#include "visible.h"

struct expected {
    uint64_t count, memory_mib;
    const char *name;
};

static void compare(const struct visible *visible, const struct expected *expected) {
    printf("%-5s %-40s %-32s %s\n", "INDEX", "UUID", "NAME", "MEMORY");
    for (uint32_t i = 0; i < visible->count; i++) {
        struct gs_config config;
        struct gs_state state;
        const struct gs_gpu *gpu = gs_gpu_at(visible->mapping.inventory, visible->slots[i]);
        gs_read_config(gpu, &config);
        gs_read_state(gpu, &state);
        unsigned long long mib = config.memory_total >> 20;
        printf("%-5u %-40s %-32s %llu MiB\n", i, config.uuid, config.name, mib);
        if (state.slot != GS_SLOT_PRESENT || state.lost) {
            problem("verify", "GPU %s is lost; restart this pod", config.uuid);
        }
        if (expected->name && strcmp(expected->name, config.name)) {
            problem(
                "verify",
                "GPU %s must be a %s, got %s; see whether the node's pod has the release's values",
                config.uuid, expected->name, config.name);
        }
        if (expected->memory_mib && expected->memory_mib != mib) {
            problem("verify",
                    "GPU %s must have %llu MiB, got %llu; see whether the node's pod has the "
                    "release's values",
                    config.uuid, (unsigned long long)expected->memory_mib, mib);
        }
    }
}

/* A runtime without CDI brings nothing into the pod but the plugin's environment variable. */
static uint64_t granted_by_name(void) {
    const char *list = getenv("NVIDIA_VISIBLE_DEVICES");
    uint64_t count = 0;
    for (const char *p = list ? list : ""; *p;
         p += p[strcspn(p, ",")] ? strcspn(p, ",") + 1 : strlen(p)) {
        if (!strncmp(p, "GPU-", 4) || !strncmp(p, "mock-gpu-", 9)) {
            printf(
                "%-5llu %.*s (this runtime has no CDI: name and memory cannot be seen in a pod)\n",
                (unsigned long long)count, (int)strcspn(p, ","), p);
            count++;
        }
    }
    return count;
}

int command_verify(int count, char **words) {
    const char *gpus = NULL, *memory = NULL, *inventory = NULL;
    struct expected expected = {0};
    const struct option options[] = {
        {"--count", &gpus, NULL, true},
        {"--name", &expected.name, NULL, false},
        {"--memory-mib", &memory, NULL, false},
        {"--inventory", &inventory, NULL, false},
    };
    if (!arguments_parse("verify", count, words, options, OPTION_COUNT(options))) {
        return EXIT_USAGE;
    }
    if (gs_parse_number(gpus, 0, GS_SLOTS, &expected.count)) {
        problem("verify", "--count must be 0 to %u, got %s; give the pod's number of GPUs",
                GS_SLOTS, gpus);
    }
    if (memory && gs_parse_number(memory, 1, GS_MEMORY_MIB_MAX, &expected.memory_mib)) {
        problem("verify", "--memory-mib must be 1 to %u, got %s; give MiB", GS_MEMORY_MIB_MAX,
                memory);
    }
    if (problem_count()) {
        return EXIT_USAGE;
    }

    struct visible visible;
    struct gs_error error;
    int found = visible_open(&visible, inventory, &error);
    uint64_t got = 0;
    if (found < 0) {
        problem("verify", "%s", error.text);
    } else if (found > 0) {
        got = granted_by_name();
    } else {
        compare(&visible, &expected);
        got = visible.count;
        gs_unmap(&visible.mapping);
    }
    if (found >= 0 && got != expected.count) {
        problem("verify",
                "this container must see %llu GPUs, got %llu; see kubectl describe of this pod",
                (unsigned long long)expected.count, (unsigned long long)got);
    }
    return problem_count() ? EXIT_INPUT : EXIT_FINE;
}
