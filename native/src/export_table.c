/* SPDX-License-Identifier: Apache-2.0
 *
 * nvmlInternalGetExportTable: the private table of functions that the real nvidia-smi asks for. Which entry
 * means what differs between driver branches and is kept as data below; each entry is a function of its own,
 * so that the entry says what was asked. What is not known answers SUCCESS and writes nothing. */
#include <string.h>

#include "exports.h"
#include "text.h"

GS_EXPORT nvmlReturn_t nvmlInternalGetExportTable(const void **table, const void *guid);

typedef nvmlReturn_t (*entry_function)(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d);

__attribute__((noinline)) static nvmlReturn_t called(unsigned entry, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) {
    char line[256];
    struct gs_text text = gs_text_in(line, sizeof line);
    gs_text_add(&text, "export table entry ");
    gs_text_add_number(&text, entry);
    const uintptr_t arguments[] = {a, b, c, d};
    for (unsigned i = 0; i < 4; i++) {
        gs_text_add(&text, " 0x");
        gs_text_add_hex(&text, arguments[i], 1);
    }
    gs_debug(line);
    if (entry == 81) {
        return nvmlDeviceGetHandleByIndex_v2((unsigned)a, (nvmlDevice_t *)b);
    }
    return NVML_SUCCESS;
}

#define ENTRY(high, low) \
    static nvmlReturn_t entry_##high##_##low(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) { \
        return called(high * 16 + low, a, b, c, d); \
    }
#define NAME(high, low) [high * 16 + low] = entry_##high##_##low,
#define ROW(X, high) \
    X(high, 0) X(high, 1) X(high, 2) X(high, 3) X(high, 4) X(high, 5) X(high, 6) X(high, 7) \
    X(high, 8) X(high, 9) X(high, 10) X(high, 11) X(high, 12) X(high, 13) X(high, 14) X(high, 15)
#define ALL(X) \
    ROW(X, 0) ROW(X, 1) ROW(X, 2) ROW(X, 3) ROW(X, 4) ROW(X, 5) ROW(X, 6) ROW(X, 7) \
    ROW(X, 8) ROW(X, 9) ROW(X, 10) ROW(X, 11) ROW(X, 12) ROW(X, 13) ROW(X, 14) ROW(X, 15)
ALL(ENTRY)

enum { ENTRIES = 512 };
static union {
    uint64_t size;
    entry_function function;
} entries[ENTRIES] = {{.size = sizeof entries}};

nvmlReturn_t nvmlInternalGetExportTable(const void **table, const void *guid) {
    static const unsigned char known[16] = {0xc4, 0xfe, 0x3e, 0x6c, 0xc9, 0x8f, 0x6c, 0x4e,
                                            0xa3, 0x27, 0xee, 0x69, 0x6e, 0x12, 0xf7, 0xc4};
    static const entry_function functions[256] = {ALL(NAME)};
    if (!table || !guid) {
        return NVML_ERROR_INVALID_ARGUMENT;
    }
    if (memcmp(guid, known, sizeof known) != 0) {
        gs_debug("unknown table");
        return NVML_ERROR_NOT_SUPPORTED;
    }
    for (unsigned i = 1; i < ENTRIES; i++) {
        entries[i].function = functions[i % 256];
    }
    *table = entries;
    return NVML_SUCCESS;
}
