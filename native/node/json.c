/* SPDX-License-Identifier: Apache-2.0
 * A reader of JSON in place, see json.h. */
#include "json.h"

#include <string.h>

enum { DEEPEST = 64 };

static const char *space(const char *p) {
    return p + strspn(p, " \t\r\n");
}

static int hex4(const char *p) {
    int value = 0;
    for (int i = 0; i < 4; i++) {
        int digit;
        if (p[i] >= '0' && p[i] <= '9') {
            digit = p[i] - '0';
        } else if ((p[i] | 32) >= 'a' && (p[i] | 32) <= 'f') {
            digit = (p[i] | 32) - 'a' + 10;
        } else {
            return -1;
        }
        value = value * 16 + digit;
    }
    return value;
}

/* Decodes up to the closing quote and returns what follows it; NULL when the text ends before. Surrogate pairs come out
 * as two characters of three bytes: no name that we look for has any. */
static const char *quoted(const char *p, char *out, size_t size, bool *fits) {
    size_t used = 0;
    *fits = true;
    for (p++; *p != '"'; p++) {
        char bytes[3];
        size_t count = 1;
        if (!*p) {
            return NULL;
        }
        bytes[0] = *p;
        if (*p == '\\') {
            static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
            p++;
            const char *known = *p ? strchr(from, *p) : NULL;
            if (known) {
                bytes[0] = to[known - from];
            } else if (*p == 'u') {
                int code = hex4(p + 1);
                if (code <= 0) {
                    return NULL;
                }
                p += 4;
                if (code < 0x80) {
                    bytes[0] = (char)code;
                } else if (code < 0x800) {
                    bytes[0] = (char)(0xc0 | code >> 6);
                    bytes[1] = (char)(0x80 | (code & 63));
                    count = 2;
                } else {
                    bytes[0] = (char)(0xe0 | code >> 12);
                    bytes[1] = (char)(0x80 | (code >> 6 & 63));
                    bytes[2] = (char)(0x80 | (code & 63));
                    count = 3;
                }
            } else {
                return NULL;
            }
        }
        if (used + count >= size) {
            *fits = false;
            continue;
        }
        memcpy(out + used, bytes, count);
        used += count;
    }
    if (size) {
        out[used] = 0;
    }
    return p + 1;
}

static const char *skip(const char *p, int depth) {
    bool fits;
    p = space(p);
    if (*p == '"') {
        return quoted(p, NULL, 0, &fits);
    }
    if (*p != '{' && *p != '[') {
        size_t length = strcspn(p, ",]} \t\r\n");
        return length ? p + length : NULL;
    }
    if (depth == DEEPEST) {
        return NULL;
    }

    char close = *p == '{' ? '}' : ']';
    p = space(p + 1);
    if (*p == close) {
        return p + 1;
    }
    for (;;) {
        if (close == '}') {
            if (*p != '"' || !(p = quoted(p, NULL, 0, &fits))) {
                return NULL;
            }
            p = space(p);
            if (*p++ != ':') {
                return NULL;
            }
        }
        if (!(p = skip(p, depth + 1))) {
            return NULL;
        }
        p = space(p);
        if (*p == close) {
            return p + 1;
        }
        if (*p != ',') {
            return NULL;
        }
        p = space(p + 1);
    }
}

const char *json_next(const char *value, const char **at, char *key, size_t size) {
    const char *start = value ? space(value) : "";
    if (*start != '{' && *start != '[') {
        return NULL;
    }
    char close = *start == '{' ? '}' : ']';

    const char *p;
    if (!*at) {
        p = space(start + 1);
    } else {
        if (!(p = skip(*at, 1))) {
            return NULL;
        }
        p = space(p);
        if (*p != ',') {
            return NULL;
        }
        p = space(p + 1);
    }
    if (*p == close) {
        return NULL;
    }
    if (close == '}') {
        bool fits;
        if (*p != '"' || !(p = quoted(p, key, size, &fits))) {
            return NULL;
        }
        if (!fits && size) {
            key[0] = 0;
        }
        p = space(p);
        if (*p != ':') {
            return NULL;
        }
        p = space(p + 1);
    }
    if (!skip(p, 1)) {
        return NULL;
    }
    return *at = p;
}

const char *json_member(const char *value, const char *name) {
    if (!value || *space(value) != '{') {
        return NULL;
    }
    char key[256];
    const char *at = NULL, *member;
    while ((member = json_next(value, &at, key, sizeof key))) {
        if (!strcmp(key, name)) {
            return member;
        }
    }
    return NULL;
}

bool json_string(const char *value, char *out, size_t size) {
    if (!value || *(value = space(value)) != '"') {
        return false;
    }
    bool fits;
    return quoted(value, out, size, &fits) && fits;
}
