/* SPDX-License-Identifier: Apache-2.0
 * Files under the node's root, see place.h. */
#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "problem.h"

void place_report(const struct place *place, const char *path, const char *what) {
    char shown[PATH_MAX];
    int reason = errno;
    snprintf(shown, sizeof shown, "%s/%s", place->shown, path);
    errno = reason;
    problem_errno(shown, "%s%s", what,
                  reason == ENOSPC || reason == EDQUOT
                      ? "; free space on that file system, the old state is kept"
                  : reason == EROFS ? "; mount it writable or choose another root"
                                    : "");
}

static bool directories(const char *path, int base) {
    char part[PATH_MAX];
    if (strlen(path) >= sizeof part) {
        errno = ENAMETOOLONG;
        return false;
    }
    for (const char *p = path; *p;) {
        p += strspn(p, "/");
        p += strcspn(p, "/");
        snprintf(part, sizeof part, "%.*s", (int)(p - path), path);
        /* An existing one may be on a file system that is not writable. */
        if (mkdirat(base, part, 0755) && errno != EEXIST) {
            struct stat status;
            int reason = errno;
            if (fstatat(base, part, &status, 0) || !S_ISDIR(status.st_mode)) {
                errno = reason;
                return false;
            }
        }
    }
    return true;
}

bool place_open(struct place *place, const char *root, const char *shown) {
    place->shown = shown;
    place->root = directories(root, AT_FDCWD) ? open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (place->root < 0) {
        problem_errno(shown, "cannot be opened");
    }
    return place->root >= 0;
}

void place_turn(const struct place *place) {
    while (flock(place->root, LOCK_EX) && errno == EINTR) {
    }
}

bool place_turn_now(const struct place *place) {
    return !flock(place->root, LOCK_EX | LOCK_NB) || (errno != EWOULDBLOCK && errno != EINTR);
}

bool place_directory(const struct place *place, const char *path) {
    if (directories(path, place->root)) {
        return true;
    }
    place_report(place, path, "cannot be made");
    return false;
}

void *place_read(int directory, const char *path, size_t *size) {
    int fd = openat(directory, path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status)) {
        if (fd >= 0) {
            close(fd);
        }
        return NULL;
    }
    size_t room = (size_t)status.st_size, used = 0;
    char *content = malloc(room + 1);
    ssize_t count = 0;
    while (content && used < room && (count = read(fd, content + used, room - used)) > 0) {
        used += (size_t)count;
    }
    int reason = errno;
    close(fd);
    if (content && count < 0) {
        free(content);
        errno = reason;
        return NULL;
    }
    if (content) {
        content[used] = 0;
    }
    *size = used;
    return content;
}

void place_staged_name(const char *path, char *name, size_t size) {
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash + 1 - path) : 0;
    snprintf(name, size, "%.*s.%s.new", folder, path, path + folder);
}

static bool already(const struct place *place, const char *path, const void *content, size_t size,
                    mode_t mode) {
    struct stat status;
    if (fstatat(place->root, path, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode) ||
        (status.st_mode & 07777) != mode || (size_t)status.st_size != size) {
        return false;
    }
    size_t have;
    void *old = place_read(place->root, path, &have);
    bool same = old && have == size && !memcmp(old, content, size);
    free(old);
    return same;
}

static bool write_whole(int fd, const char *content, size_t size) {
    while (size) {
        ssize_t count = write(fd, content, size);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return false;
        }
        content += count;
        size -= (size_t)count;
    }
    return true;
}

bool place_stage(const struct place *place, const char *path, const void *content, size_t size,
                 mode_t mode, bool *staged) {
    char beside[PATH_MAX];
    place_staged_name(path, beside, sizeof beside);
    *staged = false;
    place_discard(place, path);
    if (already(place, path, content, size, mode)) {
        return true;
    }
    int fd = openat(place->root, beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool written = fd >= 0 && write_whole(fd, content, size) && !fchmod(fd, mode);
    /* Only now do some network file systems say that there was no room. */
    if (fd >= 0 && close(fd)) {
        written = false;
    }
    if (!written) {
        place_report(place, path, "cannot be written");
        place_discard(place, path);
        return false;
    }
    return *staged = true;
}

bool place_commit(const struct place *place, const char *path) {
    char beside[PATH_MAX];
    place_staged_name(path, beside, sizeof beside);
    if (!renameat(place->root, beside, place->root, path)) {
        return true;
    }
    place_report(place, path, "cannot be put in place");
    return false;
}

void place_discard(const struct place *place, const char *path) {
    char beside[PATH_MAX];
    place_staged_name(path, beside, sizeof beside);
    unlinkat(place->root, beside, 0);
}

bool place_link(const struct place *place, const char *path, const char *target) {
    char old[PATH_MAX], beside[PATH_MAX];
    ssize_t length = readlinkat(place->root, path, old, sizeof old - 1);
    if (length >= 0) {
        old[length] = 0;
        if (!strcmp(old, target)) {
            return true;
        }
    }
    place_staged_name(path, beside, sizeof beside);
    place_discard(place, path);
    if (!symlinkat(target, place->root, beside)) {
        return place_commit(place, path);
    }
    place_report(place, path, "cannot be made a link");
    return false;
}

bool place_device(const struct place *place, const char *path) {
    struct stat status;
    if (!fstatat(place->root, path, &status, AT_SYMLINK_NOFOLLOW) && S_ISCHR(status.st_mode) &&
        status.st_rdev == makedev(1, 3) && (status.st_mode & 07777) == 0666) {
        return true;
    }
    char beside[PATH_MAX];
    place_staged_name(path, beside, sizeof beside);
    place_discard(place, path);
    if (!mknodat(place->root, beside, S_IFCHR | 0600, makedev(1, 3)) &&
        !fchmodat(place->root, beside, 0666, 0) &&
        !renameat(place->root, beside, place->root, path)) {
        return true;
    }
    int reason = errno;
    place_discard(place, path);
    errno = reason;
    return false;
}

DIR *place_entries(int directory, const char *path, int flags) {
    int fd = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (!entries && fd >= 0) {
        int reason = errno;
        close(fd);
        errno = reason;
    }
    return entries;
}

static bool remove_tree(int folder, const char *name) {
    if (!unlinkat(folder, name, 0) || errno == ENOENT) {
        return true;
    }
    if (errno != EISDIR && errno != EPERM) {
        return false;
    }
    DIR *entries = place_entries(folder, name, O_NOFOLLOW);
    if (!entries) {
        return errno == ENOENT;
    }
    bool emptied = true;
    int reason = 0;
    struct dirent *entry;
    while ((entry = readdir(entries))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) {
            continue;
        }
        if (!remove_tree(dirfd(entries), entry->d_name)) {
            emptied = false;
            reason = errno;
        }
    }
    closedir(entries);
    if (emptied && (!unlinkat(folder, name, AT_REMOVEDIR) || errno == ENOENT)) {
        return true;
    }
    if (!emptied) {
        errno = reason;
    }
    return false;
}

bool place_remove(const struct place *place, const char *path) {
    if (remove_tree(place->root, path)) {
        return true;
    }
    place_report(place, path, "cannot be removed");
    return false;
}
