/* SPDX-License-Identifier: Apache-2.0
 *
 * From a specification to an inventory, and from a new inventory into one that is in use.
 * Called by the library (a process without a file) and by the installer. Same input, same bytes:
 * nothing here looks at the clock, the machine or the environment. */
#ifndef GPU_SIM_BUILD_H
#define GPU_SIM_BUILD_H

#include "inventory.h"
#include "spec.h"

/* Bytes that a file needs, and that gs_build() fills. */
size_t gs_inventory_size(void);

/* Fills buffer (zeroed by the caller, at least gs_inventory_size() bytes, 8-byte aligned) with a live
 * inventory. Returns 0, or -1 with error filled: unknown profile, buffer too small. */
int gs_build(const struct gs_spec *spec, void *buffer, size_t size, struct gs_error *error);

/* Writes the configuration of `built` into `live`, which others have mapped. GPUs whose configuration
 * did not change keep their run-time state; changed and new ones start afresh; those that are gone
 * become GS_SLOT_REMOVED. The caller holds the file's lock and has checked both with gs_validate().
 * boot_id and now_ns (CLOCK_BOOTTIME) go into the header and the counters: after a reboot counters go
 * on from their last value. Returns how many slots changed. */
uint32_t gs_apply(struct gs_inventory *live, const struct gs_inventory *built, const char *boot_id,
                  uint64_t now_ns);

/* RFC 4122 (version 5) UUID of a GPU, "GPU-xxxxxxxx-…", from release namespace, release, node and index. */
void gs_gpu_uuid(const struct gs_spec *spec, uint32_t index, char uuid[80]);

#endif
