/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding files without allocating and without the loader's lock: see discover.h. Own names come from
 * /proc/self/maps, since dladdr() binds to a newer glibc and dl_iterate_phdr() deadlocks after fork. */
#include "discover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "text.h"

static const char *const library_folders[] = {"/usr/lib64",
                                              "/usr/lib/x86_64-linux-gnu",
                                              "/usr/lib/aarch64-linux-gnu",
                                              "/lib64",
                                              "/lib/x86_64-linux-gnu",
                                              "/lib/aarch64-linux-gnu",
                                              "/usr/lib",
                                              "/lib"};
enum { LIBRARY_FOLDERS = sizeof library_folders / sizeof *library_folders };

static char own_folder[GS_PATH_SIZE]; /* "" until it is known */

static uint64_t parse_hex(const char **at) {
    uint64_t value = 0;
    for (;; (*at)++) {
        char c = **at;
        if (c >= '0' && c <= '9') {
            value = value << 4 | (uint64_t)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            value = value << 4 | (uint64_t)(c - 'a' + 10);
        } else {
            return value;
        }
    }
}

/* "start-end perms offset dev inode   path": copies the folder of path if the address is inside. */
static int match_line(const char *line, uintptr_t address, char *folder) {
    const char *at = line;
    uint64_t start = parse_hex(&at);
    uint64_t end = *at == '-' ? (at++, parse_hex(&at)) : 0;
    const char *path = strchr(at, '/');
    if (address < start || address >= end || !path) {
        return 0;
    }
    const char *slash = strrchr(path, '/'); /* " (deleted)" may follow the name: the folder stays */
    memcpy(folder, path, (size_t)(slash - path));
    folder[slash - path] = '\0';
    return 1;
}

static int read_maps(char *folder) {
    static const char here = 0;
    char line[GS_PATH_SIZE];
    char block[4096];
    size_t used = 0;
    ssize_t got = 0;
    int found = 0;
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return -1;
    }
    while (!found && (got = read(file, block, sizeof block)) > 0) {
        for (ssize_t i = 0; i < got && !found; i++) {
            if (block[i] != '\n') {
                if (used < sizeof line - 1) {
                    line[used++] = block[i];
                }
                continue;
            }
            line[used] = '\0';
            used = 0;
            found = match_line(line, (uintptr_t)&here, folder);
        }
    }
    close(file);
    return found ? 0 : -1;
}

int gs_own_folder(char folder[GS_PATH_SIZE]) {
    if (!own_folder[0] && read_maps(own_folder)) {
        own_folder[0] = '\0';
        return -1;
    }
    strcpy(folder, own_folder);
    return 0;
}

static int ends_with(const char *text, const char *end) {
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

int gs_root_of(const char *folder, char root[GS_PATH_SIZE]) {
    for (unsigned i = 0; i < LIBRARY_FOLDERS; i++) {
        if (ends_with(folder, library_folders[i])) {
            size_t length = strlen(folder) - strlen(library_folders[i]);
            memcpy(root, folder, length);
            root[length] = '\0';
            return 0;
        }
    }
    return -1;
}

int gs_node_exists(const char *root, uint32_t minor) {
    char path[GS_PATH_SIZE];
    struct gs_text text = gs_text_in(path, sizeof path);
    gs_text_add(&text, root);
    gs_text_add(&text, "/dev/nvidia");
    gs_text_add_number(&text, minor);
    return !text.cut && access(path, F_OK) == 0;
}

/* The kernel's directory entry: getdents64 needs no allocation, opendir does. */
struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

int gs_find(const char *directory, char *path, size_t size, struct gs_error *error) {
    _Alignas(8) char block[2048];
    char best[256] = "";
    struct gs_error refused = {""};
    long got = 0;
    int folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) {
        return 1;
    }
    while ((got = syscall(SYS_getdents64, folder, block, sizeof block)) > 0) {
        for (long at = 0; at < got;) {
            const struct entry *one = (const void *)(block + at);
            at += one->length;
            if (strncmp(one->name, GS_FILE_PREFIX, strlen(GS_FILE_PREFIX)) != 0 ||
                strcmp(one->name, best) <= 0 || strlen(one->name) >= sizeof best) {
                continue;
            }
            struct gs_text text = gs_text_in(path, size);
            gs_text_add(&text, directory);
            gs_text_add(&text, "/");
            gs_text_add(&text, one->name);
            struct gs_mapping mapping;
            if (text.cut || gs_map(path, 0, &mapping, &refused)) {
                continue; /* told below if no other will do */
            }
            gs_unmap(&mapping);
            strcpy(best, one->name);
        }
    }
    close(folder);
    if (!best[0]) {
        if (error && refused.text[0]) {
            *error = refused;
        }
        return refused.text[0] ? -1 : 1;
    }
    struct gs_text text = gs_text_in(path, size);
    gs_text_add(&text, directory);
    gs_text_add(&text, "/");
    gs_text_add(&text, best);
    return 0;
}

int gs_discover(char path[GS_PATH_SIZE], struct gs_error *error) {
    char folder[GS_PATH_SIZE], other[GS_PATH_SIZE];
    const char *named = getenv("NVML_MOCK_INVENTORY");
    if (named && *named) {
        struct gs_text text = gs_text_in(path, GS_PATH_SIZE);
        gs_text_add(&text, named);
        return 0;
    }
    if (gs_own_folder(folder)) {
        return 1;
    }
    int found = gs_find(folder, path, GS_PATH_SIZE, error);
    if (found != 1 || !ends_with(folder, "/usr/bin")) {
        return found;
    }
    folder[strlen(folder) - strlen("/usr/bin")] = '\0';
    for (unsigned i = 0; i < LIBRARY_FOLDERS && found == 1; i++) {
        struct gs_text text = gs_text_in(other, sizeof other);
        gs_text_add(&text, folder);
        gs_text_add(&text, library_folders[i]);
        found = text.cut ? 1 : gs_find(other, path, GS_PATH_SIZE, error);
    }
    return found;
}
