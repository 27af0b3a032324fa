/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of return codes, and text into callers' buffers. */
#include <string.h>

#include "exports.h"
#include "return_codes.h"
#include "text.h"

const char *gsErrorString(nvmlReturn_t result) {
    switch (result) {
#define GS_CASE(code, text)                                                                        \
    case code:                                                                                     \
        return text;
        GS_RETURN_CODES(GS_CASE)
#undef GS_CASE
    }
    return "Unknown Error";
}

nvmlReturn_t gs_not_simulated(const char *function) {
    char line[128];
    struct gs_text text = gs_text_in(line, sizeof line);
    gs_text_add(&text, function);
    gs_text_add(&text, ": not simulated, answers Not Supported");
    gs_debug(line);
    return NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t gs_give_text(char *out, unsigned int length, const char *text) {
    size_t needed = strlen(text) + 1;
    if (length < needed) {
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    memcpy(out, text, needed);
    return NVML_SUCCESS;
}
