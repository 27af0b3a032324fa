/* SPDX-License-Identifier: Apache-2.0
 *
 * Mapping, checking and reading inventories; see reader.h. */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "text.h"

static int refuse(struct gs_error *error, const char *source, const char *what,
                  const char *remedy) {
    gs_error_set(error, source, what, NULL, remedy);
    return -1;
}

static int refuse_number(struct gs_error *error, const char *source, const char *what,
                         uint64_t number, const char *remedy) {
    char digits[24];
    struct gs_text text = gs_text_in(digits, sizeof digits);
    gs_text_add_number(&text, number);
    gs_error_set(error, source, what, digits, remedy);
    return -1;
}

/* The one pointer that a file has: from a GPU's batch to the header, or none yet. */
static int batches_fit(const char *data, const struct gs_header *header) {
    for (uint32_t slot = 0; slot < header->gpu_slots; slot++) {
        size_t at =
            header->gpu_offset + (size_t)slot * header->gpu_stride + offsetof(struct gs_gpu, batch);
        int64_t to_header, wanted = (int64_t)offsetof(struct gs_header, batch) - (int64_t)at;
        memcpy(&to_header, data + at + offsetof(struct gs_batch, header), sizeof to_header);
        if (to_header && to_header != wanted) {
            return 0;
        }
    }
    return 1;
}

int gs_validate(const void *data, size_t size, const char *source, struct gs_error *error) {
    const char *again = "run the installer again";
    struct gs_header header;
    if (size < sizeof header) {
        return refuse_number(error, source, "too short for an inventory", size, again);
    }
    memcpy(&header, data, sizeof header);
    if (memcmp(header.magic, GS_MAGIC, sizeof header.magic) != 0) {
        return refuse(error, source, "not an inventory",
                      "name the file that gpu-sim install wrote");
    }
    if (header.major != GS_MAJOR) {
        return refuse_number(error, source, "an inventory of another layout", header.major,
                             "use the library of the same release as the installer");
    }
    if (header.file_state != GS_FILE_LIVE) {
        return refuse_number(error, source, "an inventory that is not in use (1)",
                             header.file_state, again);
    }
    if (header.file_size > size) {
        return refuse_number(error, source, "a cut inventory", size, again);
    }
    if (header.header_size < sizeof header || header.gpu_stride < sizeof(struct gs_gpu) ||
        header.gpu_stride % 8 || header.gpu_offset % 8 || header.gpu_offset < header.header_size) {
        return refuse_number(error, source, "offsets that do not fit", header.gpu_stride, again);
    }
    if (header.gpu_slots > GS_SLOTS ||
        header.gpu_offset + (uint64_t)header.gpu_slots * header.gpu_stride > header.file_size) {
        return refuse_number(error, source, "slots that do not fit", header.gpu_slots, again);
    }
    if (!batches_fit(data, &header)) {
        return refuse(error, source, "a batch that points outside of its header", again);
    }
    uint32_t count = header.node[gs_flip(&header.node_flip)].spec.count;
    if (count > header.gpu_slots) {
        return refuse_number(error, source, "more GPUs than slots", count, again);
    }
    return 0;
}

int gs_map(const char *path, int writable, struct gs_mapping *mapping, struct gs_error *error) {
    int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    int file = open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    memset(mapping, 0, sizeof *mapping);
    if (file < 0) {
        gs_error_set(error, path, "cannot be opened", strerror(errno), "check that it is there");
        return -1;
    }
    /* The kernel's own call: libc's fstat() binds to glibc 2.33. */
    struct stat status;
    memset(&status, 0, sizeof status);
    off_t size = syscall(SYS_fstat, file, &status) == 0 ? status.st_size : 0;
    void *data = size > 0 ? mmap(NULL, (size_t)size, protection, MAP_SHARED, file, 0) : MAP_FAILED;
    int code = errno;
    close(file);
    if (size == 0) {
        return refuse(error, path, "empty", "run the installer again");
    }
    if (data == MAP_FAILED) {
        gs_error_set(error, path, "cannot be mapped", strerror(code),
                     "check memory and permissions");
        return -1;
    }
    if (gs_validate(data, (size_t)size, path, error)) {
        munmap(data, (size_t)size);
        return -1;
    }
    mapping->inventory = data;
    mapping->size = (size_t)size;
    mapping->writable = writable;
    mapping->device = (uint64_t)status.st_dev;
    mapping->inode = (uint64_t)status.st_ino;
    return 0;
}

void gs_unmap(struct gs_mapping *mapping) {
    if (mapping->inventory) {
        munmap(mapping->inventory, mapping->size);
    }
    memset(mapping, 0, sizeof *mapping);
}

const struct gs_gpu *gs_gpu_at(const struct gs_inventory *inventory, uint32_t slot) {
    return (const struct gs_gpu *)(const void *)((const char *)inventory +
                                                 inventory->header.gpu_offset +
                                                 (size_t)slot * inventory->header.gpu_stride);
}

typedef uint32_t sequence_of(const void *group);

static uint32_t flip_sequence(const void *flip) {
    return __atomic_load_n(&((const struct gs_flip *)flip)->sequence, __ATOMIC_ACQUIRE);
}

static uint32_t state_sequence(const void *gpu) {
    return gs_state_sequence(gpu);
}

/* Copies the good one of two; again if a writer finished meanwhile. A writer that never rests would
 * need to be faster than a copy, hence the bound. */
static void copy_group(sequence_of *sequence, const void *group, const void *copies, size_t size,
                       void *out) {
    for (unsigned attempt = 0; attempt < GS_ATTEMPTS; attempt++) {
        uint32_t before = sequence(group);
        memcpy(out, (const char *)copies + (size_t)(before & 1u) * size, size);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (sequence(group) == before) {
            return;
        }
    }
}

/* A text of a broken file ends with its field at the latest. */
#define END(text) ((text)[sizeof(text) - 1] = '\0')

void gs_read_node(const struct gs_inventory *inventory, struct gs_node *node) {
    copy_group(flip_sequence, &inventory->header.node_flip, inventory->header.node, sizeof *node,
               node);
    END(node->driver_version);
    END(node->nvml_version);
    END(node->spec.profile);
    END(node->spec.name);
    END(node->spec.driver_version);
    END(node->spec.node);
    END(node->spec.release_namespace);
    END(node->spec.release);
}

void gs_read_config(const struct gs_gpu *gpu, struct gs_config *config) {
    copy_group(flip_sequence, &gpu->config_flip, gpu->config, sizeof *config, config);
    END(config->name);
    END(config->uuid);
    END(config->serial);
    END(config->vbios);
    END(config->board_part_number);
    END(config->gpu_part_number);
    END(config->inforom_image);
    END(config->inforom_oem);
    END(config->inforom_ecc);
    END(config->inforom_power);
    END(config->profile);
    END(config->chip);
}

void gs_read_state(const struct gs_gpu *gpu, struct gs_state *state) {
    copy_group(state_sequence, gpu, gpu->state, sizeof *state, state);
}

void gs_read_allocation(const struct gs_gpu *gpu, struct gs_allocation *allocation) {
    copy_group(flip_sequence, &gpu->allocation_flip, gpu->allocation, sizeof *allocation,
               allocation);
    for (unsigned i = 0; i < GS_PROCESSES; i++) {
        END(allocation->processes[i].name);
    }
}
