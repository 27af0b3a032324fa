/* SPDX-License-Identifier: Apache-2.0
 * `ctl status` as a table for people and as JSON for programs. */
#include <stdio.h>
#include <string.h>

#include "ctl_set.h"
#include "ctl_status.h"
#include "pods_file.h"

void status_table(const struct status *status) {
    printf("%-3s %-40s %-8s %-9s %-16s %-5s %-5s %-28s %s\n", "GPU", "UUID", "HEALTH", "KUBELET",
           "MEMORY", "UTIL", "TEMP", "POD", "FAULTS");
    for (uint32_t i = 0; i < status->count; i++) {
        const struct shown *shown = &status->gpus[i];
        char memory[48], pod[512], pods[1024] = "";
        const char *at = shown->pods;
        snprintf(memory, sizeof memory, "%llu/%llu MiB",
                 (unsigned long long)(shown->memory_used >> 20),
                 (unsigned long long)(shown->config.memory_total >> 20));
        while (pods_next(&at, shown->config.uuid, pod)) {
            size_t used = strlen(pods);
            snprintf(pods + used, sizeof pods - used, "%s%s", used ? "," : "", pod);
        }
        printf("%-3u %-40s %-8s %-9s %-16s %3u%%  %3dC  %-28s", shown->slot, shown->config.uuid,
               shown->health, shown->kubelet, memory, shown->utilization, shown->temperature,
               *pods ? pods : "-");
        putchar(' ');
        status_gpu_faults(shown, false);
        putchar('\n');
    }
    if (status_node_has_faults(status->header)) {
        printf("node: ");
        status_node_faults(status->header, false);
        putchar('\n');
    }
}

/* Names of boards, nodes and pods have no control characters: the installer and Kubernetes see to it. */
static void text_json(const char *key, const char *text, const char *end) {
    if (*key) {
        printf("\"%s\": ", key);
    }
    putchar('"');
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\') {
            putchar('\\');
        }
        putchar((unsigned char)*p < ' ' ? '?' : *p);
    }
    printf("\"%s", end);
}

static void pods_json(const struct shown *shown) {
    char pod[512];
    const char *at = shown->pods, *separator = "";
    printf("\"pods\": [");
    while (pods_next(&at, shown->config.uuid, pod)) {
        printf("%s", separator);
        text_json("", pod, "");
        separator = ", ";
    }
    printf("], ");
}

static void lists_json(const struct shown *shown) {
    const struct gs_state *state = &shown->state;
    const char *separator = "";
    printf("\"throttle\": [");
    for (const struct throttle_reason *reason = throttle_reasons; reason->name; reason++) {
        if (state->throttle_reasons & reason->bit) {
            printf("%s\"%s\"", separator, reason->name);
            separator = ", ";
        }
    }
    printf("], \"nvlinks_down\": ");
    status_links(state->nvlink_down);
    printf(", \"faults\": [");
    status_gpu_faults(shown, true);
    printf("]");
}

static void gpu_json(const struct shown *shown) {
    const struct gs_state *state = &shown->state;
    printf("{\"index\": %u, ", shown->slot);
    text_json("uuid", shown->config.uuid, ", ");
    text_json("name", shown->config.name, ", ");
    printf("\"health\": \"%s\", \"kubelet\": \"%s\", \"xids\": [", shown->health, shown->kubelet);
    for (unsigned i = 0; i < GS_XIDS && state->xids[i].xid; i++) {
        printf("%s%u", i ? ", " : "", state->xids[i].xid);
    }
    printf("], \"declared\": %s, ", state->declared ? "true" : "false");
    pods_json(shown);
    printf("\"allocated\": %s, \"memory_total_mib\": %llu, \"memory_used_mib\": %llu, "
           "\"utilization_gpu_percent\": %u, \"temperature_c\": %d, \"power_mw\": %u, ",
           shown->allocated ? "true" : "false",
           (unsigned long long)(shown->config.memory_total >> 20),
           (unsigned long long)(shown->memory_used >> 20), shown->utilization, shown->temperature,
           shown->power_mw);
    lists_json(shown);
    printf("}");
}

void status_json(const struct status *status) {
    printf("{");
    text_json("node", status->node.spec.node, ", ");
    text_json("driver_version", status->node.driver_version, ", ");
    printf("\"declared\": %s, \"faults\": [", status->header->declared ? "true" : "false");
    status_node_faults(status->header, true);
    printf("], \"gpus\": [");
    for (uint32_t i = 0; i < status->count; i++) {
        printf("%s\n  ", i ? "," : "");
        gpu_json(&status->gpus[i]);
    }
    printf("]}\n");
}
