/* SPDX-License-Identifier: Apache-2.0
 *
 * What the programs of this folder share: checks that name file, line and values, buffers that end at a page
 * nobody may touch, and inventories in a folder of their own. */
#ifndef GPU_SIM_CHECK_H
#define GPU_SIM_CHECK_H

#include <nvml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "build.h"
#include "reader.h"

static int check_failures;
static int check_count;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        check_count++;                                                                             \
        if (!(condition)) {                                                                        \
            check_failures++;                                                                      \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);              \
        }                                                                                          \
    } while (0)

#define CHECK_NUMBER(found, wanted)                                                                \
    do {                                                                                           \
        long long found_ = (long long)(found), wanted_ = (long long)(wanted);                      \
        check_count++;                                                                             \
        if (found_ != wanted_) {                                                                   \
            check_failures++;                                                                      \
            fprintf(stderr, "%s:%d: %s is %lld, wanted %lld\n", __FILE__, __LINE__, #found,        \
                    found_, wanted_);                                                              \
        }                                                                                          \
    } while (0)

#define CHECK_TEXT(found, wanted)                                                                  \
    do {                                                                                           \
        const char *found_ = (found), *wanted_ = (wanted);                                         \
        check_count++;                                                                             \
        if (strcmp(found_, wanted_) != 0) {                                                        \
            check_failures++;                                                                      \
            fprintf(stderr, "%s:%d: %s is \"%s\", wanted \"%s\"\n", __FILE__, __LINE__, #found,    \
                    found_, wanted_);                                                              \
        }                                                                                          \
    } while (0)

/* To be returned by main. A program that checked nothing has failed. */
static inline int check_result(void) {
    printf("%d checks, %d failed\n", check_count, check_failures);
    return check_failures || !check_count;
}

/* size bytes that end where the next access would end the program; the bytes before are 0xA5. */
static inline void *check_guarded(size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = (size + page - 1) / page * page;
    char *start =
        mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED || mprotect(start + room, page, PROT_NONE)) {
        perror("guarded buffer");
        exit(2);
    }
    memset(start, 0xA5, room);
    return start + room - size;
}

static inline int check_untouched(const void *buffer, size_t size) {
    const unsigned char *bytes = buffer;
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 0xA5) {
            return 0;
        }
    }
    return 1;
}

/* A live inventory in a new file, mapped for writing; clients find it by $NVML_MOCK_INVENTORY. */
static inline struct gs_inventory *check_inventory(const char *profile, uint32_t count) {
    static char path[64];
    static struct gs_mapping mapping;
    struct gs_error error = {""};
    struct gs_spec spec;
    strcpy(path, "/tmp/gpu-sim-test-XXXXXX");
    int file = mkstemp(path);
    gs_spec_default(&spec);
    strcpy(spec.profile, profile);
    strcpy(spec.node, "test-node");
    spec.count = count;
    void *data = calloc(1, gs_inventory_size());
    if (file < 0 || !data || gs_build(&spec, data, gs_inventory_size(), &error) ||
        write(file, data, gs_inventory_size()) != (ssize_t)gs_inventory_size() ||
        gs_map(path, 1, &mapping, &error)) {
        fprintf(stderr, "no inventory: %s\n", error.text);
        exit(2);
    }
    close(file);
    free(data);
    setenv("NVML_MOCK_INVENTORY", path, 1);
    return mapping.inventory;
}

/* After the last init: the file has served. */
static inline void check_remove_inventory(void) {
    unlink(getenv("NVML_MOCK_INVENTORY"));
    unsetenv("NVML_MOCK_INVENTORY");
}

static inline nvmlDevice_t check_device(unsigned index) {
    nvmlDevice_t device = NULL;
    CHECK_NUMBER(nvmlDeviceGetHandleByIndex_v2(index, &device), NVML_SUCCESS);
    return device;
}

/* A thread that comes and goes as a client while the int that it is given is not 0. */
static inline void *check_init_loop(void *running) {
    while (__atomic_load_n((int *)running, __ATOMIC_ACQUIRE)) {
        nvmlInit_v2();
        nvmlShutdown();
    }
    return NULL;
}

#endif
