/* SPDX-License-Identifier: Apache-2.0
 * Names inside a container's root, resolved as the container itself will resolve them, while we run outside of it with
 * all rights. An image or a volume may hold any link; none may lead us out of the root. */
#ifndef GPU_SIM_NODE_INROOT_H
#define GPU_SIM_NODE_INROOT_H

#include <stdbool.h>

/* An O_PATH descriptor of a directory below `root`; missing ones are made if `create`. -1 and errno. */
int inroot_directory(int root, const char *path, bool create);

/* The directory that holds `path`, with the last component left as it is in `*name` (it points into `path`). */
int inroot_parent(int root, const char *path, bool create, const char **name);

/* Does a name exist there, links followed inside the root? */
bool inroot_exists(int root, const char *path);

/* Makes `link` a symbolic link with the text `target`, in place of whatever is there but a directory or a mount. */
int inroot_symlink(int root, const char *target, const char *link);

#endif
