/* SPDX-License-Identifier: Apache-2.0
 * The program under the name nvidia-cdi-hook: what the device plugin's CDI specification has the runtime call while it
 * makes a container, after the mounts and before the root is changed. Stands in for a hook that is 7 MB, needs glibc on
 * the host and fails containers. Always exits 0: a GPU that cannot be used is better than a pod that cannot start. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "commands.h"
#include "inroot.h"
#include "json.h"
#include "loader_links.h"
#include "problem.h"

enum { LARGEST_TEXT = 16 << 20 };

/* A whole file with a NUL behind it; NULL and errno. */
static char *read_all(int fd) {
    size_t size = 0, room = 1 << 16;
    char *text = malloc(room);
    while (text) {
        ssize_t count = read(fd, text + size, room - size - 1);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0 || (size += (size_t)count) >= LARGEST_TEXT) {
            errno = count < 0 ? errno : EFBIG;
            free(text);
            return NULL;
        }
        if (!count) {
            text[size] = 0;
            return text;
        }
        if (room - size < 2) {
            char *more = realloc(text, room *= 2);
            if (!more) {
                free(text);
            }
            text = more;
        }
    }
    return NULL;
}

static char *read_file(const char *path) {
    int fd = !strcmp(path, "-") ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    char *text = read_all(fd);
    int reason = errno;
    close(fd);
    errno = reason;
    return text;
}

/* The root as the bundle's specification names it. */
static bool root_of_bundle(const char *bundle, char *root, size_t size) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/config.json", bundle) >= (int)sizeof path) {
        return false;
    }
    char *config = read_file(path);
    if (!config) {
        problem_errno(path, "cannot be read; the container starts without the library's links");
        return false;
    }
    bool found = json_string(json_member(json_member(config, "root"), "path"), root, size) && *root;
    free(config);
    if (!found) {
        problem(path, "root.path is missing; the container starts without the library's links");
    }
    return found;
}

/* Opens the root of the container whose state the runtime gives on standard input (or, to try a hook by hand, in a
 * file). crun names the root in the state itself; with user namespaces it may not let us read the specification. */
static int container_root(const char *state_file) {
    char *state = read_file(state_file);
    if (!state) {
        problem_errno(state_file, "the container's state cannot be read");
        return -1;
    }
    char bundle[PATH_MAX], root[PATH_MAX], whole[2 * PATH_MAX + 2];
    bool have_bundle = json_string(json_member(state, "bundle"), bundle, sizeof bundle);
    bool have_root = json_string(json_member(state, "root"), root, sizeof root) && *root;
    free(state);
    if (!have_root && !have_bundle) {
        problem(state_file, "the container's state names no bundle");
        return -1;
    }
    if (!have_root && !root_of_bundle(bundle, root, sizeof root)) {
        return -1;
    }
    if (root[0] == '/') {
        snprintf(whole, sizeof whole, "%s", root);
    } else {
        snprintf(whole, sizeof whole, "%s/%s", have_bundle ? bundle : "", root);
    }

    char real[PATH_MAX];
    if (!realpath(whole, real)) {
        problem_errno(whole, "the container's root cannot be found");
        return -1;
    }
    if (!strcmp(real, "/")) {
        problem(whole, "the container's root is the host's; nothing is changed in it");
        return -1;
    }
    int fd = open(real, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        problem_errno(real, "the container's root cannot be opened");
    }
    return fd;
}

static void create_symlink(int root, const char *pair) {
    char target[PATH_MAX];
    const char *separator = strstr(pair, "::");
    if (!separator || separator == pair || !separator[2] ||
        (size_t)(separator - pair) >= sizeof target) {
        problem("create-symlinks", "--link must be target::link, got %s; skipped", pair);
        return;
    }
    snprintf(target, sizeof target, "%.*s", (int)(separator - pair), pair);
    if (inroot_symlink(root, target, separator + 2)) {
        problem_errno("create-symlinks", "%s cannot be made a link to %s", separator + 2, target);
    }
}

/* `--name value` or `--name=value`; NULL where words[*at] is something else. */
static const char *option_value(char **words, int count, int *at, const char *name) {
    size_t length = strlen(name);
    if (strncmp(words[*at], name, length)) {
        return NULL;
    }
    if (words[*at][length] == '=') {
        return words[*at] + length + 1;
    }
    return !words[*at][length] && *at + 1 < count ? words[++*at] : NULL;
}

int command_cdi_hook(int count, char **words) {
    const char *hook = NULL, *state = "-", *value;
    int first = 0;
    while (first < count && words[first][0] == '-') {
        first++;
    }
    if (first < count) {
        hook = words[first++];
    }

    bool links = hook && !strcmp(hook, "create-symlinks"),
         cache = hook && !strcmp(hook, "update-ldcache");
    if (!links && !cache) {
        return EXIT_FINE; /* chmod, enable-cuda-compat and others have nothing to do for us */
    }

    for (int i = first; i < count; i++) {
        if ((value = option_value(words, count, &i, "--container-spec")) && *value) {
            state = value;
        }
    }
    int root = container_root(state);
    if (root < 0) {
        return EXIT_FINE;
    }
    umask(022);
    for (int i = first; i < count; i++) {
        if (links && (value = option_value(words, count, &i, "--link"))) {
            create_symlink(root, value);
        } else if (cache && (value = option_value(words, count, &i, "--folder"))) {
            loader_links(root, value);
        }
    }
    close(root);
    return EXIT_FINE;
}
