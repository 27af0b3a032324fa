/* SPDX-License-Identifier: Apache-2.0
 * Which pods hold which GPUs: a file in the root, outside the folder that pods get and readable by root alone, since
 * no pod may learn other pods' names. Written by `gpu-sim allocate`, read by `gpu-sim ctl status`. */
#ifndef GPU_SIM_NODE_PODS_FILE_H
#define GPU_SIM_NODE_PODS_FILE_H

#define PODS_FILE "pods"
#define PODS_MODE 0600

/* The file's text, to be freed: a line for each holder, "<uuid> <namespace>/<pod> …". NULL where there is none. */
char *pods_read(const char *root);

/* Walks the pods of a GPU: `*at` is the text at first; the next pod's name in `pod`, or 0 at the end. */
int pods_next(const char **at, const char *uuid, char pod[512]);

#endif
