/* SPDX-License-Identifier: Apache-2.0
 * Looks for other providers of GPUs, see foreign.h. */
#include "foreign.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "problem.h"

/* nvidia-gpu.sock, nvidia-mig-1g.5gb.sock, nvidia.sock (old ones), nvidiaGPU-<time>.sock (GKE's). */
static bool is_plugin_socket(const char *name) {
    size_t length = strlen(name);
    return !strncasecmp(name, "nvidia", 6) && length > strlen("nvidia.sock") - 1 &&
           !strcmp(name + length - 5, ".sock");
}

static bool answers(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        return true; /* cannot be asked, so it may be alive */
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return true;
    }
    /* EAGAIN: somebody listens whose queue is full. */
    bool alive = !connect(fd, (struct sockaddr *)&address, sizeof address) || errno == EAGAIN ||
                 errno == EINPROGRESS;
    close(fd);
    return alive;
}

bool foreign_plugin(const char *plugin_dir, char *path, size_t size) {
    DIR *entries = opendir(plugin_dir);
    if (!entries) {
        return false;
    }
    bool found = false;
    struct dirent *entry;
    while (!found && (entry = readdir(entries))) {
        if (!is_plugin_socket(entry->d_name)) {
            continue;
        }
        int length = snprintf(path, size, "%s/%s", plugin_dir, entry->d_name);
        found = length > 0 && (size_t)length < size && answers(path);
    }
    closedir(entries);
    return found;
}

bool foreign_driver(const char *proc, char *version, size_t size) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/driver/nvidia/version", proc);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t length = read(fd, version, size - 1);
    close(fd);
    version[length > 0 ? length : 0] = 0;
    version[strcspn(version, "\n")] = 0;
    return true;
}

bool foreign_remove_dead(const char *plugin_dir, int wait_seconds) {
    double deadline = clock_seconds() + wait_seconds;
    char path[PATH_MAX];
    /* One that still answers is stopping with us. */
    while (foreign_plugin(plugin_dir, path, sizeof path) && clock_seconds() < deadline) {
        clock_pause();
    }

    DIR *entries = opendir(plugin_dir);
    if (!entries) {
        return true;
    }
    bool gone = true;
    struct dirent *entry;
    while ((entry = readdir(entries))) {
        if (!is_plugin_socket(entry->d_name)) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", plugin_dir, entry->d_name);
        if (answers(path)) {
            notice(path, "a device plugin still answers here and was left alone");
            gone = false;
        } else if (unlink(path) && errno != ENOENT) {
            problem_errno(path, "cannot be removed");
            gone = false;
        }
    }
    closedir(entries);
    return gone;
}
