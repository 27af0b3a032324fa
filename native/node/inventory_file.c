/* SPDX-License-Identifier: Apache-2.0
 * Writes the inventory, see inventory_file.h. */
#include "inventory_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../src/build.h"
#include "../src/reader.h"
#include "clock.h"
#include "layout.h"
#include "opened.h"
#include "problem.h"

static void boot_id(char *text, size_t size) {
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? 0 : read(fd, text, size - 1);
    if (fd >= 0) {
        close(fd);
    }
    text[count > 0 ? count : 0] = 0;
    text[strcspn(text, "\n")] = 0;
}

/* Maps a path under the root: by the root's descriptor, since its name may mean something else to the caller. */
static bool map(const struct place *place, const char *path, struct gs_mapping *mapping,
                struct gs_error *error) {
    char absolute[PATH_MAX + 64];
    snprintf(absolute, sizeof absolute, "/proc/self/fd/%d/%s", place->root, path);
    return !gs_map(absolute, 1, mapping, error);
}

/* An inventory under any driver version's name; `path` first, if it can be used. */
static bool find_usable(const struct place *place, char *path, size_t size, const char *wanted) {
    struct gs_mapping mapping;
    struct gs_error error;
    if (map(place, wanted, &mapping, &error)) {
        gs_unmap(&mapping);
        snprintf(path, size, "%s", wanted);
        return true;
    }
    DIR *entries = place_entries(place->root, LIBRARIES, 0);
    if (!entries) {
        return false;
    }
    bool found = false;
    struct dirent *entry;
    while (!found && (entry = readdir(entries))) {
        if (strncmp(entry->d_name, GS_FILE_PREFIX, sizeof GS_FILE_PREFIX - 1)) {
            continue;
        }
        snprintf(path, size, LIBRARIES "/%s", entry->d_name);
        found = map(place, path, &mapping, &error);
        if (found) {
            gs_unmap(&mapping);
        }
    }
    closedir(entries);
    return found;
}

/* Tells those who have the old file mapped that nobody writes to it any more. Only the fields that every major version
 * has in the same place are touched. */
static void retire(const struct place *place, const char *path) {
    struct gs_header header;
    int fd = openat(place->root, path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    uint32_t retired = GS_FILE_RETIRED;
    if (pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        !memcmp(header.magic, GS_MAGIC, sizeof header.magic) &&
        pwrite(fd, &retired, sizeof retired, offsetof(struct gs_header, file_state)) < 0) {
        notice(path, "the old inventory could not be marked as retired");
    }
    close(fd);
}

static bool new_content(const struct gs_inventory *built, struct gs_inventory **content) {
    *content = malloc(gs_inventory_size());
    if (!*content) {
        problem_errno("inventory", "no memory for it");
        return false;
    }
    memcpy(*content, built, gs_inventory_size());
    char boot[sizeof built->header.boot_id];
    boot_id(boot, sizeof boot);
    gs_apply(*content, built, boot, clock_boot_ns());
    return true;
}

bool inventory_stage(const struct place *place, const struct gs_inventory *built,
                     const char *driver_version, struct inventory_file *file) {
    file->existing[0] = 0;
    file->staged = false;
    snprintf(file->wanted, sizeof file->wanted, LIBRARIES "/" GS_FILE_PREFIX "%s", driver_version);
    if (find_usable(place, file->existing, sizeof file->existing, file->wanted)) {
        return true;
    }
    file->existing[0] = 0;

    struct gs_inventory *content;
    if (!new_content(built, &content)) {
        return false;
    }
    /* All of it is written, none of it a hole: a store into a mapping must never find the disk full. */
    bool good = place_stage(place, file->wanted, content, gs_inventory_size(), 0644, &file->staged);
    free(content);
    return good;
}

static bool write_into(const struct place *place, const struct gs_inventory *built,
                       const char *path, uint32_t *changed) {
    struct gs_mapping mapping;
    struct gs_error error;
    char boot[sizeof built->header.boot_id];
    if (!map(place, path, &mapping, &error)) {
        problem(error.text, "%s", "");
        return false;
    }
    boot_id(boot, sizeof boot);
    *changed = gs_apply(mapping.inventory, built, boot, clock_boot_ns());
    gs_unmap(&mapping);
    return true;
}

static bool commit_locked(const struct place *place, const struct gs_inventory *built,
                          const struct inventory_file *file, uint32_t *changed) {
    *changed = 0;
    if (file->staged) {
        for (uint32_t i = 0; i < GS_SLOTS; i++) {
            struct gs_state state;
            gs_read_state(gs_gpu_at(built, i), &state);
            *changed += state.slot == GS_SLOT_PRESENT;
        }
        retire(place, file->wanted);
        return place_commit(place, file->wanted);
    }
    /* The same inode under the new version's name; the old name goes with the old library. */
    if (file->existing[0] && strcmp(file->existing, file->wanted)) {
        unlinkat(place->root, file->wanted, 0);
        if (linkat(place->root, file->existing, place->root, file->wanted, 0)) {
            problem_errno(file->wanted, "cannot be made a second name of the inventory");
            return false;
        }
    }
    return write_into(place, built, file->wanted, changed);
}

bool inventory_commit(const struct place *place, const struct gs_inventory *built,
                      const struct inventory_file *file, uint32_t *changed) {
    int lock = opened_lock(place->root, LIBRARIES);
    bool good = lock >= 0 && commit_locked(place, built, file, changed);
    if (lock >= 0) {
        close(lock);
    }
    return good;
}
