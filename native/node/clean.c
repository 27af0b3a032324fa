/* SPDX-License-Identifier: Apache-2.0
 * `gpu-sim clean-node`: gives the node back. Run by the node's agent when its release is going, and by people with --force
 * on a node whose agent could not. Removes what the installer and the device plugin put there and nothing of a second
 * owner; pods that still use the files keep them. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../src/reader.h"
#include "arguments.h"
#include "commands.h"
#include "foreign.h"
#include "layout.h"
#include "owner.h"
#include "pods_file.h"
#include "problem.h"

static const int PLUGIN_SECONDS = 5;

/* The device plugin leaves its CDI specifications behind. Ours mount our inventory; others' are not touched. */
static bool remove_specifications(const char *directory) {
    struct place place = {.shown = directory};
    static const char *const names[] = {"k8s.device-plugin.nvidia.com-gpu.json",
                                        "k8s.device-plugin.nvidia.com-gpu.yaml"};
    bool good = true;
    place.root = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (place.root < 0) {
        return errno == ENOENT || (problem_errno(directory, "cannot be opened"), false);
    }
    for (size_t i = 0; i < 2; i++) {
        size_t size;
        char *text = place_read(place.root, names[i], &size);
        if (text && strstr(text, GS_FILE_PREFIX)) {
            good &= place_remove(&place, names[i]);
        }
        free(text);
    }
    close(place.root);
    return good;
}

/* Only the owner, or with --force nobody who lives, loses the node. */
static bool allowed(const struct place *place, const char *release, const char *namespace) {
    struct owner owner, us = {0};
    if (!owner_read(place, &owner)) {
        return true;
    }
    if (release) {
        snprintf(us.release, sizeof us.release, "%s", release);
        snprintf(us.namespace, sizeof us.namespace, "%s", namespace);
        if (!owner_same(&owner, &us)) {
            problem(place->shown,
                    "owned by release %s in namespace %s since %s, not by %s in %s; nothing was "
                    "removed",
                    owner.release, owner.namespace, owner.since, release, namespace);
            return false;
        }
        return true;
    }
    if (owner_alive(place)) {
        problem(place->shown,
                "release %s in namespace %s runs here since %s; uninstall it first (helm uninstall "
                "%s -n %s)",
                owner.release, owner.namespace, owner.since, owner.release, owner.namespace);
        return false;
    }
    return true;
}

static int clean(const char *root, const char *release, const char *namespace,
                 const char *plugin_dir, const char *cdi_dir) {
    struct place place = {.shown = root};
    place.root = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (place.root < 0 && errno != ENOENT) {
        problem_errno(root, "cannot be opened");
        return EXIT_MACHINE;
    }
    if (place.root >= 0) {
        place_turn(&place);
        if (!allowed(&place, release, namespace)) {
            close(place.root);
            return EXIT_INPUT;
        }
    }
    bool good = true;
    if (cdi_dir) {
        good &= remove_specifications(cdi_dir);
    }
    if (place.root >= 0) {
        /* The owner goes last: until then a second run knows whose remains these are. */
        good = good & place_remove(&place, DRIVER) && place_remove(&place, PODS_FILE) &&
               place_remove(&place, OWNER_FILE);
        close(place.root);
        /* In a pod the root is a mount and stays, empty. */
        if (good && rmdir(root) && errno != EBUSY && errno != ENOENT && errno != ENOTEMPTY &&
            errno != EROFS) {
            problem_errno(root, "cannot be removed");
            good = false;
        }
    }
    if (plugin_dir) {
        foreign_remove_dead(plugin_dir, PLUGIN_SECONDS);
    }
    if (!good || problem_count()) {
        return EXIT_MACHINE;
    }
    printf("gpu-sim: %s is clean\n", root);
    return EXIT_FINE;
}

int command_clean_node(int count, char **words) {
    const char *root = NULL, *release = NULL, *namespace = NULL, *plugin_dir = NULL,
               *cdi_dir = NULL;
    bool force = false;
    const struct option options[] = {
        {"--root", &root, NULL, true},
        {"--release", &release, NULL, false},
        {"--namespace", &namespace, NULL, false},
        {"--plugin-dir", &plugin_dir, NULL, false},
        {"--cdi-dir", &cdi_dir, NULL, false},
        {"--force", NULL, &force, false},
    };
    if (!arguments_parse("clean-node", count, words, options, OPTION_COUNT(options))) {
        return EXIT_USAGE;
    }
    if (force ? release || namespace : !release || !namespace) {
        problem("clean-node",
                "whose node is it? give either --release and --namespace, or --force");
        return EXIT_USAGE;
    }
    return clean(root, release, namespace, plugin_dir, cdi_dir);
}
