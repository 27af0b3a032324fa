/* SPDX-License-Identifier: Apache-2.0
 * Injected answers under which no repair can succeed, see repair_hinder.h. As v0.20.0 has it; tests/plugin tries each. */
#include "repair_hinder.h"

#include <nvml.h>
#include <stdio.h>
#include <string.h>

#include "ctl_fault.h"
#include "problem.h"
#include "repair.h"
#include "repair_look.h"

/* Of the node, or of any of its GPUs: without the answer the plugin takes none. One that comes for the first calls only
 * is no hindrance, since the plugin asks again. */
static const struct {
    const char *function;
    int harmless; /* a code that it takes for an answer */
    bool starts;  /* it starts, and then holds all GPUs for broken */
} asked[] = {
    {"nvmlInit_v2", NVML_SUCCESS, false},
    {"nvmlDeviceGetCount_v2", NVML_SUCCESS, false},
    {"nvmlDeviceGetHandleByIndex_v2", NVML_SUCCESS, false},
    {"nvmlDeviceGetHandleByUUID", NVML_SUCCESS, true},
    {"nvmlEventSetWait_v2", NVML_ERROR_TIMEOUT, true},
    {"nvmlDeviceGetName", NVML_SUCCESS, false},
    {"nvmlDeviceGetMigMode", NVML_ERROR_NOT_SUPPORTED, false},
    {"nvmlDeviceGetUUID", NVML_SUCCESS, false},
    {"nvmlDeviceGetMinorNumber", NVML_SUCCESS, false},
    {"nvmlDeviceGetPciInfo_v3", NVML_SUCCESS, false},
    {"nvmlDeviceGetCudaComputeCapability", NVML_SUCCESS, false},
};
enum { ASKED = sizeof asked / sizeof *asked };

static bool found_in(const struct gs_fault *faults, const struct gs_fault_detail *details,
                     char *text, size_t size) {
    for (unsigned i = 0; i < GS_FAULTS && faults[i].function; i++) {
        for (unsigned k = 0; k < ASKED; k++) {
            int code = faults[i].code;
            if (faults[i].function == gs_function_id(asked[k].function) && !details[i].count &&
                code != NVML_SUCCESS && code != asked[k].harmless) {
                snprintf(text, size, "answers %s with %s, and then the device plugin %s",
                         asked[k].function, ctl_code_name(code),
                         asked[k].starts ? "holds every GPU for broken" : "does not start");
                return true;
            }
        }
    }
    return false;
}

static bool found(const struct change *change, char *text, size_t size) {
    char answers[192];
    if (found_in(change->faults, change->details, answers, sizeof answers)) {
        snprintf(text, size, "the node %s; %s", answers,
                 change->declared ? "take its line out of gpuSim.faults or gpu-sim.io/faults"
                                  : "gpu-sim ctl clear --gpu all takes that back too");
        return true;
    }
    for (uint32_t slot = 0; slot < GS_SLOTS; slot++) {
        const struct gs_state *state = &change->states[slot];
        if (state->slot == GS_SLOT_PRESENT &&
            found_in(state->faults, state->fault_details, answers, sizeof answers)) {
            snprintf(text, size, "GPU %u %s; %s", slot, answers,
                     state->declared ? "take its line out of gpuSim.faults or gpu-sim.io/faults"
                                     : "clear that GPU too, or all");
            return true;
        }
    }
    return false;
}

const char *hinder_maybe(const struct gs_inventory *inventory, char *text, size_t size) {
    const struct gs_fault *faults = inventory->header.faults;
    *text = 0;
    for (unsigned i = 0; i < GS_FAULTS && faults[i].function; i++) {
        const char *name = ctl_function_name(faults[i].function);
        if (faults[i].function != GS_NO_FUNCTION && faults[i].code != NVML_SUCCESS && name) {
            snprintf(text, size, "the node answers %s with %s, which may be why; ", name,
                     ctl_code_name(faults[i].code));
            break;
        }
    }
    return text;
}

/* Which GPUs need a repair that cannot succeed; 0 where none does. */
static uint64_t hindered(const struct ctl *ctl, const struct change *change,
                         const struct gs_inventory *inventory, char *text, size_t size) {
    struct look look = {.inventory = inventory, .plugin_dir = ctl->plugin_dir};
    if (!change->asked || !ctl->plugin_dir || !look_known(&look)) {
        return 0;
    }
    uint64_t needed = repair_needed(change) | look_unhealthy(&look, change->asked);
    return needed && found(change, text, size) ? needed : 0;
}

int hinder_refuse(const struct ctl *ctl, const struct change *change) {
    char text[384], names[256];
    uint64_t gpus = hindered(ctl, change, change->inventory, text, sizeof text);
    if (gpus) {
        problem(change->subject, "nothing changed: %s cannot come back while %s",
                ctl_names(gpus, names, sizeof names), text);
    }
    return gpus ? EXIT_INPUT : EXIT_FINE;
}

bool hinder_tell(const struct ctl *ctl, const struct change *change) {
    char text[384];
    struct opened opened; /* the change's own is closed by now */
    if (opened_open(&opened, ctl->root, false) != EXIT_FINE) {
        return false;
    }
    bool told = hindered(ctl, change, opened.inventory, text, sizeof text) != 0;
    opened_close(&opened);
    if (told) {
        notice(change->subject, "not repaired, since %s", text);
    }
    return told;
}
