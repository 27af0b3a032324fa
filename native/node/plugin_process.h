/* SPDX-License-Identifier: Apache-2.0
 * The device plugin as a process and as sockets. The agent shares its process namespace. */
#ifndef GPU_SIM_NODE_PLUGIN_PROCESS_H
#define GPU_SIM_NODE_PLUGIN_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

enum { PLUGIN_SOCKETS = 32 };

/* Those that answer: a plugin that was killed leaves dead ones behind. */
struct plugin_sockets {
    unsigned count;
    struct {
        uint64_t inode, made_ns; /* wall clock */
    } each[PLUGIN_SOCKETS];
};

/* Sends SIGHUP, on which the plugin looks for its GPUs anew: to the plugins that listen in the folder, or, where none does
 * (one that waits for a kubelet has no socket), to all that are seen. How many got it; -1 after a problem. */
int plugin_hang_up(const char *proc, const char *plugin_dir);

void plugin_sockets(const char *plugin_dir, struct plugin_sockets *sockets);
/* Are all of `now` made after `before` was looked at? */
bool plugin_sockets_new(const struct plugin_sockets *now, const struct plugin_sockets *before);
/* The newest one's time. */
uint64_t plugin_sockets_made(const struct plugin_sockets *sockets);

#endif
