/* SPDX-License-Identifier: Apache-2.0
 * Messages for people: every problem is one line on stderr; a command that fails in a pod also leaves them
 * as the container's termination message. Nothing here exits: commands return one of the codes below. */
#ifndef GPU_SIM_NODE_PROBLEM_H
#define GPU_SIM_NODE_PROBLEM_H

enum exit_code {
    EXIT_FINE = 0,
    EXIT_INPUT = 1,   /* wrong input, or the node is taken */
    EXIT_USAGE = 2,   /* no such command or option */
    EXIT_MACHINE = 3, /* the machine failed: disk, permissions */
};

/* "gpu-sim: <subject>: <text>"; the subject is an option, a file or NULL. */
void problem(const char *subject, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same with ": <reason of errno>" after the text. */
void problem_errno(const char *subject, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Something a person should know that is no failure; not part of the termination message. */
void notice(const char *subject, const char *format, ...) __attribute__((format(printf, 2, 3)));

int problem_count(void);

/* Writes all problems so far into `file` if that exists: the kubelet makes it before it starts the container. */
void problem_termination_message(const char *file);

#endif
