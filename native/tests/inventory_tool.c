/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests only: writes inventories and changes them while clients have them mapped.
 *     inventory_tool FILE build [--count N] [--profile P] …    (the installer's flags; the file is created)
 *     inventory_tool FILE apply [--count N] …                  (into a file in use)
 *     inventory_tool FILE process SLOT PID KIND MEMORY NAME | event SLOT TYPE DATA | set SLOT WHAT VALUE
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "build.h"
#include "reader.h"
#include "writer.h"

static void fail(const char *text) {
    fprintf(stderr, "inventory_tool: %s\n", text);
    exit(1);
}

static void parse(int count, char **arguments, struct gs_spec *spec) {
    struct gs_error error;
    gs_spec_default(spec);
    strcpy(spec->node, "test-node");
    for (int i = 0; i + 1 < count; i += 2) {
        int known = 0;
        for (unsigned key = 0; key < GS_KEYS; key++) {
            if (strcmp(arguments[i], gs_key_names[key].flag) == 0) {
                known = 1;
                if (gs_spec_set(spec, (enum gs_key)key, arguments[i], arguments[i + 1], &error)) {
                    fail(error.text);
                }
            }
        }
        char *text = strcmp(arguments[i], "--node") == 0        ? spec->node
                     : strcmp(arguments[i], "--release") == 0   ? spec->release
                     : strcmp(arguments[i], "--namespace") == 0 ? spec->release_namespace
                                                                : NULL;
        if (text) {
            snprintf(text, 64, "%s", arguments[i + 1]);
        } else if (!known) {
            fail(arguments[i]);
        }
    }
}

static struct gs_inventory *built(const struct gs_spec *spec) {
    struct gs_error error;
    struct gs_inventory *inventory = calloc(1, gs_inventory_size());
    if (!inventory || gs_build(spec, inventory, gs_inventory_size(), &error)) {
        fail("cannot build");
    }
    return inventory;
}

static void write_file(const char *path, const void *data, size_t size) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || write(file, data, size) != (ssize_t)size) {
        fail(strerror(errno));
    }
    close(file);
}

static void set_state(struct gs_gpu *gpu, const char *what, const char *value) {
    struct gs_state state, *next = &state;
    unsigned long number = strtoul(value, NULL, 0);
    gs_read_state(gpu, &state);
    if (strcmp(what, "lost") == 0) {
        next->lost = (uint32_t)number;
    } else if (strcmp(what, "utilization") == 0) {
        next->utilization_gpu = (struct gs_reading){(int32_t)number, (int32_t)number};
    } else if (strcmp(what, "nvlink_down") == 0) {
        next->nvlink_down = number;
    } else if (strcmp(what, "throttle") == 0) {
        next->throttle_reasons = number;
    } else if (strcmp(what, "power_limit") == 0) {
        next->power_limit = (uint32_t)number;
    } else if (strncmp(what, "fault:", 6) == 0) {
        next->faults[0] = (struct gs_fault){gs_function_id(what + 6), (int32_t)number, 0, 0};
    } else if (strcmp(what, "ecc_dram") == 0) {
        next->ecc_volatile[1][2] = number;
    } else {
        fail(what);
    }
    gs_write_state(gpu, &state);
}

int main(int count, char **arguments) {
    struct gs_error error;
    struct gs_mapping mapping;
    struct gs_spec spec;
    if (count < 3) {
        fail("FILE COMMAND …");
    }
    const char *path = arguments[1], *command = arguments[2];
    if (strcmp(command, "build") == 0) {
        parse(count - 3, arguments + 3, &spec);
        write_file(path, built(&spec), gs_inventory_size());
        return 0;
    }
    if (gs_map(path, 1, &mapping, &error)) {
        fail(error.text);
    }
    if (strcmp(command, "apply") == 0) {
        parse(count - 3, arguments + 3, &spec);
        printf("%u\n", gs_apply(mapping.inventory, built(&spec), "test-boot", 0));
        return 0;
    }
    struct gs_gpu *gpu =
        count > 3 ? gs_gpu_of(mapping.inventory, (uint32_t)atoi(arguments[3])) : NULL;
    if (strcmp(command, "process") == 0 && count == 8) {
        struct gs_allocation next;
        gs_read_allocation(gpu, &next);
        struct gs_process *row = &next.processes[next.process_count++];
        *row = (struct gs_process){.pid = (uint32_t)atoi(arguments[4]),
                                   .kind = (uint32_t)atoi(arguments[5]),
                                   .memory = strtoull(arguments[6], NULL, 0),
                                   .gpu_instance = 0xFFFFFFFFu,
                                   .compute_instance = 0xFFFFFFFFu};
        snprintf(row->name, sizeof row->name, "%s", arguments[7]);
        gs_write_allocation(gpu, &next);
    } else if (strcmp(command, "event") == 0 && count == 6) {
        struct gs_event event = {.slot = (uint32_t)atoi(arguments[3]),
                                 .type = strtoull(arguments[4], NULL, 0),
                                 .data = strtoull(arguments[5], NULL, 0)};
        gs_raise_events(mapping.inventory, &event, 1);
    } else if (strcmp(command, "set") == 0 && count == 6) {
        set_state(gpu, arguments[4], arguments[5]);
    } else {
        fail(command);
    }
    return 0;
}
