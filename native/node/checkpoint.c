/* SPDX-License-Identifier: Apache-2.0
 * Reads the kubelet's checkpoint, see checkpoint.h. */
#include "checkpoint.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "json.h"
#include "place.h"

bool checkpoint_read(const char *path, struct checkpoint *checkpoint) {
    size_t size;
    struct stat status;
    *checkpoint = (struct checkpoint){0};
    if (stat(path, &status) || !(checkpoint->text = place_read(AT_FDCWD, path, &size))) {
        return false;
    }
    checkpoint->inode = (uint64_t)status.st_ino;
    checkpoint->written_ns =
        (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
    checkpoint->devices = json_member(json_member(checkpoint->text, "Data"), "RegisteredDevices");
    return true;
}

void checkpoint_free(struct checkpoint *checkpoint) {
    free(checkpoint->text);
    *checkpoint = (struct checkpoint){0};
}

static uint32_t count_in(const char *list, const char *uuid) {
    char device[256];
    const char *id, *at = NULL;
    uint32_t count = 0;
    while ((id = json_next(list, &at, NULL, 0))) {
        if (json_string(id, device, sizeof device)) {
            char *replica = strstr(device, "::");
            if (replica) {
                *replica = 0;
            }
            count += !strcmp(device, uuid);
        }
    }
    return count;
}

uint32_t checkpoint_count(const struct checkpoint *checkpoint, const char *uuid) {
    char resource[256];
    const char *list, *at = NULL;
    uint32_t count = 0;
    while ((list = json_next(checkpoint->devices, &at, resource, sizeof resource))) {
        if (!strncmp(resource, "nvidia.com/", 11)) {
            count += count_in(list, uuid);
        }
    }
    return count;
}
