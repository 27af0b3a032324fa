/* SPDX-License-Identifier: Apache-2.0
 *
 * The boards that were compiled in from native/profiles/. The table is generated; the first entry is
 * the default. Read by the builder of inventories and by whoever lists profiles. */
#ifndef GPU_SIM_PROFILE_H
#define GPU_SIM_PROFILE_H

#include "inventory.h"

/* A board as its profile gives it: config without what belongs to one GPU (UUID, serial, minor, PCI
 * bus, name override), and the state of an idle board. */
struct gs_profile {
    const char *name;
    struct gs_config config;
    struct gs_state state;
};

extern const struct gs_profile gs_profiles[];
extern const uint32_t gs_profile_count;

/* NULL when no profile has that name. */
const struct gs_profile *gs_profile_find(const char *name);

/* The driver that the library was built to resemble: version text, and its CUDA version (12040). */
extern const char gs_default_driver_version[];
int32_t gs_cuda_version_of_driver(const char *driver_version);

#endif
