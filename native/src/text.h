/* SPDX-License-Identifier: Apache-2.0
 *
 * Building short texts in a buffer that the caller owns: stdio would bring locks and newer symbols into
 * client processes. A text that does not fit is cut; it is always NUL-ended. */
#ifndef GPU_SIM_TEXT_H
#define GPU_SIM_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct gs_text {
    char *start;
    size_t size;
    size_t used;
    int cut; /* not 0: something did not fit */
};

struct gs_text gs_text_in(char *buffer, size_t size);
void gs_text_add(struct gs_text *text, const char *more);
void gs_text_add_bytes(struct gs_text *text, const char *more, size_t length);
void gs_text_add_number(struct gs_text *text, uint64_t number);
/* Upper-case hexadecimal, at least `digits` wide. */
void gs_text_add_hex(struct gs_text *text, uint64_t number, unsigned digits);
/* A value that a user gave: in full if short, control characters and non-ASCII as '?'. */
void gs_text_add_foreign(struct gs_text *text, const char *value);

#endif
