/* SPDX-License-Identifier: Apache-2.0
 * `gpu-sim install`: the init container of the node's pod. Checks all input, claims the node, stages what needs space,
 * then changes one thing after another, each at once: killed anywhere, the next run finishes, and whoever uses the old
 * state keeps it. Run again with the same input it changes nothing. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../src/build.h"
#include "../src/reader.h"
#include "../src/spec.h"
#include "arguments.h"
#include "commands.h"
#include "driver_root.h"
#include "inventory_file.h"
#include "layout.h"
#include "owner.h"
#include "problem.h"

struct request {
    const char *root, *host_root, *keys[GS_KEYS], *release, *namespace, *node, *pod, *strategies,
        *plugin_dir, *wait;
    const char *library, *proc, *host_usr, *termination_log;
    bool allow_foreign;
};

static bool parse(int count, char **words, struct request *r) {
    *r = (struct request){.strategies = "envvar,cdi-cri",
                          .wait = "20",
                          .library = "/usr/lib/gpu-sim/libnvidia-ml.so",
                          .proc = "/proc",
                          .termination_log = "/dev/termination-log"};
    const struct option options[] = {
        {"--root", &r->root, NULL, true},
        {"--host-root", &r->host_root, NULL, false},
        {gs_key_names[GS_KEY_COUNT].flag, &r->keys[GS_KEY_COUNT], NULL, true},
        {gs_key_names[GS_KEY_PROFILE].flag, &r->keys[GS_KEY_PROFILE], NULL, false},
        {gs_key_names[GS_KEY_MEMORY_MIB].flag, &r->keys[GS_KEY_MEMORY_MIB], NULL, false},
        {gs_key_names[GS_KEY_NAME].flag, &r->keys[GS_KEY_NAME], NULL, false},
        {gs_key_names[GS_KEY_DRIVER_VERSION].flag, &r->keys[GS_KEY_DRIVER_VERSION], NULL, false},
        {gs_key_names[GS_KEY_UUID_FORMAT].flag, &r->keys[GS_KEY_UUID_FORMAT], NULL, false},
        {"--release", &r->release, NULL, true},
        {"--namespace", &r->namespace, NULL, true},
        {"--node", &r->node, NULL, true},
        {"--pod", &r->pod, NULL, true},
        {"--device-list-strategy", &r->strategies, NULL, false},
        {"--plugin-dir", &r->plugin_dir, NULL, false},
        {"--allow-foreign", NULL, &r->allow_foreign, false},
        {"--wait", &r->wait, NULL, false},
        {"--library", &r->library, NULL, false},
        {"--proc", &r->proc, NULL, false},
        {"--host-usr", &r->host_usr, NULL, false},
        {"--termination-log", &r->termination_log, NULL, false},
    };
    bool good = arguments_parse("install", count, words, options, OPTION_COUNT(options));
    if (!r->host_root) {
        r->host_root = r->root;
    }
    return good;
}

/* Names come from Kubernetes, so they are short and plain; anything else would break the owner file's lines. */
static void copy_name(const char *option, const char *value, char *to, size_t size) {
    if (strlen(value) >= size || value[strcspn(value, " \t\r\n=")]) {
        problem("install",
                "%s must be a Kubernetes name of less than %zu characters, got %s; pass its "
                "metadata.name",
                option, size, value);
    } else {
        strcpy(to, value);
    }
}

static void check(const struct request *r, struct gs_spec *spec, struct claim *claim) {
    struct gs_error error;
    uint64_t wait;
    gs_spec_default(spec);
    for (int key = 0; key < GS_KEYS; key++) {
        if (r->keys[key] &&
            gs_spec_set(spec, (enum gs_key)key, gs_key_names[key].flag, r->keys[key], &error)) {
            problem("install", "%s", error.text);
        }
    }
    if (gs_parse_number(r->wait, 0, 600, &wait)) {
        problem("install", "--wait must be 0 to 600 seconds, got %s; leave it out for 20", r->wait);
    }
    if (!strategies_valid(r->strategies)) {
        problem("install",
                "--device-list-strategy must be a list of envvar, cdi-cri, cdi-annotations, "
                "volume-mounts, got %s; "
                "leave it out for envvar,cdi-cri",
                r->strategies);
    }
    copy_name("--release", r->release, spec->release, sizeof spec->release);
    copy_name("--namespace", r->namespace, spec->release_namespace, sizeof spec->release_namespace);
    copy_name("--node", r->node, spec->node, sizeof spec->node);

    *claim = (struct claim){.node = r->node,
                            .plugin_dir = r->allow_foreign ? NULL : r->plugin_dir,
                            .proc = r->allow_foreign ? NULL : r->proc,
                            .host_usr = r->allow_foreign ? NULL : r->host_usr,
                            .wait_seconds = (int)wait};
    copy_name("--pod", r->pod, claim->us.pod, sizeof claim->us.pod);
    strcpy(claim->us.release, spec->release);
    strcpy(claim->us.namespace, spec->release_namespace);
    time_t now = time(NULL);
    struct tm utc;
    strftime(claim->us.since, sizeof claim->us.since, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
}

/* Stages and commits; the node is claimed. */
static int place_all(const struct place *place, const struct request *r,
                     const struct gs_inventory *built, int owner, const struct owner *us) {
    struct gs_node node;
    struct gs_config first;
    gs_read_node(built, &node);
    gs_read_config(gs_gpu_at(built, 0), &first);

    struct driver_root driver = {
        .host_root = r->host_root, .strategies = r->strategies, .library = r->library};
    struct inventory_file inventory;
    uint32_t changed;
    bool good = driver_root_stage(place, &driver, node.driver_version) &
                inventory_stage(place, built, node.driver_version, &inventory);
    if (!good || !owner_write(place, owner, us)) {
        driver_root_discard(place, &driver);
        place_discard(place, inventory.wanted);
        return EXIT_MACHINE;
    }
    if (!driver_root_make_devices(place, &driver, built) ||
        !inventory_commit(place, built, &inventory, &changed) ||
        !driver_root_commit(place, &driver, built)) {
        return EXIT_MACHINE;
    }
    printf("gpu-sim: node %s: %u x %s (%llu MiB), driver %s, in %s; %u changed\n", r->node,
           node.spec.count, first.name, (unsigned long long)(first.memory_total >> 20),
           node.driver_version, r->host_root, changed);
    return EXIT_FINE;
}

static int install(const struct request *r) {
    struct gs_spec spec;
    struct claim claim;
    struct gs_error error;
    check(r, &spec, &claim);
    if (problem_count()) {
        return EXIT_INPUT;
    }

    struct gs_inventory *built = calloc(1, gs_inventory_size());
    if (!built || gs_build(&spec, built, gs_inventory_size(), &error)) {
        problem("install", "%s", built ? error.text : "no memory for the inventory");
        free(built);
        return EXIT_INPUT;
    }
    int code = EXIT_MACHINE, owner = OWNER_MOVED;
    struct place place;
    umask(022);
    while (owner == OWNER_MOVED && place_open(&place, r->root, r->host_root)) {
        owner = owner_claim(&place, &claim);
        code = owner == OWNER_MOVED ? EXIT_MACHINE
               : owner < 0          ? EXIT_INPUT
                                    : place_all(&place, r, built, owner, &claim.us);
        if (owner >= 0) {
            owner_let_go(&place, owner);
        }
        close(place.root);
    }
    free(built);
    return code;
}

int command_install(int count, char **words) {
    struct request request;
    int code = parse(count, words, &request) ? install(&request) : EXIT_USAGE;
    if (code != EXIT_FINE) {
        problem_termination_message(request.termination_log);
    }
    return code;
}
