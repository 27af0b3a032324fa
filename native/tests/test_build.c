/* SPDX-License-Identifier: Apache-2.0
 *
 * From specification to inventory, and a new configuration into one in use. */
#include "check.h"
#include "profile.h"

static struct gs_spec spec_for(const char *profile, uint32_t count, const char *node,
                               const char *release) {
    struct gs_spec spec;
    gs_spec_default(&spec);
    strcpy(spec.profile, profile);
    strcpy(spec.node, node);
    strcpy(spec.release, release);
    strcpy(spec.release_namespace, "ns");
    spec.count = count;
    return spec;
}

static struct gs_inventory *build(const struct gs_spec *spec) {
    struct gs_error error = {""};
    struct gs_inventory *inventory = calloc(1, gs_inventory_size());
    CHECK_NUMBER(gs_build(spec, inventory, gs_inventory_size(), &error), 0);
    CHECK_NUMBER(gs_validate(inventory, gs_inventory_size(), "built", &error), 0);
    return inventory;
}

static const struct gs_config *config(const struct gs_inventory *inventory, uint32_t slot) {
    const struct gs_gpu *gpu = gs_gpu_at(inventory, slot);
    return &gpu->config[gs_flip(&gpu->config_flip)];
}

static const struct gs_state *state(const struct gs_inventory *inventory, uint32_t slot) {
    const struct gs_gpu *gpu = gs_gpu_at(inventory, slot);
    return &gpu->state[gs_flip(&gpu->state_flip)];
}

static void same_bytes(void) {
    struct gs_spec spec = spec_for("h100-80gb-hbm3", 8, "n1", "r1");
    struct gs_inventory *one = build(&spec), *other = build(&spec);
    CHECK(memcmp(one, other, gs_inventory_size()) == 0);
    /* Again into a buffer that held more: nothing of it is left. */
    struct gs_spec fewer = spec_for("tesla-t4", 2, "n1", "r1");
    struct gs_error error;
    struct gs_inventory *small = build(&fewer);
    CHECK_NUMBER(gs_build(&fewer, one, gs_inventory_size(), &error), 0);
    CHECK(memcmp(one, small, gs_inventory_size()) == 0);
    free(one);
    free(other);
    free(small);
}

/* Python's uuid5(uuid5(NAMESPACE_DNS, "gpu-sim.io"), "ns/r1/n1/3") */
static void names(void) {
    struct gs_spec spec = spec_for("tesla-t4", 4, "n1", "r1");
    struct gs_inventory *inventory = build(&spec);
    CHECK_TEXT(config(inventory, 3)->uuid, "GPU-17efb6c8-c663-56b4-aba0-a90e17730d0c");
    spec.uuid_format = GS_UUID_PLAIN;
    CHECK_NUMBER(gs_build(&spec, inventory, gs_inventory_size(), NULL), 0);
    CHECK_TEXT(config(inventory, 3)->uuid, "mock-gpu-3");
    free(inventory);

    char uuids[3 * 2 * 64][80];
    unsigned used = 0;
    static const char *const nodes[] = {"n1", "n2", "n3"}, *const releases[] = {"r1", "r2"};
    for (unsigned n = 0; n < 3; n++) {
        for (unsigned r = 0; r < 2; r++) {
            struct gs_spec one = spec_for("tesla-t4", 64, nodes[n], releases[r]);
            for (uint32_t i = 0; i < 64; i++) {
                gs_gpu_uuid(&one, i, uuids[used++]);
            }
        }
    }
    for (unsigned i = 0; i < used; i++) {
        for (unsigned j = 0; j < i; j++) {
            if (strcmp(uuids[i], uuids[j]) == 0) {
                CHECK_TEXT(uuids[i], "a UUID of its own");
            }
        }
    }
}

static void overrides(void) {
    struct gs_spec spec = spec_for("a100-sxm4-40gb", 3, "n1", "r1");
    spec.memory_mib = 7777;
    strcpy(spec.name, "Name");
    strcpy(spec.driver_version, "535.261.03");
    struct gs_inventory *inventory = build(&spec);
    CHECK_NUMBER(config(inventory, 2)->memory_total >> 20, 7777);
    CHECK_NUMBER(config(inventory, 2)->memory_reserved >> 20, 518); /* the profile's */
    CHECK_TEXT(config(inventory, 2)->name, "Name");
    CHECK_TEXT(inventory->header.node[0].driver_version, "535.261.03");
    CHECK_TEXT(inventory->header.node[0].nvml_version, "12.535.261.03");
    spec.memory_mib = 1; /* what the board reserves leaves room even then */
    CHECK_NUMBER(gs_build(&spec, inventory, gs_inventory_size(), NULL), 0);
    CHECK_NUMBER(config(inventory, 0)->memory_reserved, (1 << 20) / 8);
    free(inventory);
}

static void refusals(void) {
    struct gs_error error = {""};
    struct gs_spec spec = spec_for("none", 1, "n", "r");
    static struct gs_inventory buffer;
    CHECK_NUMBER(gs_build(&spec, &buffer, sizeof buffer, &error), -1);
    CHECK_TEXT(error.text,
               "inventory: no such profile, got none; use the profile list, 0 to 64 GPUs");
    spec = spec_for("tesla-t4", 65, "n", "r");
    CHECK_NUMBER(gs_build(&spec, &buffer, sizeof buffer, &error), -1);
    CHECK_TEXT(error.text, "inventory: more GPUs than slots; use the profile list, 0 to 64 GPUs");
    spec = spec_for("tesla-t4", 1, "n", "r");
    CHECK_NUMBER(gs_build(&spec, &buffer, sizeof buffer - 1, &error), -1);
    CHECK_TEXT(error.text, "inventory: buffer too small; use the profile list, 0 to 64 GPUs");
}

static void apply(void) {
    const uint64_t second = 1000000000u;
    struct gs_spec four = spec_for("a100-sxm4-40gb", 4, "n1", "r1"), two = four, changed = four;
    two.count = 2;
    changed.memory_mib = 5000;
    struct gs_inventory *live = build(&four), *built_two = build(&two), *built_four = build(&four),
                        *built_changed = build(&changed);
    CHECK_NUMBER(gs_apply(live, built_four, "boot-1", 10 * second), 0); /* nothing differs */
    CHECK_NUMBER(live->header.generation, 2);

    struct gs_state *kept = (struct gs_state *)(uintptr_t)state(live, 1);
    kept->power_limit = 123000;
    kept->energy = (struct gs_counter){500, 10 * second, 50};
    kept->lost = 1;
    kept->lost_from_ns = 900 * second;
    live->header.minor = 0; /* as a release before wrote it */
    CHECK_NUMBER(gs_apply(live, built_two, "boot-1", 14 * second), 2);
    CHECK_NUMBER(state(live, 1)->slot, GS_SLOT_PRESENT);
    CHECK_NUMBER(state(live, 1)->power_limit, 123000);
    CHECK_NUMBER(state(live, 1)->energy.value, 700); /* four seconds of 50 */
    CHECK_NUMBER(state(live, 1)->energy.at_ns, 14 * second);
    CHECK_NUMBER(state(live, 1)->lost_from_ns, 900 * second);
    CHECK_NUMBER(live->header.minor, GS_MINOR);
    CHECK_NUMBER(state(live, 2)->slot, GS_SLOT_REMOVED);
    CHECK_NUMBER(state(live, 3)->slot, GS_SLOT_REMOVED);
    CHECK_NUMBER(live->header.node[gs_flip(&live->header.node_flip)].spec.count, 2);
    CHECK_NUMBER(gs_apply(live, built_two, "boot-1", 14 * second), 0);

    CHECK_NUMBER(gs_apply(live, built_four, "boot-2", second), 2); /* the same boards are back */
    CHECK_NUMBER(state(live, 3)->slot, GS_SLOT_PRESENT);
    CHECK_NUMBER(state(live, 1)->energy.value, 700); /* another boot: goes on from its last value */
    CHECK_NUMBER(state(live, 1)->energy.at_ns, second);
    CHECK_NUMBER(state(live, 1)->lost, 1);
    CHECK_NUMBER(state(live, 1)->lost_from_ns, 0); /* that moment was on the other boot's clock */
    CHECK_TEXT(live->header.boot_id, "boot-2");

    CHECK_NUMBER(gs_apply(live, built_changed, "boot-2", 2 * second), 4);
    CHECK_NUMBER(config(live, 1)->memory_total >> 20, 5000);
    CHECK_NUMBER(state(live, 1)->slot, GS_SLOT_PRESENT);
    CHECK_NUMBER(state(live, 1)->power_limit, 400000); /* another board starts afresh */
    free(live);
    free(built_two);
    free(built_four);
    free(built_changed);
}

int main(void) {
    same_bytes();
    names();
    overrides();
    refusals();
    apply();
    return check_result();
}
