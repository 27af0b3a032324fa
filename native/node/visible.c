/* SPDX-License-Identifier: Apache-2.0
 * Finds the inventory and this process's GPUs, see visible.h. */
#include "visible.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The root in which the program is /usr/bin/something; "" for the file system's. */
static bool own_root(char *root, size_t size) {
    ssize_t length = readlink("/proc/self/exe", root, size - 1);
    if (length < 0) {
        return false;
    }
    root[length] = 0;
    char *bin = strstr(root, "/usr/bin/");
    for (char *next = bin; next; next = strstr(next + 1, "/usr/bin/")) {
        bin = next;
    }
    if (!bin) {
        return false;
    }
    *bin = 0;
    return true;
}

static bool granted(const char *uuid) {
    const char *list = getenv("NVIDIA_VISIBLE_DEVICES");
    const char *at = list ? strstr(list, uuid) : NULL;
    return at && (at == list || at[-1] == ',') && (!at[strlen(uuid)] || at[strlen(uuid)] == ',');
}

static bool device_exists(const char *root, uint32_t minor) {
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/dev/nvidia%u", root, minor);
    return !access(path, F_OK);
}

/* Device nodes say which GPUs a container was given; where a runtime without CDI gave none, the plugin's environment
 * variable does; where neither speaks, as on the node itself, all are meant. */
static void choose(struct visible *visible, const char *root) {
    const struct gs_inventory *inventory = visible->mapping.inventory;
    bool by_device[GS_SLOTS] = {0}, by_name[GS_SLOTS] = {0}, present[GS_SLOTS] = {0},
         devices = false, names = false;
    for (uint32_t i = 0; i < inventory->header.gpu_slots; i++) {
        struct gs_state state;
        struct gs_config config;
        gs_read_state(gs_gpu_at(inventory, i), &state);
        gs_read_config(gs_gpu_at(inventory, i), &config);
        present[i] = state.slot == GS_SLOT_PRESENT;
        if (state.slot != GS_SLOT_EMPTY) {
            devices |= by_device[i] = device_exists(root, config.minor);
            names |= by_name[i] = granted(config.uuid);
        }
    }
    for (uint32_t i = 0; i < inventory->header.gpu_slots; i++) {
        if (devices ? by_device[i] : names ? by_name[i] : present[i]) {
            visible->slots[visible->count++] = i;
        }
    }
}

int visible_open(struct visible *visible, const char *inventory, struct gs_error *error) {
    char root[PATH_MAX] = "", directory[PATH_MAX + 16];
    int found = 1;
    visible->count = 0;
    if (inventory) {
        snprintf(visible->path, sizeof visible->path, "%s", inventory);
        found = 0;
    } else if (own_root(root, sizeof root)) {
        snprintf(directory, sizeof directory, "%s/usr/lib64", root);
        found = gs_find(directory, visible->path, sizeof visible->path, error);
    }
    if (found > 0) {
        root[0] = 0;
        found = gs_find("/usr/lib64", visible->path, sizeof visible->path, error);
    }
    if (found) {
        return found;
    }
    if (gs_map(visible->path, 0, &visible->mapping, error)) {
        return -1;
    }
    choose(visible, root);
    return 0;
}
