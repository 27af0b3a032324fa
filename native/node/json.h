/* SPDX-License-Identifier: Apache-2.0
 * Reads the few values we need out of JSON that others wrote (the runtime's state, the kubelet's checkpoint) in place,
 * without a tree. Any text is safe: what is not JSON is "not there". The text must end with a NUL. */
#ifndef GPU_SIM_NODE_JSON_H
#define GPU_SIM_NODE_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* The value of a member of the object that starts at `value`; NULL where it is no object or has none of that name. */
const char *json_member(const char *value, const char *name);

/* Walks an object or array: `*at` is NULL at first; the next element's value, NULL at the end. With `key` (an array's
 * elements have none) it gets the member's name, cut to size. */
const char *json_next(const char *value, const char **at, char *key, size_t size);

/* Decodes a string; false where it is none or does not fit. */
bool json_string(const char *value, char *out, size_t size);

#endif
