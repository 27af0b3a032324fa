/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are no inventories are refused in words; copies of a group are never torn. */
#include <fcntl.h>
#include <pthread.h>

#include "check.h"
#include "discover.h"

static struct gs_inventory *fresh(void) {
    struct gs_spec spec;
    struct gs_inventory *inventory = calloc(1, gs_inventory_size());
    gs_spec_default(&spec);
    CHECK_NUMBER(gs_build(&spec, inventory, gs_inventory_size(), NULL), 0);
    return inventory;
}

static void refused(const struct gs_inventory *inventory, size_t size, const char *text) {
    struct gs_error error = {""};
    CHECK_NUMBER(gs_validate(inventory, size, "f", &error), -1);
    CHECK_TEXT(error.text, text);
}

static void headers(void) {
    size_t size = gs_inventory_size();
    struct gs_inventory *inventory = fresh();
    const struct gs_header good = inventory->header;
    refused(inventory, 100, "f: too short for an inventory, got 100; run the installer again");
    inventory->header.magic[0] = 'X';
    refused(inventory, size, "f: not an inventory; name the file that gpu-sim install wrote");
    inventory->header = good;
    inventory->header.major = 2;
    refused(inventory, size,
            "f: an inventory of another layout, got 2; use the library of the same release as the "
            "installer");
    inventory->header = good;
    inventory->header.file_state = GS_FILE_RETIRED;
    refused(inventory, size,
            "f: an inventory that is not in use (1), got 2; run the installer again");
    inventory->header = good;
    inventory->header.file_size++;
    CHECK_NUMBER(gs_validate(inventory, size, "f", NULL ? NULL : &(struct gs_error){""}), -1);
    inventory->header = good;
    inventory->header.gpu_stride -= 64;
    refused(inventory, size, "f: offsets that do not fit, got 12288; run the installer again");
    inventory->header = good;
    inventory->header.gpu_slots = 65;
    refused(inventory, size, "f: slots that do not fit, got 65; run the installer again");
    inventory->header = good;
    inventory->header.gpu_offset += 8;
    refused(inventory, size, "f: slots that do not fit, got 64; run the installer again");
    /* A newer writer's larger GPUs are fine. */
    inventory->header = good;
    inventory->header.gpu_slots = 32;
    inventory->header.gpu_stride *= 2;
    CHECK_NUMBER(gs_validate(inventory, size, "f", &(struct gs_error){""}), 0);
    free(inventory);
}

static void files(void) {
    struct gs_error error = {""};
    struct gs_mapping mapping;
    CHECK_NUMBER(gs_map("/nowhere/x", 0, &mapping, &error), -1);
    CHECK_TEXT(
        error.text,
        "/nowhere/x: cannot be opened, got No such file or directory; check that it is there");
    char folder[] = "/tmp/gpu-sim-find-XXXXXX", path[GS_PATH_SIZE], name[GS_PATH_SIZE];
    CHECK(mkdtemp(folder) != NULL);
    CHECK_NUMBER(gs_find(folder, path, sizeof path, &error), 1);
    CHECK_NUMBER(gs_find("/nowhere", path, sizeof path, &error), 1);

    snprintf(name, sizeof name, "%s/libnvidia-gpu-sim.so.2", folder);
    int file = open(name, O_WRONLY | O_CREAT, 0600);
    CHECK_NUMBER(gs_find(folder, path, sizeof path, &error), -1); /* there, and of no use */
    CHECK(strstr(error.text, name) == error.text);
    CHECK_TEXT(error.text + strlen(name), ": empty; run the installer again");
    struct gs_inventory *inventory = fresh();
    CHECK(write(file, inventory, gs_inventory_size()) == (ssize_t)gs_inventory_size());
    close(file);
    CHECK_NUMBER(gs_find(folder, path, sizeof path, &error), 0);
    CHECK_TEXT(path, name);

    /* A retired one does not hide a live one, whatever its name. */
    char retired[GS_PATH_SIZE];
    snprintf(retired, sizeof retired, "%s/libnvidia-gpu-sim.so.9", folder);
    inventory->header.file_state = GS_FILE_RETIRED;
    file = open(retired, O_WRONLY | O_CREAT, 0600);
    CHECK(write(file, inventory, gs_inventory_size()) == (ssize_t)gs_inventory_size());
    close(file);
    CHECK_NUMBER(gs_find(folder, path, sizeof path, &error), 0);
    CHECK_TEXT(path, name);
    CHECK_NUMBER(gs_map(name, 0, &mapping, &error), 0);
    CHECK_NUMBER(mapping.inventory->header.major, GS_MAJOR);
    gs_unmap(&mapping);
    CHECK(mapping.inventory == NULL);
    free(inventory);
    unlink(name);
    unlink(retired);
    rmdir(folder);
}

static void roots(void) {
    char root[GS_PATH_SIZE] = "";
    CHECK_NUMBER(gs_root_of("/usr/lib64", root), 0);
    CHECK_TEXT(root, "");
    CHECK_NUMBER(gs_root_of("/opt/nvidia/mock/usr/lib64", root), 0);
    CHECK_TEXT(root, "/opt/nvidia/mock");
    CHECK_NUMBER(gs_root_of("/r/usr/lib/x86_64-linux-gnu", root), 0);
    CHECK_TEXT(root, "/r");
    CHECK_NUMBER(gs_root_of("/home/me/build", root), -1);
}

/* A writer flips all day; whoever copies gets one state or another, never a mixture. */
static struct gs_gpu gpu;
static int stop;

static void *write_states(void *unused) {
    (void)unused;
    for (uint32_t round = 1; !__atomic_load_n(&stop, __ATOMIC_ACQUIRE); round++) {
        struct gs_state *next = &gpu.state[!gs_flip(&gpu.state_flip)];
        next->lost = round;
        next->seed = round;
        next->memory_used = round;
        gs_flip_publish(&gpu.state_flip);
        usleep(1);
    }
    return NULL;
}

static void torn(void) {
    pthread_t thread;
    struct gs_state state;
    int mixed = 0;
    uint32_t seen = 0;
    CHECK_NUMBER(pthread_create(&thread, NULL, write_states, NULL), 0);
    for (long i = 0; i < 100000000 && seen < 300;
         i++) { /* until 300 writes were met, however slow the machine */
        gs_read_state(&gpu, &state);
        mixed += state.lost != state.seed || state.seed != state.memory_used || state.lost < seen;
        seen = state.lost;
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    CHECK_NUMBER(mixed, 0);
    CHECK(seen >= 300);
}

int main(void) {
    headers();
    files();
    roots();
    torn();
    return check_result();
}
