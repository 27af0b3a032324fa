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
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "layout.h"
#include "problem.h"

/* nvidia-gpu.sock, nvidia-mig-1g.5gb.sock, nvidia.sock (old ones), nvidiaGPU-<time>.sock (GKE's). */
bool foreign_is_socket(const char *name) {
    size_t length = strlen(name);
    return !strncasecmp(name, "nvidia", 6) && length > strlen("nvidia.sock") - 1 &&
           !strcmp(name + length - 5, ".sock");
}

/* A socket that tried to connect, errno 0 where it did; -1 where that cannot be tried. */
static int reach(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        return -1;
    }
    strcpy(address.sun_path, path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0 && !connect(fd, (struct sockaddr *)&address, sizeof address)) {
        errno = 0;
    }
    return fd;
}

bool foreign_answers(const char *path) {
    int fd = reach(path);
    if (fd < 0) {
        return true; /* cannot be asked, so it may be alive */
    }
    /* EAGAIN: somebody listens whose queue is full. */
    bool alive = !errno || errno == EAGAIN || errno == EINPROGRESS;
    close(fd);
    return alive;
}

int foreign_listener(const char *path) {
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    int fd = reach(path);
    if (fd < 0) {
        return 0;
    }
    bool known = !errno && !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    close(fd);
    return known ? peer.pid : 0;
}

bool foreign_plugin(const char *plugin_dir, char *path, size_t size) {
    DIR *entries = opendir(plugin_dir);
    if (!entries) {
        return false;
    }
    bool found = false;
    struct dirent *entry;
    while (!found && (entry = readdir(entries))) {
        if (!foreign_is_socket(entry->d_name)) {
            continue;
        }
        int length = snprintf(path, size, "%s/%s", plugin_dir, entry->d_name);
        found = length > 0 && (size_t)length < size && foreign_answers(path);
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

/* Where distributions, WSL and NVIDIA's own installer for containers put the driver's library, below /usr. */
static const char *const library_folders[] = {
    "lib64",     "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "lib", "lib/wsl/lib",
    "local/lib", "local/nvidia/lib64"};

/* A file, or a link to one. Where an absolute link leads cannot be seen from here: it counts. */
static bool is_there(const char *path) {
    char target[PATH_MAX];
    struct stat status;
    ssize_t length = readlink(path, target, sizeof target);
    if (length > 0 && target[0] == '/') {
        return true;
    }
    return !stat(path, &status) && S_ISREG(status.st_mode);
}

bool foreign_library(const char *usr, char *path, size_t size) {
    for (size_t i = 0; i < sizeof library_folders / sizeof *library_folders; i++) {
        char folder[PATH_MAX], file[PATH_MAX + 256];
        snprintf(folder, sizeof folder, "%s/%s", usr, library_folders[i]);
        DIR *entries = opendir(folder);
        bool found = false;
        struct dirent *entry;
        while (entries && !found && (entry = readdir(entries))) {
            if (strncmp(entry->d_name, LIBRARY_PREFIX, sizeof LIBRARY_PREFIX - 1)) {
                continue;
            }
            snprintf(file, sizeof file, "%s/%s", folder, entry->d_name);
            found = is_there(file);
            /* As the host calls it, not as it is mounted here. */
            snprintf(path, size, "/usr/%s/%s", library_folders[i], entry->d_name);
        }
        if (entries) {
            closedir(entries);
        }
        if (found) {
            return true;
        }
    }
    return false;
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
        if (!foreign_is_socket(entry->d_name)) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", plugin_dir, entry->d_name);
        if (foreign_answers(path)) {
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
