/* SPDX-License-Identifier: Apache-2.0
 * Lets a container's dynamic loader find the library in a folder that its image may not search. */
#ifndef GPU_SIM_NODE_LOADER_LINKS_H
#define GPU_SIM_NODE_LOADER_LINKS_H

/* `folder` is a path in the container whose root is open as `root`. */
void loader_links(int root, const char *folder);

#endif
