/* SPDX-License-Identifier: Apache-2.0
 * Resolves paths one component at a time with O_NOFOLLOW, links by their text, and ".." by going back to a directory that
 * is already open: whatever somebody renames meanwhile, no step leaves the root. openat2 would do the same in one call,
 * but kernels before 5.6 and many seccomp profiles do not have it, and two ways are one too many to trust. */
#include "inroot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_LINKS = 40, DEEPEST = 128 };

struct walk {
    int open[DEEPEST]; /* open[0] is the root, which is not ours to close */
    int depth;
    char left[2 * PATH_MAX];
    int links;
};

static void back_to(struct walk *walk, int depth) {
    while (walk->depth > depth) {
        close(walk->open[walk->depth--]);
    }
}

/* Puts a link's text in front of what is left of the path. */
static int expand(struct walk *walk, int link, size_t consumed) {
    char text[PATH_MAX], rest[2 * PATH_MAX];
    ssize_t length = readlinkat(link, "", text, sizeof text - 1);
    if (length < 0) {
        return -1;
    }
    text[length] = 0;
    if (++walk->links > MOST_LINKS) {
        errno = ELOOP;
        return -1;
    }
    memcpy(rest, walk->left + consumed, strlen(walk->left + consumed) + 1);
    int total = snprintf(walk->left, sizeof walk->left, "%s/%s", text, rest);
    if (total < 0 || (size_t)total >= sizeof walk->left) {
        errno = ENAMETOOLONG;
        return -1;
    }
    if (text[0] == '/') {
        back_to(walk, 0);
    }
    return 0;
}

static int step(struct walk *walk, const char *name, size_t consumed, bool create) {
    int top = walk->open[walk->depth];
    int next = openat(top, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (next < 0 && errno == ENOENT && create) {
        if (mkdirat(top, name, 0755) && errno != EEXIST) {
            return -1;
        }
        next = openat(top, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    }
    if (next < 0) {
        return -1;
    }

    struct stat status;
    int failed = fstat(next, &status);
    if (!failed && S_ISLNK(status.st_mode)) {
        failed = expand(walk, next, consumed);
        close(next);
        return failed;
    }
    if (failed || !S_ISDIR(status.st_mode) || walk->depth + 1 == DEEPEST) {
        errno = failed ? errno : S_ISDIR(status.st_mode) ? ENAMETOOLONG : ENOTDIR;
        close(next);
        return -1;
    }
    walk->open[++walk->depth] = next;
    memmove(walk->left, walk->left + consumed, strlen(walk->left + consumed) + 1);
    return 0;
}

int inroot_directory(int root, const char *path, bool create) {
    struct walk walk = {.open = {root}};
    if (strlen(path) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(walk.left, path);

    int failed = 0;
    while (!failed) {
        size_t slashes = strspn(walk.left, "/"), length = strcspn(walk.left + slashes, "/");
        char name[NAME_MAX + 1];
        if (!length) {
            break;
        }
        if (length > NAME_MAX) {
            errno = ENAMETOOLONG;
            failed = -1;
            break;
        }
        memcpy(name, walk.left + slashes, length);
        name[length] = 0;
        if (strcmp(name, ".") && strcmp(name, "..")) {
            failed = step(&walk, name, slashes + length, create);
            continue;
        }
        if (name[1] && walk.depth) {
            back_to(&walk, walk.depth - 1);
        }
        memmove(walk.left, walk.left + slashes + length, strlen(walk.left + slashes + length) + 1);
    }
    int result = failed ? -1 : fcntl(walk.open[walk.depth], F_DUPFD_CLOEXEC, 3);
    int reason = errno;
    back_to(&walk, 0);
    errno = reason;
    return result;
}

int inroot_parent(int root, const char *path, bool create, const char **name) {
    const char *slash = strrchr(path, '/');
    *name = slash ? slash + 1 : path;
    if (!**name || !strcmp(*name, ".") || !strcmp(*name, "..")) {
        errno = EINVAL;
        return -1;
    }
    char folder[PATH_MAX];
    int length = snprintf(folder, sizeof folder, "%.*s", (int)(*name - path), path);
    if (length < 0 || (size_t)length >= sizeof folder) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return inroot_directory(root, folder, create);
}

bool inroot_exists(int root, const char *path) {
    char here[PATH_MAX];
    if (strlen(path) >= sizeof here) {
        return false;
    }
    strcpy(here, path);
    for (int links = 0; links < MOST_LINKS; links++) {
        const char *name;
        int folder = inroot_parent(root, here, false, &name);
        if (folder < 0) {
            return false;
        }
        struct stat status;
        int missing = fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW);
        char text[PATH_MAX];
        ssize_t length = -1;
        if (!missing && S_ISLNK(status.st_mode)) {
            length = readlinkat(folder, name, text, sizeof text - 1);
        }
        close(folder);
        if (missing) {
            return false;
        }
        if (length < 0) {
            return true;
        }
        text[length] = 0;
        char next[2 * PATH_MAX];
        int total = text[0] == '/'
                        ? snprintf(next, sizeof next, "%s", text)
                        : snprintf(next, sizeof next, "%.*s%s", (int)(name - here), here, text);
        if (total < 0 || (size_t)total >= sizeof here) {
            return false;
        }
        strcpy(here, next);
    }
    return false;
}

int inroot_symlink(int root, const char *target, const char *link) {
    const char *name;
    int folder = inroot_parent(root, link, true, &name);
    if (folder < 0) {
        return -1;
    }

    /* Beside it and renamed over it: whoever looks meanwhile sees the old or the new one. */
    char beside[NAME_MAX + 1];
    int length = snprintf(beside, sizeof beside, ".gpu-sim-%d", (int)getpid());
    int failed = length < 0 ? -1 : symlinkat(target, folder, beside);
    if (!failed && renameat(folder, beside, folder, name)) {
        int reason = errno;
        unlinkat(folder, beside, 0);
        errno = reason;
        failed = -1;
    }
    int reason = errno;
    close(folder);
    errno = reason;
    return failed;
}
