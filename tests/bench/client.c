/* SPDX-License-Identifier: Apache-2.0
 *
 * A client that measures one NVML library: client LIBRARY ROUNDS. Prints `name value` lines: times in
 * nanoseconds (of the fastest of several batches, so that a busy machine adds little), memory in KiB. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e9 + now.tv_nsec;
}

static void *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return found;
}

static void need(int code, const char *what) {
    if (code) {
        fprintf(stderr, "%s answered %d\n", what, code);
        exit(2);
    }
}

/* Of /proc/self/status: "VmRSS:", "Threads:". */
static void status(const char *key, const char *name) {
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) == 0) {
            printf("%s %ld\n", name, strtol(line + strlen(key), NULL, 10));
        }
    }
    if (file) {
        fclose(file);
    }
}

#define MEASURE(name, call)                                                                        \
    do {                                                                                           \
        double best = 1e18;                                                                        \
        for (int batch = 0; batch < 10; batch++) {                                                 \
            double start = now_ns();                                                               \
            for (long round = 0; round < rounds / 10; round++) {                                   \
                code |= (call);                                                                    \
            }                                                                                      \
            double one = (now_ns() - start) / (rounds / 10);                                       \
            best = one < best ? one : best;                                                        \
        }                                                                                          \
        need(code, name);                                                                          \
        printf("%s %.1f\n", name, best);                                                           \
    } while (0)

int main(int count, char **arguments) {
    long rounds = count == 3 ? atol(arguments[2]) : 0;
    if (rounds < 10) {
        fprintf(stderr, "client LIBRARY ROUNDS\n");
        return 2;
    }
    double start = now_ns();
    void *library = dlopen(arguments[1], RTLD_LAZY); /* as go-nvml does */
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    printf("dlopen %.0f\n", now_ns() - start);
    int (*init)(void), (*shut)(void), (*by_index)(unsigned, void **), (*memory)(void *, void *);
    int (*uuid)(void *, char *, unsigned), (*temperature)(void *, unsigned, unsigned *);
    int (*power)(void *, unsigned *), (*common)(void *, void *, unsigned *);
    *(void **)&init = symbol(library, "nvmlInit_v2");
    *(void **)&shut = symbol(library, "nvmlShutdown");
    *(void **)&by_index = symbol(library, "nvmlDeviceGetHandleByIndex_v2");
    *(void **)&memory = symbol(library, "nvmlDeviceGetMemoryInfo");
    *(void **)&uuid = symbol(library, "nvmlDeviceGetUUID");
    *(void **)&temperature = symbol(library, "nvmlDeviceGetTemperature");
    *(void **)&power = symbol(library, "nvmlDeviceGetPowerUsage");
    *(void **)&common = symbol(library, "nvmlDeviceGetTopologyCommonAncestor");
    start = now_ns();
    need(init(), "init");
    printf("init_first %.0f\n", now_ns() - start);
    void *device, *other;
    unsigned value;
    unsigned long long bytes[3];
    char text[96];
    int code = 0;
    need(by_index(0, &device), "HandleByIndex(0)");
    need(by_index(1, &other), "HandleByIndex(1)");
    MEASURE("MemoryInfo", memory(device, bytes));
    MEASURE("UUID", uuid(device, text, sizeof text));
    MEASURE("Temperature", temperature(device, 0, &value));
    MEASURE("PowerUsage", power(device, &value));
    MEASURE("TopologyCommonAncestor", common(device, other, &value));
    need(shut(), "shutdown");
    rounds = rounds < 1000 ? rounds : 1000; /* a real driver's clients do this once in seconds */
    MEASURE("init_again", init() | shut());
    status("VmRSS:", "rss_kib");
    status("Threads:", "threads");
    return 0;
}
