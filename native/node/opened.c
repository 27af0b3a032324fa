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
#include <unistd.h>

#include "clock.h"
#include "layout.h"
#include "problem.h"

static const int LOCK_SECONDS = 10;
enum { FIND_ATTEMPTS = 8 };

const char *opened_root(const char *given) {
    const char *named = getenv("GPU_SIM_ROOT");
    return given ? given : named && *named ? named : "/var/lib/gpu-sim";
}

int opened_lock(int base, const char *folder) {
    int lock = openat(base, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    double deadline = clock_seconds() + LOCK_SECONDS;
    while (flock(lock, LOCK_EX | LOCK_NB)) {
        if (lock < 0 || errno != EWOULDBLOCK || clock_seconds() > deadline) {
            problem_errno(folder,
                          "the inventory's lock cannot be had within %d s; see who writes to it",
                          LOCK_SECONDS);
            if (lock >= 0) {
                close(lock);
            }
            return -1;
        }
        clock_pause();
    }
    return lock;
}

/* Its name is found and it is mapped: the installer may take a name away in between, for another driver version's. */
static int find_and_map(struct opened *opened, const char *directory, bool change) {
    char path[PATH_MAX];
    struct gs_error error;
    int found;
    for (unsigned attempt = 0; attempt < FIND_ATTEMPTS; attempt++) {
        found = gs_find(directory, path, sizeof path, &error);
        if (!found && !gs_map(path, change, &opened->mapping, &error)) {
            return EXIT_FINE;
        }
        if (found > 0 || (!found && !access(path, F_OK))) {
            break;
        }
    }
    if (found > 0) {
        problem(opened->root, "there is no inventory here; name the node's root with --root, or "
                              "install gpu-sim on this node");
        return EXIT_INPUT;
    }
    if (!found && errno == EACCES) {
        problem_errno(path, "cannot be opened for writing; run this as root, where the driver's "
                            "folder is writable");
    } else {
        problem(NULL, "%s", error.text);
    }
    return found ? EXIT_INPUT : EXIT_MACHINE;
}

int opened_open(struct opened *opened, const char *root, bool change) {
    char directory[PATH_MAX];
    *opened = (struct opened){.root = root, .lock = -1};
    snprintf(directory, sizeof directory, "%s/" LIBRARIES, root);
    if (change && !access(directory, F_OK) &&
        (opened->lock = opened_lock(AT_FDCWD, directory)) < 0) {
        return EXIT_MACHINE;
    }
    int code = find_and_map(opened, directory, change);
    if (code != EXIT_FINE) {
        opened_close(opened);
        return code;
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
