/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of return codes: static, never NULL, one for each code of the header. */
#include "check.h"

int main(void) {
    unsigned known = 0;
    for (int code = -1; code <= NVML_ERROR_UNKNOWN + 1; code++) {
        const char *text = nvmlErrorString((nvmlReturn_t)code);
        CHECK(text && *text && strlen(text) < 120);
        CHECK(text == nvmlErrorString((nvmlReturn_t)code)); /* callers keep the pointer */
        for (const char *at = text; *at; at++) {
            CHECK(*at >= ' ' && *at <= '~');
        }
        known += strcmp(text, "Unknown Error") != 0;
    }
    CHECK_NUMBER(known, NVML_ERROR_RESET_TYPE_NOT_SUPPORTED + 1); /* the last but for "unknown" */
    CHECK_TEXT(nvmlErrorString(NVML_SUCCESS), "Success");
    CHECK_TEXT(nvmlErrorString(NVML_ERROR_NOT_SUPPORTED), "Not Supported");
    CHECK_TEXT(nvmlErrorString(NVML_ERROR_GPU_IS_LOST), "GPU is lost");
    CHECK_TEXT(nvmlErrorString(NVML_ERROR_TIMEOUT), "Timeout");
    CHECK_TEXT(nvmlErrorString(NVML_ERROR_UNKNOWN), "Unknown Error");
    return check_result();
}
