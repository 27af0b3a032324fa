/* SPDX-License-Identifier: Apache-2.0
 *
 * What holds for every function of nvml.h, taken from the header and not from a list of ours: before an init,
 * with handles and pointers that are none, on a lost GPU, with an injected fault, and for what is not simulated. */
#include "calls.h"

#include "check.h"

enum { ROOM = 32768 }; /* more than any struct of the header */
static char scratch[CALL_POINTERS][ROOM];

/* With each pointer to room of its own, full of `byte`, or NULL where its bit in `nulls` is set. */
static nvmlReturn_t call(const struct call *one, nvmlDevice_t device, unsigned nulls, int byte) {
    void *pointers[CALL_POINTERS];
    for (unsigned i = 0; i < one->pointers; i++) {
        memset(scratch[i], byte, ROOM);
        pointers[i] = nulls >> i & 1 ? NULL : scratch[i];
    }
    return one->call(device, pointers);
}

/* The result, and that nothing was written. */
static void answers(const struct call *one, nvmlDevice_t device, unsigned nulls, nvmlReturn_t want,
                    const char *when) {
    nvmlReturn_t result = call(one, device, nulls, 0xA5);
    check_count++;
    if (result != want) {
        check_failures++;
        fprintf(stderr, "%s, %s: %d, wanted %d\n", one->name, when, result, want);
    }
    for (unsigned i = 0; i < one->pointers; i++) {
        if (!check_untouched(scratch[i], ROOM)) {
            check_failures++;
            fprintf(stderr, "%s, %s: wrote through pointer %u\n", one->name, when, i);
        }
    }
}

static void before_init(void) {
    for (unsigned i = 0; i < CALLS; i++) {
        answers(&calls[i], NULL, 0, NVML_ERROR_UNINITIALIZED, "before an init");
    }
}

static void bad_handles(nvmlDevice_t first) {
    char *table = (char *)(void *)first;
    void *const bad[] = {NULL,           (void *)(uintptr_t)1, table + 8,           table - 64,
                         table + 64 * 9, table + 64 * 64,      (void *)UINTPTR_MAX, scratch};
    for (unsigned i = 0; i < CALLS; i++) {
        for (size_t j = 0; j < sizeof bad / sizeof *bad && calls[i].devices; j++) {
            answers(&calls[i], bad[j], 0, NVML_ERROR_INVALID_ARGUMENT, "with a bad handle");
        }
    }
}

/* Each pointer alone. What may be NULL has only to survive it. */
static void null_pointers(nvmlDevice_t device) {
    for (unsigned i = 0; i < CALLS; i++) {
        for (unsigned pointer = 0; pointer < calls[i].pointers && calls[i].written; pointer++) {
            if (calls[i].required >> pointer & 1) {
                answers(&calls[i], device, 1u << pointer, NVML_ERROR_INVALID_ARGUMENT,
                        "with a NULL pointer");
            } else {
                CHECK(call(&calls[i], device, 1u << pointer, 0) != NVML_ERROR_UNKNOWN);
            }
        }
    }
}

static void stubs(nvmlDevice_t device) {
    unsigned found = 0;
    for (unsigned i = 0; i < CALLS; i++) {
        if (!calls[i].written) {
            answers(&calls[i], device, 0, NVML_ERROR_NOT_SUPPORTED, "not simulated");
            answers(&calls[i], device, ~0u, NVML_ERROR_NOT_SUPPORTED,
                    "not simulated, NULL pointers");
            found++;
        }
    }
    CHECK(found > 0 && found < CALLS);
}

/* Zeros are a size, an index, a version: nearly always wrong, and never a reason to fall over. */
static void answers_of_the_simulated(nvmlDevice_t device) {
    for (unsigned i = 0; i < CALLS; i++) {
        if (calls[i].written) {
            nvmlReturn_t result = call(&calls[i], device, 0, 0);
            if (result > NVML_ERROR_ARGUMENT_VERSION_MISMATCH ||
                result == NVML_ERROR_UNINITIALIZED || result == NVML_ERROR_FUNCTION_NOT_FOUND ||
                result == NVML_ERROR_GPU_IS_LOST) {
                CHECK_TEXT(calls[i].name, nvmlErrorString(result));
            }
        }
    }
}

static void lost(struct gs_inventory *inventory, nvmlDevice_t first, nvmlDevice_t second) {
    struct gs_gpu *gpu = &inventory->gpus[1];
    unsigned index = 99;
    for (int removed = 0; removed < 2; removed++) {
        struct gs_state *next = &gpu->state[!gs_flip(&gpu->state_flip)];
        *next = gpu->state[gs_flip(&gpu->state_flip)];
        next->lost = !removed;
        next->slot = removed ? GS_SLOT_REMOVED : GS_SLOT_PRESENT;
        gs_flip_publish(&gpu->state_flip);
        for (unsigned i = 0; i < CALLS; i++) {
            if (calls[i].devices) {
                answers(&calls[i], second, 0, NVML_ERROR_GPU_IS_LOST, "on a lost GPU");
                answers(&calls[i], second, ~0u, NVML_ERROR_GPU_IS_LOST,
                        "on a lost GPU, NULL pointers");
            }
        }
        CHECK_NUMBER(nvmlDeviceGetIndex(first, &index), NVML_SUCCESS);
        CHECK_NUMBER(index, 0);
    }
    struct gs_state *next = &gpu->state[!gs_flip(&gpu->state_flip)];
    *next = gpu->state[gs_flip(&gpu->state_flip)];
    next->slot = GS_SLOT_PRESENT;
    gs_flip_publish(&gpu->state_flip);
    CHECK_NUMBER(nvmlDeviceGetIndex(second, &index), NVML_SUCCESS);
    CHECK_NUMBER(index, 1);
}

/* A fault of one GPU stays with it; a function without a device has its fault in the header. */
static void faults(struct gs_inventory *inventory, nvmlDevice_t first, nvmlDevice_t second) {
    struct gs_gpu *gpu = &inventory->gpus[1];
    struct gs_fault *of_gpu = gpu->state[gs_flip(&gpu->state_flip)].faults;
    struct gs_fault *of_node = inventory->header.faults;
    for (unsigned i = 0; i < CALLS; i++) {
        struct gs_fault *fault = calls[i].devices ? of_gpu : of_node;
        *fault = (struct gs_fault){gs_function_id(calls[i].name), NVML_ERROR_RESET_REQUIRED, 0, 0};
        answers(&calls[i], second, 0, NVML_ERROR_RESET_REQUIRED, "with a fault");
        const struct call *next = &calls[(i + 1) % CALLS];
        if (!next->devices == !calls[i].devices) {
            CHECK(call(next, second, 0, 0) != NVML_ERROR_RESET_REQUIRED);
        }
        if (calls[i].devices) {
            CHECK(call(&calls[i], first, 0, 0) != NVML_ERROR_RESET_REQUIRED);
        }
        *fault = (struct gs_fault){0};
    }
}

int main(void) {
    struct gs_inventory *inventory = check_inventory("h100-80gb-hbm3", 3);
    before_init();
    CHECK_NUMBER(nvmlInit_v2(), NVML_SUCCESS);
    nvmlDevice_t first = check_device(0), second = check_device(1);
    bad_handles(first);
    null_pointers(second);
    stubs(second);
    answers_of_the_simulated(second);
    lost(inventory, first, second);
    faults(inventory, first, second);
    CHECK_NUMBER(nvmlShutdown(), NVML_SUCCESS);
    before_init();
    check_remove_inventory();
    return check_result();
}
