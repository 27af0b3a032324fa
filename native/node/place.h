/* SPDX-License-Identifier: Apache-2.0
 * Putting files under the node's root. Whatever others may have open or mapped is written beside its name and renamed
 * over it, so they keep what they have. All that needs space is staged before anything is changed: a full disk leaves
 * the old state whole. Every failure is reported as a problem with the path on the host. */
#ifndef GPU_SIM_NODE_PLACE_H
#define GPU_SIM_NODE_PLACE_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct place {
    int root;          /* the open directory that all paths are relative to */
    const char *shown; /* its name on the host, for messages */
};

/* Opens the root, making it and its parents if they are missing. */
bool place_open(struct place *place, const char *root, const char *shown);

/* Waits until nobody else changes files under the root, and keeps others waiting until it is closed. The owner's lock does
 * not do that: it is the agent's, beside which every program of its pod may change the node. */
void place_turn(const struct place *place);
/* The same where it is free; false where somebody else has it. */
bool place_turn_now(const struct place *place);

bool place_directory(const struct place *place, const char *path);

/* Writes the new content beside `path`, for place_commit() to rename; *staged is false where the file is already right. */
bool place_stage(const struct place *place, const char *path, const void *content, size_t size,
                 mode_t mode, bool *staged);
bool place_commit(const struct place *place, const char *path);
void place_discard(const struct place *place, const char *path);

/* The name under which `path` is staged. */
void place_staged_name(const char *path, char *name, size_t size);

/* A relative symbolic link. */
bool place_link(const struct place *place, const char *path, const char *target);

/* A character device 1:3 (the null device: never a real driver's number) that everybody may open. False, without a
 * problem but with errno, where this host does not let us make one. */
bool place_device(const struct place *place, const char *path);

/* Removes a file or a whole tree; what is not there is fine. */
bool place_remove(const struct place *place, const char *path);

/* The entries of a folder; flags beside those that a directory needs, such as O_NOFOLLOW. NULL and errno. */
DIR *place_entries(int directory, const char *path, int flags);

/* A whole file in memory; NULL and errno. */
void *place_read(int directory, const char *path, size_t *size);

/* The problem that errno tells of a path below the root, with what to do about a full or read-only file system. */
void place_report(const struct place *place, const char *path, const char *what);

#endif
