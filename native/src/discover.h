/* SPDX-License-Identifier: Apache-2.0
 *
 * Where this very code lies, and the inventory and device nodes that belong to it. Called at init. */
#ifndef GPU_SIM_DISCOVER_H
#define GPU_SIM_DISCOVER_H

#include "reader.h"

#define GS_PATH_SIZE 4096

/* The folder of the file that this code was loaded from, without the last slash. Looked up once: the
 * library stays loaded. 0, or -1 where /proc does not tell. */
int gs_own_folder(char folder[GS_PATH_SIZE]);

/* The inventory for this process: $NVML_MOCK_INVENTORY, else beside the library, else (for a program in
 * usr/bin) in the library folders of the same root. 0 with path filled, 1 when there is none, -1 with
 * error filled. */
int gs_discover(char path[GS_PATH_SIZE], struct gs_error *error);

/* The root that a library folder belongs to: "/opt/x/usr/lib64" gives "/opt/x", "/usr/lib64" gives "".
 * 0, or -1 for a folder that is no library folder of any root. */
int gs_root_of(const char *folder, char root[GS_PATH_SIZE]);

/* Whether <root>/dev/nvidia<minor> exists. */
int gs_node_exists(const char *root, uint32_t minor);

#endif
