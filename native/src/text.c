/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts without stdio; see text.h. */
#include "text.h"

#include <string.h>

enum { FOREIGN_LONGEST = 100 };

struct gs_text gs_text_in(char *buffer, size_t size) {
    struct gs_text text = {buffer, size, 0, 0};
    if (size) {
        buffer[0] = '\0';
    }
    return text;
}

void gs_text_add_bytes(struct gs_text *text, const char *more, size_t length) {
    size_t room = text->size ? text->size - 1 - text->used : 0;
    if (length > room) {
        length = room;
        text->cut = 1;
    }
    if (!text->size) {
        return;
    }
    memcpy(text->start + text->used, more, length);
    text->used += length;
    text->start[text->used] = '\0';
}

void gs_text_add(struct gs_text *text, const char *more) {
    gs_text_add_bytes(text, more, strlen(more));
}

void gs_text_add_number(struct gs_text *text, uint64_t number) {
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    gs_text_add_bytes(text, digits + at, sizeof digits - at);
}

void gs_text_add_hex(struct gs_text *text, uint64_t number, unsigned digits) {
    char all[16];
    size_t at = sizeof all;
    do {
        all[--at] = "0123456789ABCDEF"[number & 15];
        number >>= 4;
    } while (number || sizeof all - at < digits);
    gs_text_add_bytes(text, all + at, sizeof all - at);
}

void gs_text_add_foreign(struct gs_text *text, const char *value) {
    size_t length = 0;
    for (; value[length] && length < FOREIGN_LONGEST; length++) {
        unsigned char c = (unsigned char)value[length];
        gs_text_add_bytes(text, c >= ' ' && c <= '~' ? value + length : "?", 1);
    }
    if (value[length]) {
        gs_text_add(text, "...");
    }
}
