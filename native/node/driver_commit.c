/* SPDX-License-Identifier: Apache-2.0
 * Puts the staged driver folder in place, one name after another, and removes what it replaces; see driver_root.h. */
#include "driver_root.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../src/reader.h"
#include "layout.h"
#include "problem.h"

/* Further names of the program are hard links: the plugin mounts what a symbolic link leads to, under that file's name. */
static const char *const program_names[] = {PROGRAMS "/nvidia-smi", PROGRAMS "/nvidia-cdi-hook"};

static bool same_file(const struct place *place, const char *a, const char *b) {
    struct stat one, other;
    return !fstatat(place->root, a, &one, AT_SYMLINK_NOFOLLOW) &&
           !fstatat(place->root, b, &other, AT_SYMLINK_NOFOLLOW) && one.st_ino == other.st_ino &&
           one.st_dev == other.st_dev;
}

static bool commit_programs(const struct place *place, const struct driver_root *driver) {
    if (driver->new_programs && !place_commit(place, PROGRAM)) {
        return false;
    }
    for (size_t i = 0; i < sizeof program_names / sizeof *program_names; i++) {
        if (same_file(place, PROGRAM, program_names[i])) {
            continue;
        }
        char beside[PATH_MAX];
        place_staged_name(program_names[i], beside, sizeof beside);
        place_discard(place, program_names[i]);
        if (linkat(place->root, PROGRAM, place->root, beside, 0)) {
            problem_errno(program_names[i], "cannot be made a name of the program");
            return false;
        }
        if (!place_commit(place, program_names[i])) {
            return false;
        }
    }
    return true;
}

static bool commit_links(const struct place *place, const struct driver_root *driver) {
    const char *file = driver->library_path + sizeof LIBRARIES;
    return place_link(place, LIBRARIES "/" LIBRARY_SONAME, file) &&
           place_link(place, LIBRARIES "/libnvidia-ml.so", LIBRARY_SONAME) &&
           place_link(place, DRIVER "/" LIBRARY_SONAME, "usr/lib64/" LIBRARY_SONAME) &&
           place_link(place, DRIVER "/libnvidia-ml.so", "usr/lib64/" LIBRARY_SONAME) &&
           place_link(place, DRIVER "/libnvidia-ml-mock.so", "usr/lib64/" LIBRARY_SONAME);
}

typedef bool keep(const char *name, const void *context);

static bool remove_others(const struct place *place, const char *folder, keep *keep_this,
                          const void *context) {
    DIR *entries = place_entries(place->root, folder, 0);
    if (!entries) {
        problem_errno(folder, "cannot be read");
        return false;
    }
    bool good = true;
    struct dirent *entry;
    while ((entry = readdir(entries))) {
        char path[PATH_MAX];
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
            keep_this(entry->d_name, context)) {
            continue;
        }
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        good &= place_remove(place, path);
    }
    closedir(entries);
    return good;
}

/* Old versions, and what a killed run had staged. */
static bool keep_library(const char *name, const void *version) {
    static const char *const links[] = {LIBRARY_SONAME, "libnvidia-ml.so"};
    static const char *const versioned[] = {LIBRARY_PREFIX, GS_FILE_PREFIX};
    for (size_t i = 0; i < 2; i++) {
        if (!strcmp(name, links[i]) || (!strncmp(name, versioned[i], strlen(versioned[i])) &&
                                        !strcmp(name + strlen(versioned[i]), version))) {
            return true;
        }
    }
    return false;
}

enum { MOST_DEVICES = 256 };

struct devices {
    bool control;
    bool gpu[MOST_DEVICES];
};

static bool keep_device(const char *name, const void *context) {
    const struct devices *devices = context;
    if (!strcmp(name, "nvidiactl") || !strcmp(name, "nvidia-uvm")) {
        return devices->control;
    }
    char *end;
    unsigned long minor = strncmp(name, "nvidia", 6) || !isdigit((unsigned char)name[6])
                              ? MOST_DEVICES
                              : strtoul(name + 6, &end, 10);
    return minor < MOST_DEVICES && !*end && devices->gpu[minor];
}

static void wanted_devices(const struct gs_inventory *built, struct devices *devices) {
    for (uint32_t i = 0; i < GS_SLOTS; i++) {
        struct gs_state state;
        struct gs_config config;
        gs_read_state(gs_gpu_at(built, i), &state);
        gs_read_config(gs_gpu_at(built, i), &config);
        if (state.slot == GS_SLOT_PRESENT && config.minor < MOST_DEVICES) {
            devices->gpu[config.minor] = true;
        }
    }
}

bool driver_root_make_devices(const struct place *place, const struct driver_root *driver,
                              const struct gs_inventory *built) {
    struct devices devices = {0};
    char path[PATH_MAX];
    if (!driver->can_make_devices) {
        return true;
    }
    wanted_devices(built, &devices);
    for (unsigned minor = 0; minor < MOST_DEVICES; minor++) {
        snprintf(path, sizeof path, DEVICES "/nvidia%u", minor);
        if (devices.gpu[minor] && !place_device(place, path)) {
            problem_errno(path, "cannot be made");
            return false;
        }
    }
    if (!place_device(place, DEVICES "/nvidiactl") || !place_device(place, DEVICES "/nvidia-uvm")) {
        problem_errno(DEVICES, "nvidiactl and nvidia-uvm cannot be made");
        return false;
    }
    return true;
}

static bool remove_other_devices(const struct place *place, const struct driver_root *driver,
                                 const struct gs_inventory *built) {
    struct devices devices = {.control = driver->can_make_devices};
    if (driver->can_make_devices) {
        wanted_devices(built, &devices);
    }
    return remove_others(place, DEVICES, keep_device, &devices);
}

bool driver_root_commit(const struct place *place, const struct driver_root *driver,
                        const struct gs_inventory *built) {
    const char *version = driver->library_path + strlen(LIBRARIES "/" LIBRARY_PREFIX);
    return (!driver->new_library || place_commit(place, driver->library_path)) &&
           commit_links(place, driver) && remove_other_devices(place, driver, built) &&
           commit_programs(place, driver) &&
           (!driver->new_config || place_commit(place, PLUGIN_CONFIG)) &&
           remove_others(place, LIBRARIES, keep_library, version);
}
