/* SPDX-License-Identifier: Apache-2.0
 * Signs that somebody else offers GPUs on this node: two device plugins for one resource overwrite each other silently. */
#ifndef GPU_SIM_NODE_FOREIGN_H
#define GPU_SIM_NODE_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

/* Is it the name of such a plugin's socket? */
bool foreign_is_socket(const char *name);
/* Does anybody listen there? */
bool foreign_answers(const char *path);

/* A socket of an NVIDIA device plugin in the kubelet's directory that answers; its path in `path`. */
bool foreign_plugin(const char *plugin_dir, char *path, size_t size);

/* A loaded NVIDIA driver; the first line of its version file in `version`. */
bool foreign_driver(const char *proc, char *version, size_t size);

/* The process that listens on a socket, 0 where that cannot be told: nobody does, or it is in no namespace of ours. */
int foreign_listener(const char *path);

/* A real driver's library below the host's /usr, which is mounted at `usr`; its path on the host in `path`. A node may have
 * the driver's files without the driver being loaded (an image made for GPU nodes, a driver that waits for a reboot). */
bool foreign_library(const char *usr, char *path, size_t size);

/* Removes the sockets of plugins that are dead; true when none is left, so that nothing says a plugin were there. */
bool foreign_remove_dead(const char *plugin_dir, int wait_seconds);

#endif
