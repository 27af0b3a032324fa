/* SPDX-License-Identifier: Apache-2.0
 *
 * Strict parsing of what a user asks for; see spec.h. */
#include "spec.h"

#include <stdlib.h>
#include <string.h>

#include "profile.h"
#include "text.h"

const struct gs_key_name gs_key_names[GS_KEYS] = {
    [GS_KEY_COUNT] = {"NVML_MOCK_DEVICE_COUNT", "--count"},
    [GS_KEY_MEMORY_MIB] = {"NVML_MOCK_MEMORY_SIZE_MB", "--memory-mib"},
    [GS_KEY_NAME] = {"NVML_MOCK_DEVICE_NAME", "--name"},
    [GS_KEY_PROFILE] = {"NVML_MOCK_PROFILE", "--profile"},
    [GS_KEY_DRIVER_VERSION] = {"NVML_MOCK_DRIVER_VERSION", "--driver-version"},
    [GS_KEY_UUID_FORMAT] = {"NVML_MOCK_UUID_FORMAT", "--uuid-format"},
};

/* Names that NVIDIA's go-nvlib takes for an integrated GPU, after which the device plugin does not
 * look for NVML devices at all. */
static const char *const integrated[] = {"(nvgpu)", "NVIDIA Thor"};

void gs_error_set(struct gs_error *error, const char *source, const char *what, const char *value,
                  const char *remedy) {
    struct gs_text text = gs_text_in(error->text, sizeof error->text);
    gs_text_add(&text, source);
    gs_text_add(&text, ": ");
    gs_text_add(&text, what);
    if (value) {
        gs_text_add(&text, ", got ");
        gs_text_add_foreign(&text, value);
    }
    gs_text_add(&text, "; ");
    gs_text_add(&text, remedy);
}

void gs_spec_default(struct gs_spec *spec) {
    memset(spec, 0, sizeof *spec);
    spec->count = 4;
    spec->uuid_format = GS_UUID_RFC4122;
    strcpy(spec->profile, gs_profiles[0].name);
}

int gs_parse_number(const char *text, uint64_t lowest, uint64_t highest, uint64_t *number) {
    uint64_t value = 0;
    if (!*text) {
        return -1;
    }
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > (UINT64_MAX - 9) / 10) {
            return -1;
        }
        value = value * 10 + (uint64_t)(*text - '0');
    }
    if (value < lowest || value > highest) {
        return -1;
    }
    *number = value;
    return 0;
}

static int is_driver_version(const char *text) {
    int dots = 0;
    size_t length = strlen(text);
    if (length < 3 || length > 31 || text[0] == '.' || text[length - 1] == '.') {
        return 0;
    }
    for (; *text; text++) {
        if (*text == '.') {
            dots++;
            if (text[1] == '.') {
                return 0;
            }
        } else if (*text < '0' || *text > '9') {
            return 0;
        }
    }
    return dots == 1 || dots == 2;
}

static int refuse(struct gs_error *error, const char *source, const char *what, const char *value,
                  const char *remedy) {
    gs_error_set(error, source, what, value, remedy);
    return -1;
}

static int set_name(struct gs_spec *spec, const char *source, const char *value,
                    struct gs_error *error) {
    size_t length = strlen(value);
    int printable = length >= 1 && length < sizeof spec->name;
    for (size_t i = 0; i < length; i++) {
        printable &= value[i] >= ' ' && value[i] <= '~';
    }
    if (!printable) {
        return refuse(error, source, "not a device name", value,
                      "use 1 to 95 printable ASCII characters");
    }
    for (size_t i = 0; i < sizeof integrated / sizeof *integrated; i++) {
        if (strstr(value, integrated[i])) {
            return refuse(error, source, "a name that NVIDIA's tools take for an integrated GPU",
                          value, "leave out \"(nvgpu)\" and \"NVIDIA Thor\"");
        }
    }
    strcpy(spec->name, value);
    return 0;
}

static int set_profile(struct gs_spec *spec, const char *source, const char *value,
                       struct gs_error *error) {
    char remedy[256];
    struct gs_text text = gs_text_in(remedy, sizeof remedy);
    if (gs_profile_find(value)) {
        strcpy(spec->profile, value);
        return 0;
    }
    gs_text_add(&text, "use one of ");
    for (uint32_t i = 0; i < gs_profile_count; i++) {
        gs_text_add(&text, i ? ", " : "");
        gs_text_add(&text, gs_profiles[i].name);
    }
    return refuse(error, source, "no such profile", value, remedy);
}

int gs_spec_set(struct gs_spec *spec, enum gs_key key, const char *source, const char *value,
                struct gs_error *error) {
    uint64_t number = 0;
    switch (key) {
    case GS_KEY_COUNT:
        if (gs_parse_number(value, 0, GS_SLOTS, &number)) {
            return refuse(error, source, "not a number of GPUs", value, "use 0 to 64");
        }
        spec->count = (uint32_t)number;
        return 0;
    case GS_KEY_MEMORY_MIB:
        if (gs_parse_number(value, 1, GS_MEMORY_MIB_MAX, &number)) {
            return refuse(error, source, "not a memory size in MiB", value, "use 1 to 16777216");
        }
        spec->memory_mib = number;
        return 0;
    case GS_KEY_NAME:
        return set_name(spec, source, value, error);
    case GS_KEY_PROFILE:
        return set_profile(spec, source, value, error);
    case GS_KEY_DRIVER_VERSION:
        if (!is_driver_version(value)) {
            return refuse(error, source, "not a driver version", value,
                          "use two or three numbers with dots, such as 550.163.01");
        }
        strcpy(spec->driver_version, value);
        return 0;
    case GS_KEY_UUID_FORMAT:
        if (strcmp(value, "rfc4122") == 0 || strcmp(value, "plain") == 0) {
            spec->uuid_format = value[0] == 'p' ? GS_UUID_PLAIN : GS_UUID_RFC4122;
            return 0;
        }
        return refuse(error, source, "not a UUID format", value, "use rfc4122 or plain");
    case GS_KEYS:
        break;
    }
    return refuse(error, source, "not a known parameter", value, "leave it out");
}

int gs_spec_from_environment(struct gs_spec *spec, struct gs_error *error) {
    int taken = 0;
    for (unsigned key = 0; key < GS_KEYS; key++) {
        const char *name = gs_key_names[key].environment;
        const char *value = getenv(name);
        if (!value || !*value) {
            continue;
        }
        if (gs_spec_set(spec, (enum gs_key)key, name, value, error)) {
            return -1;
        }
        taken++;
    }
    return taken;
}
