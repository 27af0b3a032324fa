/* SPDX-License-Identifier: Apache-2.0
 *
 * Inventories whose header is right and whose content is not: an init refuses them or a client survives them. */
#include <sys/stat.h>

#include "check.h"

/* More GPUs than the file has places for. */
static void too_many(void) {
    static const uint32_t counts[] = {65, 200, 0xFFFFFFFF};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct gs_inventory *inventory = check_inventory("tesla-t4", 3);
        inventory->header.node[0].spec.count = counts[i];
        struct gs_error error = {""};
        char wanted[200];
        snprintf(wanted, sizeof wanted, "f: more GPUs than slots, got %u; run the installer again",
                 counts[i]);
        CHECK_NUMBER(gs_validate(inventory, gs_inventory_size(), "f", &error), -1);
        CHECK_TEXT(error.text, wanted);
        CHECK_NUMBER(nvmlInit_v2(), NVML_ERROR_DRIVER_NOT_LOADED);
        check_remove_inventory();
    }
}

/* Texts without an end, in every field; no memory clock ends the list, and no step leads from one to the next. */
static void no_ends(void) {
    struct gs_inventory *inventory = check_inventory("tesla-t4", 3);
    struct gs_config *config = &inventory->gpus[1].config[0];
    struct gs_node *node = &inventory->header.node[0];
    memset(config->name, 'A', offsetof(struct gs_config, features));
    memset(node->driver_version, 'B', sizeof node->driver_version);
    memset(node->nvml_version, 'B', sizeof node->nvml_version);
    for (unsigned i = 0; i < GS_MEM_CLOCKS; i++) {
        config->mem_clocks[i] = (struct gs_mem_clock){5000 + i, 1000, 900, 0};
    }
    config->mem_clocks[2] = (struct gs_mem_clock){5002, 700, 800, 15};
    config->nvlinks = 0xFFFFFFFF;
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    nvmlDevice_t device = check_device(1);
    nvmlReturn_t (*const texts[])(nvmlDevice_t, char *,
                                  unsigned) = {nvmlDeviceGetName,
                                               nvmlDeviceGetUUID,
                                               nvmlDeviceGetSerial,
                                               nvmlDeviceGetVbiosVersion,
                                               nvmlDeviceGetBoardPartNumber,
                                               nvmlDeviceGetInforomImageVersion};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[96];
        CHECK_NUMBER(texts[i](device, text, sizeof text), NVML_SUCCESS);
        CHECK(strlen(text) < sizeof text && strspn(text, "A") == strlen(text));
    }
    char version[80];
    CHECK_NUMBER(nvmlSystemGetDriverVersion(version, sizeof version), NVML_SUCCESS);
    CHECK_NUMBER(strlen(version), sizeof version - 1);
    nvmlDevice_t found = NULL;
    CHECK_NUMBER(nvmlDeviceGetHandleByUUID("AAAA", &found), NVML_ERROR_NOT_FOUND);
    unsigned clocks[8], count = 8, one = 1;
    CHECK_NUMBER(nvmlDeviceGetSupportedMemoryClocks(device, &count, clocks), NVML_SUCCESS);
    CHECK_NUMBER(count, GS_MEM_CLOCKS);
    CHECK_NUMBER(nvmlDeviceGetSupportedGraphicsClocks(device, 5001, &one, clocks), NVML_SUCCESS);
    CHECK_NUMBER(one, 1);
    CHECK_NUMBER(clocks[0], 1000);
    CHECK_NUMBER(nvmlDeviceGetSupportedGraphicsClocks(device, 5002, &one, clocks), NVML_SUCCESS);
    CHECK_NUMBER(one, 1);
    CHECK_NUMBER(clocks[0], 700);
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
    check_remove_inventory();
}

/* What is no file must neither block nor be mapped. */
static void no_file(void) {
    char path[] = "/tmp/gpu-sim-test-XXXXXX";
    CHECK(mkdtemp(path) != NULL);
    setenv("NVML_MOCK_INVENTORY", path, 1);
    CHECK_NUMBER(nvmlInit_v2(), NVML_ERROR_DRIVER_NOT_LOADED);
    CHECK_NUMBER(rmdir(path), 0);
    CHECK_NUMBER(mkfifo(path, 0600), 0);
    alarm(10); /* opening a pipe for reading waits for a writer */
    CHECK_NUMBER(nvmlInit_v2(), NVML_ERROR_DRIVER_NOT_LOADED);
    alarm(0);
    CHECK_NUMBER(unlink(path), 0);
    unsetenv("NVML_MOCK_INVENTORY");
}

int main(void) {
    too_many();
    no_ends();
    no_file();
    return check_result();
}
