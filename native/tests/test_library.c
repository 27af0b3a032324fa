/* SPDX-License-Identifier: Apache-2.0
 *
 * The shared library as a file: test_library LIBRARY. Opened and closed over and over, as go-nvml does, and laid
 * out as on a node, where the device nodes beside it say which GPUs a container sees. */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "check.h"

struct client {
    void *library;
    nvmlReturn_t (*init)(void), (*shutdown)(void);
    nvmlReturn_t (*count)(unsigned *);
    nvmlReturn_t (*by_index)(unsigned, nvmlDevice_t *);
    nvmlReturn_t (*by_uuid)(const char *, nvmlDevice_t *);
    nvmlReturn_t (*index)(nvmlDevice_t, unsigned *), (*minor)(nvmlDevice_t, unsigned *);
    nvmlReturn_t (*uuid)(nvmlDevice_t, char *, unsigned);
    const char *(*text)(nvmlReturn_t);
};

static void *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    return found;
}

static struct client client(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    struct client c = {.library = library};
    *(void **)&c.init = symbol(library, "nvmlInit_v2");
    *(void **)&c.shutdown = symbol(library, "nvmlShutdown");
    *(void **)&c.count = symbol(library, "nvmlDeviceGetCount_v2");
    *(void **)&c.by_index = symbol(library, "nvmlDeviceGetHandleByIndex_v2");
    *(void **)&c.by_uuid = symbol(library, "nvmlDeviceGetHandleByUUID");
    *(void **)&c.index = symbol(library, "nvmlDeviceGetIndex");
    *(void **)&c.minor = symbol(library, "nvmlDeviceGetMinorNumber");
    *(void **)&c.uuid = symbol(library, "nvmlDeviceGetUUID");
    *(void **)&c.text = symbol(library, "nvmlErrorString");
    return c;
}

static unsigned lines_of(const char *path) {
    unsigned lines = 0;
    FILE *file = fopen(path, "r");
    for (int c; file && (c = fgetc(file)) != EOF;) {
        lines += c == '\n';
    }
    CHECK(file != NULL);
    if (file) {
        fclose(file);
    }
    return lines;
}

static unsigned entries_of(const char *path) {
    unsigned entries = 0;
    DIR *folder = opendir(path);
    CHECK(folder != NULL);
    while (folder && readdir(folder)) {
        entries++;
    }
    if (folder) {
        closedir(folder);
    }
    return entries;
}

/* What a client keeps stays valid, and nothing is left behind: no mapping, no file, no thread. */
static void reopened(const char *path) {
    const char *kept = NULL;
    unsigned mappings = 0, files = 0, threads = entries_of("/proc/self/task");
    for (int i = 0; i < 1000; i++) {
        struct client c = client(path);
        unsigned count = 0;
        nvmlReturn_t result = c.init();
        result = result ? result : c.count(&count);
        const char *text = c.text(NVML_ERROR_NOT_SUPPORTED);
        CHECK_NUMBER(result, NVML_SUCCESS);
        CHECK_NUMBER(count, 5);
        CHECK_NUMBER(c.shutdown(), NVML_SUCCESS);
        CHECK_NUMBER(dlclose(c.library), 0);
        CHECK_TEXT(kept ? kept : text, "Not Supported");
        kept = text;
        if (i == 10) {
            mappings = lines_of("/proc/self/maps");
            files = entries_of("/proc/self/fd");
        }
    }
    CHECK_NUMBER(lines_of("/proc/self/maps"), mappings);
    CHECK_NUMBER(entries_of("/proc/self/fd"), files);
    CHECK_NUMBER(entries_of("/proc/self/task"), threads);
}

static char root[] = "/tmp/gpu-sim-test-XXXXXX";

static char *in_root(const char *name) {
    static char path[4][256];
    static unsigned next;
    char *one = path[next++ % 4];
    snprintf(one, sizeof path[0], "%s/%s", root, name);
    return one;
}

static void copy(const char *from, const char *to) {
    char block[65536];
    ssize_t got;
    int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0755);
    CHECK(in >= 0 && out >= 0);
    while ((got = read(in, block, sizeof block)) > 0) {
        CHECK_NUMBER(write(out, block, (size_t)got), got);
    }
    close(in);
    close(out);
}

static void node(const char *name) {
    int file = open(in_root(name), O_WRONLY | O_CREAT | O_EXCL, 0666);
    CHECK(file >= 0);
    close(file);
}

/* Exactly the GPUs with these minor numbers, in this order, under every look-up. */
static void sees(struct client *c, unsigned wanted, const unsigned *minors) {
    unsigned count = 99;
    CHECK_NUMBER(c->init(), NVML_SUCCESS);
    CHECK_NUMBER(c->count(&count), NVML_SUCCESS);
    CHECK_NUMBER(count, wanted);
    for (unsigned i = 0; i < wanted; i++) {
        nvmlDevice_t device = NULL, same = NULL;
        unsigned index = 99, minor = 99;
        char uuid[96];
        CHECK_NUMBER(c->by_index(i, &device), NVML_SUCCESS);
        CHECK_NUMBER(c->index(device, &index), NVML_SUCCESS);
        CHECK_NUMBER(index, i);
        CHECK_NUMBER(c->minor(device, &minor), NVML_SUCCESS);
        CHECK_NUMBER(minor, minors[i]);
        CHECK_NUMBER(c->uuid(device, uuid, sizeof uuid), NVML_SUCCESS);
        CHECK_NUMBER(c->by_uuid(uuid, &same), NVML_SUCCESS);
        CHECK(same == device);
    }
    nvmlDevice_t none = NULL;
    CHECK_NUMBER(c->by_index(wanted, &none), NVML_ERROR_INVALID_ARGUMENT);
}

static void on_a_node(const char *library) {
    static const char *const folders[] = {"usr", "usr/lib64", "dev"};
    struct gs_inventory *inventory = check_inventory("tesla-t4", 4);
    CHECK(mkdtemp(root) != NULL);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        CHECK_NUMBER(mkdir(in_root(folders[i]), 0755), 0);
    }
    copy(library, in_root("usr/lib64/libnvidia-ml.so.1"));
    copy(getenv("NVML_MOCK_INVENTORY"), in_root("usr/lib64/libnvidia-gpu-sim.so.550.163.01"));
    check_remove_inventory();
    CHECK(inventory != NULL);

    struct client c = client(in_root("usr/lib64/libnvidia-ml.so.1"));
    sees(&c, 4, (const unsigned[]){0, 1, 2, 3}); /* no node at all, as in the plugin's container */
    nvmlDevice_t first = NULL;
    char uuid[96];
    CHECK_NUMBER(c.by_index(0, &first), NVML_SUCCESS);
    CHECK_NUMBER(c.uuid(first, uuid, sizeof uuid), NVML_SUCCESS);
    node("dev/nvidiactl"); /* no GPU's node */
    sees(&c, 4, (const unsigned[]){0, 1, 2, 3});
    node("dev/nvidia3");
    node("dev/nvidia1");
    node("dev/nvidia77");
    sees(&c, 2, (const unsigned[]){1, 3});
    nvmlDevice_t other = NULL;
    CHECK_NUMBER(c.by_uuid(uuid, &other), NVML_ERROR_NOT_FOUND);
    CHECK_NUMBER(c.uuid(first, uuid, sizeof uuid), NVML_ERROR_INVALID_ARGUMENT);
    node("dev/nvidia0");
    sees(&c, 3, (const unsigned[]){0, 1, 3});
    CHECK_NUMBER(c.uuid(first, uuid, sizeof uuid), NVML_SUCCESS);
    char command[300];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    CHECK_NUMBER(system(command), 0);
}

int main(int count, char **arguments) {
    if (count != 2) {
        fprintf(stderr, "test_library LIBRARY\n");
        return 2;
    }
    setenv("NVML_MOCK_DEVICE_COUNT", "5", 1);
    reopened(arguments[1]);
    unsetenv("NVML_MOCK_DEVICE_COUNT");
    on_a_node(arguments[1]);
    return check_result();
}
