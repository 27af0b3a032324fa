/* SPDX-License-Identifier: Apache-2.0
 *
 * What a user asks for: limits, names and strict parsing of each parameter, one table for the
 * environment of the library and the flags of the node program. Nothing here allocates or prints;
 * a value that does not parse changes nothing and says why. */
#ifndef GPU_SIM_SPEC_H
#define GPU_SIM_SPEC_H

#include "inventory.h"

#define GS_MEMORY_MIB_MAX 16777216u /* 16 TiB: far above any board, far below overflow in bytes */
#define GS_ERROR_SIZE 512u

/* One problem: `<source>: <what is wrong>, got <value>; <what to do>`, without a line end. */
struct gs_error {
    char text[GS_ERROR_SIZE];
};

enum gs_key {
    GS_KEY_COUNT,
    GS_KEY_MEMORY_MIB,
    GS_KEY_NAME,
    GS_KEY_PROFILE,
    GS_KEY_DRIVER_VERSION,
    GS_KEY_UUID_FORMAT,
    GS_KEYS
};

struct gs_key_name {
    const char *environment; /* NVML_MOCK_DEVICE_COUNT … */
    const char *flag;        /* --count … */
};

/* The names of each key, indexed by enum gs_key. */
extern const struct gs_key_name gs_key_names[GS_KEYS];

/* Nobody configured anything: the default profile (the first of the table), 4 GPUs, RFC 4122 UUIDs. */
void gs_spec_default(struct gs_spec *spec);

/* Parses value into spec. `source` names where it came from (a variable or a flag) in the error.
 * Returns 0, or -1 with error filled and spec as it was. */
int gs_spec_set(struct gs_spec *spec, enum gs_key key, const char *source, const char *value,
                struct gs_error *error);

/* Each key from the environment; a variable that is set but empty counts as unset. Returns how many
 * were taken over, or -1 at the first that does not parse. */
int gs_spec_from_environment(struct gs_spec *spec, struct gs_error *error);

/* A whole decimal number without sign, space or exponent, lowest..highest. */
int gs_parse_number(const char *text, uint64_t lowest, uint64_t highest, uint64_t *number);

/* Fills error: "<source>: <what>, got <value>; <remedy>". value may be NULL. */
void gs_error_set(struct gs_error *error, const char *source, const char *what, const char *value,
                  const char *remedy);

#endif
