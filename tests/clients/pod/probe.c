/* SPDX-License-Identifier: Apache-2.0
 * What test pods run: opens libnvidia-ml.so.1 as any client does, by the loader's default path, and prints the GPUs
 * that it sees as one line of JSON. `--sleep SECONDS` keeps the pod running after that; SIGTERM ends it at once.
 * It declares what it uses of NVML itself, so that it sees the library as an old client's binary does. */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct device *device;

struct memory {
    unsigned long long total, free, used;
};

struct pci {
    char legacy[16];
    unsigned int domain, bus, device, pci_device, pci_subsystem;
    char bus_id[32];
};

static const char *(*error_string)(int);
static int (*init)(void), (*finish)(void), (*count)(unsigned int *),
    (*handle)(unsigned int, device *);
static int (*uuid)(device, char *, unsigned int), (*name)(device, char *, unsigned int);
static int (*memory)(device, struct memory *), (*minor)(device, unsigned int *),
    (*pci)(device, struct pci *);

static const struct {
    const char *symbol;
    void *slot;
} USED[] = {
    {"nvmlErrorString", &error_string},
    {"nvmlInit_v2", &init},
    {"nvmlShutdown", &finish},
    {"nvmlDeviceGetCount_v2", &count},
    {"nvmlDeviceGetHandleByIndex_v2", &handle},
    {"nvmlDeviceGetUUID", &uuid},
    {"nvmlDeviceGetName", &name},
    {"nvmlDeviceGetMemoryInfo", &memory},
    {"nvmlDeviceGetMinorNumber", &minor},
    {"nvmlDeviceGetPciInfo_v3", &pci},
};

static void fail(const char *what, const char *why) {
    fprintf(stderr, "nvml-probe: %s: %s\n", what, why);
    exit(1);
}

static void check(const char *what, int code) {
    if (code) {
        fail(what, error_string(code));
    }
}

static void open_library(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library) {
        fail(path, dlerror());
    }
    for (size_t i = 0; i < sizeof USED / sizeof *USED; i++) {
        void *found = dlsym(library, USED[i].symbol);
        if (!found) {
            fail(path, dlerror());
        }
        memcpy(USED[i].slot, &found,
               sizeof found); /* ISO C has no cast from data to function pointers */
    }
}

static void print_string(const char *key, const char *text) {
    printf("\"%s\": \"", key);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\' || c < ' ' || c > '~') {
            printf("\\u%04x", c);
        } else {
            putchar(c);
        }
    }
    printf("\", ");
}

static void print_gpus(void) {
    unsigned int gpus = 0;
    check("nvmlInit_v2", init());
    check("nvmlDeviceGetCount_v2", count(&gpus));
    printf("{\"count\": %u, \"gpus\": [", gpus);
    for (unsigned int i = 0; i < gpus; i++) {
        device gpu;
        char text[96];
        struct memory bytes;
        struct pci address;
        unsigned int number;
        check("nvmlDeviceGetHandleByIndex_v2", handle(i, &gpu));
        printf("%s{", i ? ", " : "");
        check("nvmlDeviceGetUUID", uuid(gpu, text, sizeof text));
        print_string("uuid", text);
        check("nvmlDeviceGetName", name(gpu, text, sizeof text));
        print_string("name", text);
        check("nvmlDeviceGetPciInfo_v3", pci(gpu, &address));
        print_string("bus_id", address.bus_id);
        check("nvmlDeviceGetMemoryInfo", memory(gpu, &bytes));
        check("nvmlDeviceGetMinorNumber", minor(gpu, &number));
        printf("\"memory_mib\": %llu, \"minor\": %u}", bytes.total >> 20, number);
    }
    printf("]}\n");
    fflush(stdout);
    check("nvmlShutdown", finish());
}

static void stop(int number) {
    (void)number;
    _exit(0);
}

int main(int count_of_words, char **words) {
    const char *library = "libnvidia-ml.so.1";
    long seconds = 0;
    for (int i = 1; i < count_of_words; i++) {
        bool more = i + 1 < count_of_words;
        char *end = "?";
        if (!strcmp(words[i], "--sleep") && more) {
            seconds = strtol(words[++i], &end, 10);
        } else if (!strcmp(words[i], "--library") && more) {
            library = words[++i], end = "";
        }
        if (*end || seconds < 0) {
            fprintf(stderr, "usage: nvml-probe [--sleep SECONDS] [--library FILE], got %s\n",
                    words[i]);
            return 2;
        }
    }
    /* As process 1 of a pod there is no default action. */
    signal(SIGTERM, stop);
    open_library(library);
    print_gpus();
    while (seconds > 0) {
        seconds = sleep((unsigned int)seconds);
    }
    return 0;
}
