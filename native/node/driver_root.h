/* SPDX-License-Identifier: Apache-2.0
 * All of the driver folder but the inventory: library, programs, device nodes, the device plugin's configuration. */
#ifndef GPU_SIM_NODE_DRIVER_ROOT_H
#define GPU_SIM_NODE_DRIVER_ROOT_H

#include <limits.h>
#include <stdbool.h>

#include "../src/inventory.h"
#include "place.h"

struct driver_root {
    const char *host_root;  /* for messages */
    const char *strategies; /* the device list strategies asked for */
    const char *library;    /* the file to install */
    /* filled while staging */
    char library_path[PATH_MAX];
    bool new_library, new_programs, new_config;
    bool can_execute, can_make_devices;
};

bool strategies_valid(const char *list);

bool driver_root_stage(const struct place *place, struct driver_root *driver,
                       const char *driver_version);
void driver_root_discard(const struct place *place, const struct driver_root *driver);
/* Before the inventory names them: a GPU without its node would not be seen, a node without its GPU is nothing. */
bool driver_root_make_devices(const struct place *place, const struct driver_root *driver,
                              const struct gs_inventory *built);
/* After it: the rest, and what is no longer wanted. */
bool driver_root_commit(const struct place *place, const struct driver_root *driver,
                        const struct gs_inventory *built);

#endif
