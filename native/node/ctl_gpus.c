/* SPDX-License-Identifier: Apache-2.0
 * Which GPUs a command is about: indexes, UUIDs, lists of both, or all. */
#include <stdio.h>
#include <string.h>

#include "../src/reader.h"
#include "../src/spec.h"
#include "ctl.h"
#include "problem.h"

uint32_t ctl_next(uint64_t slots, uint32_t slot) {
    while (slot < GS_SLOTS && !(slots >> slot & 1)) {
        slot++;
    }
    return slot;
}

const char *ctl_names(uint64_t slots, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, slots & (slots - 1) ? "GPUs " : "GPU ");
    const char *comma = "";
    for (uint32_t slot = ctl_next(slots, 0); slot < GS_SLOTS && used < size;
         slot = ctl_next(slots, slot + 1)) {
        used += (size_t)snprintf(text + used, size - used, "%s%u", comma, slot);
        comma = ",";
    }
    return text;
}

bool ctl_few(const struct change *change, int count) {
    if (count > CTL_WORDS) {
        problem(change->subject, "too many words, got %d; give at most %d", count, CTL_WORDS);
    }
    return count <= CTL_WORDS;
}

uint64_t ctl_present(const struct change *change) {
    uint64_t slots = 0;
    for (uint32_t slot = 0; slot < GS_SLOTS; slot++) {
        slots |= (uint64_t)(change->states[slot].slot == GS_SLOT_PRESENT) << slot;
    }
    return slots;
}

static bool find(const struct change *change, const char *word, uint64_t valid, uint64_t *slots) {
    uint64_t index;
    if (!strcmp(word, "all")) {
        *slots |= valid;
        return valid != 0;
    }
    if (!gs_parse_number(word, 0, GS_SLOTS - 1, &index) && valid >> index & 1) {
        *slots |= (uint64_t)1 << index;
        return true;
    }
    for (uint32_t slot = ctl_next(valid, 0); slot < GS_SLOTS; slot = ctl_next(valid, slot + 1)) {
        struct gs_config config;
        gs_read_config(gs_gpu_at(change->inventory, slot), &config);
        if (!strcmp(config.uuid, word)) {
            *slots |= (uint64_t)1 << slot;
            return true;
        }
    }
    return false;
}

bool ctl_gpus(const struct change *change, const char *text, uint64_t *slots) {
    uint64_t valid = ctl_present(change);
    int before = problem_count();
    bool told = false; /* that there is nothing beside a comma */
    char word[96], names[256];
    *slots = 0;
    for (const char *p = text;; p++) {
        size_t length = strcspn(p, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, p);
        bool good = length < sizeof word && find(change, word, valid, slots);
        if (!good && (length || !told)) {
            told |= !length;
            problem(change->subject,
                    "--gpu: no such GPU, got %s; this node has %s (or their UUIDs, see gpu-sim ctl "
                    "status; a list with commas; or all)",
                    length ? word : "nothing beside a comma",
                    valid ? ctl_names(valid, names, sizeof names) : "none");
        }
        p += length;
        if (!*p) {
            return problem_count() == before;
        }
    }
}
