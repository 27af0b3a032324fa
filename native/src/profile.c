/* SPDX-License-Identifier: Apache-2.0
 *
 * Looking up profiles, and what follows from a driver's version; see profile.h. */
#include "profile.h"

#include <string.h>

const char gs_default_driver_version[] = GS_DEFAULT_DRIVER; /* from pyproject.toml, by CMake */

/* First driver of each branch with that CUDA version, newest first. */
static const struct {
    uint32_t driver;
    int32_t cuda;
} branches[] = {
    {595, 13020}, {590, 13010}, {580, 13000}, {575, 12090}, {570, 12080}, {565, 12070},
    {560, 12060}, {555, 12050}, {550, 12040}, {545, 12030}, {535, 12020}, {530, 12010},
    {525, 12000}, {520, 11080}, {515, 11070}, {510, 11060}, {495, 11050}, {470, 11040},
    {465, 11030}, {460, 11020}, {450, 11000},
};

const struct gs_profile *gs_profile_find(const char *name) {
    for (uint32_t i = 0; i < gs_profile_count; i++) {
        if (strcmp(gs_profiles[i].name, name) == 0) {
            return &gs_profiles[i];
        }
    }
    return NULL;
}

int32_t gs_cuda_version_of_driver(const char *driver_version) {
    uint32_t branch = 0;
    for (; *driver_version >= '0' && *driver_version <= '9' && branch < 100000; driver_version++) {
        branch = branch * 10 + (uint32_t)(*driver_version - '0');
    }
    for (size_t i = 0; i < sizeof branches / sizeof *branches; i++) {
        if (branch >= branches[i].driver) {
            return branches[i].cuda;
        }
    }
    return 10020;
}
