/* SPDX-License-Identifier: Apache-2.0
 * Collects problems, see problem.h. */
#include "problem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The kubelet keeps no more than this of a termination message. */
static char text[4096];
static size_t used;
static int count;

static void line(bool keep, const char *subject, const char *format, va_list arguments,
                 const char *reason) {
    char message[1024];
    vsnprintf(message, sizeof message, format, arguments);

    char full[1400];
    int length = snprintf(full, sizeof full, "gpu-sim: %s%s%s%s%s\n", subject ? subject : "",
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
