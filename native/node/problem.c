/* SPDX-License-Identifier: Apache-2.0
 * Collects problems, see problem.h. */
#include "problem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kubelet keeps no more than this of a termination message. */
static char text[4096];
static size_t used;
static int count;

enum { SHOWN_OF_LONG = 80 };
static const char ELLIPSIS[] = "\xE2\x80\xA6";

/* How much there is of a word, and how much is shown of it: whole characters. */
static size_t shown(const char *word, size_t length, size_t longest) {
    size_t end = SHOWN_OF_LONG;
    if (length <= longest) {
        return length;
    }
    while (((unsigned char)word[end] & 0xC0) == 0x80 && end) {
        end--;
    }
    return end;
}

/* What people gave may be of any length, and hold what a terminal acts on: a word of more than `longest` bytes is cut
 * so that the remedy behind it is seen, and control characters are shown by their numbers. */
static void clean(const char *from, size_t longest, char *to, size_t size) {
    size_t written = 0;
    for (const char *word = from; *word;) {
        size_t length = strcspn(word, " "), kept = shown(word, length, longest);
        for (size_t i = 0; i < kept && written + 8 < size; i++) {
            const unsigned char byte = (unsigned char)word[i], next = (unsigned char)word[i + 1];
            bool control = byte < ' ' || byte == 0x7F || (byte == 0xC2 && next >> 5 == 4);
            if (!control) {
                to[written++] = (char)byte;
                continue;
            }
            written += (size_t)snprintf(to + written, size - written, "\\x%02X", byte);
            if (byte == 0xC2) {
                written += (size_t)snprintf(to + written, size - written, "\\x%02X", next);
                i++;
            }
        }
        const char *rest = word[length] ? " " : "", *last = word + length - 1;
        bool cut = kept < length;
        if (written + 8 < size) {
            written +=
                (size_t)snprintf(to + written, size - written, "%s%.*s%s", cut ? ELLIPSIS : "",
                                 cut && strchr(",:;", *last) ? 1 : 0, cut ? last : "", rest);
        }
        word += length + (word[length] != 0);
    }
    to[written] = 0;
}

static void line(bool keep, const char *subject, const char *format, va_list arguments,
                 const char *reason) {
    char message[1024], whose[1024], full[2400], *given = NULL;
    if (vasprintf(&given, format, arguments) < 0) {
        given = NULL;
    }
    clean(given ? given : format, 256, message, sizeof message);
    free(given);
    clean(subject ? subject : "", 512, whose, sizeof whose);

    int length = snprintf(full, sizeof full, "gpu-sim: %s%s%s%s%s\n", whose,
                          subject && message[0] ? ": " : "", message, reason ? ": " : "",
                          reason ? reason : "");
    if (length < 0) {
        return;
    }
    if ((size_t)length >= sizeof full) {
        length = sizeof full - 1;
    }
    /* One write for a line: several containers share one log. */
    if (write(STDERR_FILENO, full, (size_t)length) < 0) {
        errno = 0;
    }
    if (keep && used + (size_t)length < sizeof text) {
        memcpy(text + used, full, (size_t)length);
        used += (size_t)length;
    }
}

void problem(const char *subject, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    line(true, subject, format, arguments, NULL);
    va_end(arguments);
    count++;
}

void problem_errno(const char *subject, const char *format, ...) {
    const char *reason = strerror(errno);
    va_list arguments;
    va_start(arguments, format);
    line(true, subject, format, arguments, reason);
    va_end(arguments);
    count++;
}

void notice(const char *subject, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    line(false, subject, format, arguments, NULL);
    va_end(arguments);
}

int problem_count(void) {
    return count;
}

void problem_termination_message(const char *file) {
    if (!used) {
        return;
    }
    int fd = open(file, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    if (write(fd, text, used) < 0) {
        notice(file, "the termination message could not be written");
    }
    close(fd);
}
