/* SPDX-License-Identifier: Apache-2.0
 * `gpu-sim allocate`: who holds which GPU, told by the node's agent as a full set on standard input. What pods can
 * read gets a process row, memory and load, never a name; names go into the file of pods. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../src/reader.h"
#include "../src/writer.h"
#include "allocation.h"
#include "arguments.h"
#include "clock.h"
#include "commands.h"
#include "energy.h"
#include "opened.h"
#include "place.h"
#include "pods_file.h"
#include "problem.h"

static int slot_of(const struct gs_inventory *inventory, const char *uuid) {
    for (uint32_t slot = 0; slot < inventory->header.gpu_slots; slot++) {
        struct gs_state state;
        struct gs_config config;
        gs_read_state(gs_gpu_at(inventory, slot), &state);
        gs_read_config(gs_gpu_at(inventory, slot), &config);
        if (state.slot != GS_SLOT_EMPTY && !strcmp(config.uuid, uuid)) {
            return (int)slot;
        }
    }
    return -1;
}

/* Adds the holder to what the GPU shall be; memory is cut to what is left of the board. */
static void add(const struct gs_config *config, const struct holder *holder,
                struct gs_allocation *next) {
    uint64_t room = config->memory_total - config->memory_reserved, left = room;
    for (uint32_t i = 0; i < next->process_count; i++) {
        left -= next->processes[i].memory;
    }
    uint64_t wanted = holder_memory(holder, room);
    if (wanted > left) {
        notice("allocate", "%s on %s: %llu MiB is more than the GPU has left, got cut to %llu MiB",
               holder->pod, config->uuid, (unsigned long long)(wanted >> 20),
               (unsigned long long)(left >> 20));
        wanted = left;
    }
    if (next->process_count == GS_PROCESSES) {
        notice("allocate", "%s on %s: more than %u holders, this one is not shown", holder->pod,
               config->uuid, GS_PROCESSES);
        return;
    }
    struct gs_process *row = &next->processes[next->process_count++];
    *row = (struct gs_process){.pid = holder->pid,
                               .kind = 1,
                               .memory = wanted,
                               .gpu_instance = 0xFFFFFFFFu,
                               .compute_instance = 0xFFFFFFFFu,
                               .utilization_sm = (uint32_t)holder->utilization.high,
                               .utilization_memory = (uint32_t)holder->utilization.high,
                               .name = "gpu-workload"};
    next->allocated = 1;
    struct gs_reading *load = &next->utilization_gpu;
    load->low =
        load->low + holder->utilization.low > 100 ? 100 : load->low + holder->utilization.low;
    load->high =
        load->high + holder->utilization.high > 100 ? 100 : load->high + holder->utilization.high;
    /* A busy board moves less than it computes. */
    next->utilization_memory = (struct gs_reading){load->low / 2, load->high / 2};
}

static unsigned write_all(struct gs_inventory *inventory, const struct gs_allocation *wanted) {
    unsigned changed = 0;
    for (uint32_t slot = 0; slot < inventory->header.gpu_slots; slot++) {
        struct gs_gpu *gpu = gs_gpu_of(inventory, slot);
        struct gs_allocation old, next = wanted[slot];
        gs_read_allocation(gpu, &old);
        next.since_ns = !next.allocated ? 0 : old.allocated ? old.since_ns : clock_boot_ns();
        if (memcmp(&old, &next, sizeof next)) {
            gs_write_allocation(gpu, &next);
            changed++;
        }
        struct gs_state state;
        gs_read_state(gpu, &state);
        if (energy_follow(&state, &next)) {
            gs_write_state(gpu, &state);
        }
    }
    return changed;
}

static int allocate(const char *root, const struct holders *holders) {
    static struct gs_allocation wanted[GS_SLOTS];
    struct opened opened;
    int code = opened_open(&opened, root, true);
    if (code != EXIT_FINE) {
        return code;
    }
    for (size_t i = 0; i < holders->count; i++) {
        const struct holder *holder = &holders->list[i];
        int slot = slot_of(opened.inventory, holder->uuid);
        struct gs_config config;
        if (slot <
            0) { /* of a release before this one: its pod still runs, and the others count all the same */
            notice("allocate", "%s holds %s, which this node does not have (any more); left out",
                   holder->pod, holder->uuid);
            continue;
        }
        gs_read_config(gs_gpu_at(opened.inventory, (uint32_t)slot), &config);
        add(&config, holder, &wanted[slot]);
    }
    struct place place = {.root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .shown = root};
    bool staged;
    code = EXIT_MACHINE;
    /* Names first: run again after a death in between, the same input writes the rest. */
    if (place.root < 0) {
        problem_errno(root, "cannot be opened");
    } else if (place_stage(&place, PODS_FILE, holders->text, holders->size, PODS_MODE, &staged) &&
               (!staged || place_commit(&place, PODS_FILE))) {
        printf("gpu-sim: %zu holders, %u GPUs changed\n", holders->count,
               write_all(opened.inventory, wanted));
        code = EXIT_FINE;
    }
    if (place.root >= 0) {
        close(place.root);
    }
    opened_close(&opened);
    return code;
}

int command_allocate(int count, char **words) {
    const char *root = NULL;
    struct holders holders;
    const struct option options[] = {{"--root", &root, NULL, false}};
    if (!arguments_parse("allocate", count, words, options, OPTION_COUNT(options))) {
        return EXIT_USAGE;
    }
    int code = holders_read(stdin, &holders);
    if (code == EXIT_FINE) {
        code = allocate(opened_root(root), &holders);
    }
    holders_free(&holders);
    return code;
}
