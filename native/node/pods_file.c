/* SPDX-License-Identifier: Apache-2.0
 * Reads the file of pods, see pods_file.h. */
#include "pods_file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "place.h"

char *pods_read(const char *root) {
    char path[PATH_MAX];
    size_t size;
    snprintf(path, sizeof path, "%s/" PODS_FILE, root);
    return place_read(AT_FDCWD, path, &size);
}

int pods_next(const char **at, const char *uuid, char pod[512]) {
    size_t length = strlen(uuid);
    while (*at && **at) {
        const char *line = *at;
        *at = strchr(line, '\n');
        *at = *at ? *at + 1 : NULL;
        if (!strncmp(line, uuid, length) && line[length] == ' ') {
            snprintf(pod, 512, "%.*s", (int)strcspn(line + length + 1, " \n"), line + length + 1);
            return 1;
        }
    }
    return 0;
}
