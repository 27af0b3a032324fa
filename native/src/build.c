/* SPDX-License-Identifier: Apache-2.0
 *
 * From a specification to an inventory; see build.h. */
#include "build.h"

#include <string.h>

#include "profile.h"
#include "text.h"
#include "uuid.h"

size_t gs_inventory_size(void) {
    return sizeof(struct gs_inventory);
}

/* "namespace/release/node/index": none of the first three may hold a slash, so no two GPUs share it. */
static void hash_gpu(const struct gs_spec *spec, uint32_t index, uint8_t hash[16]) {
    char name[sizeof spec->node + sizeof spec->release + sizeof spec->release_namespace + 16];
    struct gs_text text = gs_text_in(name, sizeof name);
    gs_text_add(&text, spec->release_namespace);
    gs_text_add(&text, "/");
    gs_text_add(&text, spec->release);
    gs_text_add(&text, "/");
    gs_text_add(&text, spec->node);
    gs_text_add(&text, "/");
    gs_text_add_number(&text, index);
    gs_uuid_v5(gs_uuid_namespace, name, text.used, hash);
}

void gs_gpu_uuid(const struct gs_spec *spec, uint32_t index, char uuid[80]) {
    static const char digits[] = "0123456789abcdef";
    uint8_t hash[16];
    char *out = uuid;
    hash_gpu(spec, index, hash);
    memcpy(out, "GPU-", 4);
    out += 4;
    for (unsigned i = 0; i < sizeof hash; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            *out++ = '-';
        }
        *out++ = digits[hash[i] >> 4];
        *out++ = digits[hash[i] & 15];
    }
    *out = '\0';
}

static void name_gpu(const struct gs_spec *spec, uint32_t index, struct gs_config *config,
                     struct gs_state *state) {
    uint8_t hash[16];
    uint32_t number = 0;
    hash_gpu(spec, index, hash);
    memcpy(&state->seed, hash, sizeof state->seed);
    if (spec->uuid_format == GS_UUID_PLAIN) {
        struct gs_text text = gs_text_in(config->uuid, sizeof config->uuid);
        gs_text_add(&text, "mock-gpu-");
        gs_text_add_number(&text, index);
    } else {
        gs_gpu_uuid(spec, index, config->uuid);
    }
    /* 13 digits, as boards of these models have; the last two tell the GPUs of a node apart. */
    for (unsigned i = 0; i < 4; i++) {
        number = number << 8 | hash[i];
    }
    struct gs_text serial = gs_text_in(config->serial, sizeof config->serial);
    gs_text_add_number(&serial, 1650000000000ull + (uint64_t)(number % 99999999u) * 100u + index);
}

static void fill_gpu(const struct gs_spec *spec, const struct gs_profile *profile, uint32_t index,
                     struct gs_gpu *gpu) {
    struct gs_config *config = &gpu->config[0];
    struct gs_state *state = &gpu->state[0];
    memset(gpu, 0, sizeof *gpu);
    *config = profile->config;
    *state = profile->state;
    if (spec->name[0]) {
        memcpy(config->name, spec->name, sizeof config->name);
    }
    if (spec->memory_mib) {
        config->memory_total = spec->memory_mib << 20;
        if (config->memory_reserved > config->memory_total / 8) {
            config->memory_reserved = config->memory_total / 8;
        }
    }
    config->minor = index;
    config->pci_domain = GS_PCI_DOMAIN;
    config->pci_bus = index + 1;
    config->pci_switch = index / 2;
    config->module_id = index % 8 + 1;
    name_gpu(spec, index, config, state);
}

int gs_build(const struct gs_spec *spec, void *buffer, size_t size, struct gs_error *error) {
    const struct gs_profile *profile = gs_profile_find(spec->profile);
    struct gs_inventory *inventory = buffer;
    struct gs_header *header = &inventory->header;
    if (!profile || spec->count > GS_SLOTS || size < sizeof *inventory) {
        gs_error_set(error, "inventory",
                     !profile                 ? "no such profile"
                     : spec->count > GS_SLOTS ? "more GPUs than slots"
                                              : "buffer too small",
                     profile ? NULL : spec->profile, "use the profile list, 0 to 64 GPUs");
        return -1;
    }
    memset(header, 0, sizeof *header);
    memcpy(header->magic, GS_MAGIC, sizeof header->magic);
    header->major = GS_MAJOR;
    header->minor = GS_MINOR;
    header->header_size = sizeof *header;
    header->gpu_offset = offsetof(struct gs_inventory, gpus);
    header->gpu_stride = sizeof(struct gs_gpu);
    header->gpu_slots = GS_SLOTS;
    header->file_size = sizeof *inventory;
    header->file_state = GS_FILE_LIVE;
    header->generation = 1;

    struct gs_node *node = &header->node[0];
    node->spec = *spec;
    memcpy(node->driver_version, spec->driver_version, sizeof node->driver_version);
    if (!node->driver_version[0]) {
        strcpy(node->driver_version, gs_default_driver_version);
    }
    node->cuda_version = gs_cuda_version_of_driver(node->driver_version);
    struct gs_text text = gs_text_in(node->nvml_version, sizeof node->nvml_version);
    gs_text_add_number(&text, (uint64_t)node->cuda_version / 1000);
    gs_text_add(&text, ".");
    gs_text_add(&text, node->driver_version);

    for (uint32_t i = 0; i < GS_SLOTS; i++) {
        if (i < spec->count) {
            fill_gpu(spec, profile, i, &inventory->gpus[i]);
        } else if (inventory->gpus[i].state[0].slot != GS_SLOT_EMPTY) {
            memset(&inventory->gpus[i], 0, sizeof inventory->gpus[i]);
        }
    }
    return 0;
}
