/* SPDX-License-Identifier: Apache-2.0
 * What the hook update-ldcache does here. Links in a directory that the image's loader searches anyway, instead of a new
 * ld.so.cache: a cache must be merged with the image's own, has two formats and byte orders, needs the image's ldconfig
 * to be right, and means nothing to musl; a link works in all of them and stays visible to a later ldconfig. */
#include "loader_links.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inroot.h"
#include "place.h"
#include "problem.h"

#if defined(__x86_64__)
#define MACHINE "x86_64"
#elif defined(__aarch64__)
#define MACHINE "aarch64"
#else
#error "no loader directories are known for this machine"
#endif

static const char stem[] = "libnvidia-ml.so";
static const char soname[] = "libnvidia-ml.so.1";

/* The library's file in the folder: libnvidia-ml.so.<driver version>, as the plugin mounts it. */
static bool library_in(int folder, char *name, size_t size) {
    DIR *entries = place_entries(folder, ".", 0);
    if (!entries) {
        return false;
    }
    bool found = false;
    struct dirent *entry;
    while (!found && (entry = readdir(entries))) {
        struct stat status;
        size_t length = sizeof stem - 1;
        found = !strncmp(entry->d_name, stem, length) && entry->d_name[length] == '.' &&
                strlen(entry->d_name) < size &&
                !fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) &&
                S_ISREG(status.st_mode);
        if (found) {
            strcpy(name, entry->d_name);
        }
    }
    closedir(entries);
    return found;
}

/* A library that an image brings itself stays. Links do not: they dangle in images made under NVIDIA's runtime, which
 * leaves empty files behind too. */
static bool taken(int root, const char *path) {
    const char *name;
    int folder = inroot_parent(root, path, false, &name);
    if (folder < 0) {
        return false;
    }
    struct stat status;
    bool stays = !fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) && !S_ISLNK(status.st_mode) &&
                 status.st_size > 0;
    close(folder);
    return stays;
}

static void link_into(int root, const char *directory, const char *library) {
    const char *names[] = {soname, stem};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char link[PATH_MAX];
        if (snprintf(link, sizeof link, "%s/%s", directory, names[i]) >= (int)sizeof link) {
            return;
        }
        if (!strcmp(link, library) || taken(root, link)) {
            continue;
        }
        if (inroot_symlink(root, library, link)) {
            problem_errno("update-ldcache", "%s cannot be made a link to %s", link, library);
        }
    }
}

static bool same_directory(int root, const char *a, const char *b) {
    struct stat one, other;
    int first = inroot_directory(root, a, false), second = inroot_directory(root, b, false);
    bool same = first >= 0 && second >= 0 && !fstat(first, &one) && !fstat(second, &other) &&
                one.st_ino == other.st_ino && one.st_dev == other.st_dev;
    if (first >= 0) {
        close(first);
    }
    if (second >= 0) {
        close(second);
    }
    return same;
}

void loader_links(int root, const char *folder) {
    char file[NAME_MAX + 1], library[PATH_MAX];
    int open_folder = inroot_directory(root, folder, false);
    bool have = open_folder >= 0 && library_in(open_folder, file, sizeof file);
    if (open_folder >= 0) {
        close(open_folder);
    }
    if (!have || snprintf(library, sizeof library, "%s/%s", folder, file) >= (int)sizeof library) {
        return;
    }

    /* The folder's own names; create-symlinks has usually made them before us. */
    link_into(root, folder, library);

    /* Debian and Ubuntu search their multiarch directories (glibc is built so there, and only there do they exist);
     * musl searches /lib, /usr/local/lib and /usr/lib; Fedora, RHEL and SUSE search /usr/lib64, where it is already. */
    static const char *const multiarch[] = {"/usr/lib/" MACHINE "-linux-gnu",
                                            "/lib/" MACHINE "-linux-gnu"};
    for (size_t i = 0; i < 2; i++) {
        int directory = inroot_directory(root, multiarch[i], false);
        if (directory < 0) {
            continue;
        }
        close(directory);
        if (!same_directory(root, multiarch[i], folder)) {
            link_into(root, multiarch[i], library);
        }
        break;
    }
    if (inroot_exists(root, "/lib/ld-musl-" MACHINE ".so.1") &&
        !same_directory(root, "/usr/lib", folder)) {
        link_into(root, "/usr/lib", library);
    }
}
