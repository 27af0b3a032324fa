/* SPDX-License-Identifier: Apache-2.0
 *
 * Name-based UUIDs (RFC 4122, version 5): the same names give the same UUID on every machine. */
#ifndef GPU_SIM_UUID_H
#define GPU_SIM_UUID_H

#include <stddef.h>
#include <stdint.h>

/* The namespace of all of this project's UUIDs. */
extern const uint8_t gs_uuid_namespace[16];

void gs_uuid_v5(const uint8_t space[16], const char *name, size_t length, uint8_t uuid[16]);

#endif
