/* SPDX-License-Identifier: Apache-2.0
 * Opens a root's inventory, see opened.h. */
#include "opened.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "layout.h"
#include "problem.h"

static const int LOCK_SECONDS = 10;

const char *opened_root(const char *given) {
    const char *named = getenv("GPU_SIM_ROOT");
    return given ? given : named && *named ? named : "/var/lib/gpu-sim";
}

/* The file's lock; -1 after a problem. Freed by death, so it is never kept long. */
static int lock_file(const char *path) {
    int lock = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (lock < 0) {
        problem_errno(path, "cannot be opened for writing; run this as root, where the driver's "
                            "folder is writable");
        return -1;
    }
    double deadline = clock_seconds() + LOCK_SECONDS;
    while (flock(lock, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK || clock_seconds() > deadline) {
            problem_errno(path,
                          "the inventory's lock cannot be had within %d s; see who writes to it",
                          LOCK_SECONDS);
            close(lock);
            return -1;
        }
        clock_pause();
    }
    return lock;
}

int opened_open(struct opened *opened, const char *root, bool change) {
    char directory[PATH_MAX], path[PATH_MAX];
    struct gs_error error;
    *opened = (struct opened){.root = root, .lock = -1};
    snprintf(directory, sizeof directory, "%s/" LIBRARIES, root);
    int found = gs_find(directory, path, sizeof path, &error);
    if (found > 0) {
        problem(root, "there is no inventory here; name the node's root with --root, or install "
                      "gpu-sim on this node");
        return EXIT_INPUT;
    }
    if (found < 0) {
        problem(NULL, "%s", error.text);
        return EXIT_INPUT;
    }
    if (change && (opened->lock = lock_file(path)) < 0) {
        return EXIT_MACHINE;
    }
    /* Mapped under the lock: an installer may have put another file there meanwhile. */
    if (gs_map(path, change, &opened->mapping, &error)) {
        problem(NULL, "%s", error.text);
        opened_close(opened);
        return EXIT_MACHINE;
    }
    struct stat status;
    if (change &&
        (fstat(opened->lock, &status) || (uint64_t)status.st_ino != opened->mapping.inode)) {
        opened_close(opened);
        return opened_open(opened, root, change);
    }
    opened->inventory = opened->mapping.inventory;
    return EXIT_FINE;
}

void opened_close(struct opened *opened) {
    gs_unmap(&opened->mapping);
    if (opened->lock >= 0) {
        close(opened->lock);
    }
    opened->inventory = NULL;
    opened->lock = -1;
}
