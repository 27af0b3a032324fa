/* SPDX-License-Identifier: Apache-2.0
 * Stages the driver folder: all that needs space or may not work on this host, before anything is changed; see
 * driver_root.h. */
#include "driver_root.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "layout.h"
#include "problem.h"

bool strategies_valid(const char *list) {
    static const char *const known[] = {"envvar", "cdi-cri", "cdi-annotations", "volume-mounts"};
    for (const char *p = list;;) {
        size_t length = strcspn(p, ",");
        bool good = false;
        for (size_t i = 0; i < 4; i++) {
            good |= strlen(known[i]) == length && !memcmp(known[i], p, length);
        }
        if (!good) {
            return false;
        }
        if (!p[length]) {
            return true;
        }
        p += length + 1;
    }
}

static bool stage_library(const struct place *place, struct driver_root *driver,
                          const char *version) {
    size_t size;
    char *content = place_read(AT_FDCWD, driver->library, &size);
    if (!content) {
        problem_errno(
            driver->library,
            "the library cannot be read; use the gpu-sim image, or name a file with --library");
        return false;
    }
    snprintf(driver->library_path, sizeof driver->library_path, LIBRARIES "/" LIBRARY_PREFIX "%s",
             version);
    bool good = size > 4 && !memcmp(content, "\177ELF", 4);
    if (!good) {
        problem(driver->library,
                "not a shared library; use the gpu-sim image, or name a file with --library");
    }
    good =
        good && place_stage(place, driver->library_path, content, size, 0755, &driver->new_library);
    free(content);
    return good;
}

/* Runs the program from where it will be: a file system mounted noexec says no, whatever its flags look like from in
 * here. */
static bool runs(const struct place *place, const char *path) {
    char absolute[PATH_MAX + 64];
    snprintf(absolute, sizeof absolute, "/proc/self/fd/%d/%s", place->root, path);
    pid_t child = fork();
    if (child == 0) {
        int null = open("/dev/null", O_WRONLY);
        if (null >= 0) {
            dup2(null, STDOUT_FILENO);
        }
        execl(absolute, "gpu-sim", "--version", (char *)NULL);
        _exit(127);
    }
    int status;
    while (child > 0 && waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return false;
        }
    }
    return child > 0 && WIFEXITED(status) && !WEXITSTATUS(status);
}

static bool stage_programs(const struct place *place, struct driver_root *driver) {
    size_t size;
    char *content = place_read(AT_FDCWD, "/proc/self/exe", &size);
    if (!content) {
        problem_errno("/proc/self/exe", "the program cannot read itself");
        return false;
    }
    bool good = place_stage(place, PROGRAM, content, size, 0755, &driver->new_programs);
    free(content);
    if (!good) {
        return false;
    }
    char staged[PATH_MAX];
    place_staged_name(PROGRAM, staged, sizeof staged);
    driver->can_execute = runs(place, driver->new_programs ? staged : PROGRAM);
    if (!driver->can_execute) {
        notice(
            driver->host_root,
            "programs cannot be run from there (mounted noexec?), so GPU pods get "
            "NVIDIA_VISIBLE_DEVICES only: no "
            "devices, library or nvidia-smi; mount it without noexec or choose another hostRoot");
    }
    return true;
}

static void try_devices(const struct place *place, struct driver_root *driver) {
    static const char probe[] = DEVICES "/.probe";
    unlinkat(place->root, probe, 0);
    driver->can_make_devices = place_device(place, probe);
    if (!driver->can_make_devices) {
        notice(driver->host_root,
               "device nodes cannot be made there (%s), so GPU pods get NVIDIA_VISIBLE_DEVICES "
               "only: no devices, library "
               "or nvidia-smi; give the installer the capability MKNOD outside of user namespaces",
               strerror(errno));
    }
    unlinkat(place->root, probe, 0);
}

/* The strategies asked for, less those that cannot work here; a runtime without CDI ignores what it does not know. */
static bool stage_config(const struct place *place, struct driver_root *driver) {
    bool cdi = driver->can_execute && driver->can_make_devices;
    char list[128] = "", text[512];
    for (const char *p = driver->strategies; *p;
         p += p[strcspn(p, ",")] ? strcspn(p, ",") + 1 : strlen(p)) {
        if (!cdi && !strncmp(p, "cdi-", 4)) {
            continue;
        }
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s\"%.*s\"", used ? ", " : "",
                 (int)strcspn(p, ","), p);
    }
    int length =
        snprintf(text, sizeof text,
                 "# Written by gpu-sim install for this node; changes are lost with its next run.\n"
                 "version: v1\nflags:\n  plugin:\n    deviceListStrategy: [%s]\n",
                 *list ? list : "\"envvar\"");
    return place_stage(place, PLUGIN_CONFIG, text, (size_t)length, 0644, &driver->new_config);
}

bool driver_root_stage(const struct place *place, struct driver_root *driver,
                       const char *driver_version) {
    static const char *const directories[] = {LIBRARIES, PROGRAMS, DEVICES,
                                              PLUGIN_CONFIG_DIRECTORY};
    for (size_t i = 0; i < sizeof directories / sizeof *directories; i++) {
        if (!place_directory(place, directories[i])) {
            return false;
        }
    }
    if (!stage_library(place, driver, driver_version) || !stage_programs(place, driver)) {
        return false;
    }
    try_devices(place, driver);
    return stage_config(place, driver);
}

void driver_root_discard(const struct place *place, const struct driver_root *driver) {
    if (driver->library_path[0]) {
        place_discard(place, driver->library_path);
    }
    place_discard(place, PROGRAM);
    place_discard(place, PLUGIN_CONFIG);
}
