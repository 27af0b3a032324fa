/* SPDX-License-Identifier: Apache-2.0
 *
 * The inventory: the GPUs of one node as one packed struct in a file that everybody maps.
 * The only definition of its layout; read by the library and all tools, written by the node program.
 * What must stay true: fields are only appended (into `reserved`), the file never shrinks, and a
 * reader needs no lock: whatever must change together lives twice, see gs_flip(). */
#ifndef GPU_SIM_INVENTORY_H
#define GPU_SIM_INVENTORY_H

#include <stddef.h>
#include <stdint.h>

#define GS_MAGIC "GPUSIM\r\n" /* the line end shows a file that went through a text conversion */
#define GS_MAJOR 1u           /* another major: a reader refuses the file */
#define GS_MINOR 1u           /* counts appended fields */
#define GS_SLOTS 64u     /* GPU slots in every file, used or not: growing a node moves nothing */
#define GS_EVENTS 256u   /* ring size, a power of two */
#define GS_PROCESSES 16u /* process rows for one GPU */
#define GS_FAULTS 16u    /* injected return codes for one GPU, and for the node */
#define GS_XIDS 8u       /* errors of one GPU that stand until cleared */
#define GS_MEM_CLOCKS 4u /* memory clocks that one board supports */
#define GS_PCI_DOMAIN                                                                              \
    0x4E56u /* "NV": a PCI domain that no host has, so no real device is shadowed */

/* Life of a file. A reader maps only GS_FILE_LIVE. */
enum gs_file_state { GS_FILE_BUILDING = 0, GS_FILE_LIVE = 1, GS_FILE_RETIRED = 2 };

/* Life of a slot. A removed GPU stays for a pod that still holds it and answers GPU_IS_LOST. */
enum gs_slot_state { GS_SLOT_EMPTY = 0, GS_SLOT_PRESENT = 1, GS_SLOT_REMOVED = 2 };

enum gs_uuid_format { GS_UUID_RFC4122 = 0, GS_UUID_PLAIN = 1 };

/* What was asked for: the same parameters as flags, environment variables and chart values.
 * Kept in the file, so that a reader's environment can change one of them and derive the rest. */
struct gs_spec {
    uint32_t count;       /* GPUs, 0..GS_SLOTS */
    uint32_t uuid_format; /* enum gs_uuid_format */
    uint64_t memory_mib;  /* MiB; 0: the profile's */
    char profile[64];
    char name[96];           /* "": the profile's */
    char driver_version[80]; /* "": the build's default */
    char node[256];          /* with the next two: what UUIDs and serials are derived from */
    char release_namespace[64];
    char release[64];
    char reserved[384];
};

/* Facts of the node as a whole. */
struct gs_node {
    struct gs_spec spec;
    char driver_version[80]; /* as nvmlSystemGetDriverVersion answers */
    char nvml_version[80];   /* as nvmlSystemGetNVMLVersion answers */
    int32_t cuda_version;    /* 12040 is 12.4 */
    uint32_t reserved0;
    char reserved[344];
};

/* Facts of one board: do not change while a client runs. Memory in bytes, power in milliwatts,
 * clocks in MHz, temperatures in degrees Celsius. */
enum gs_feature {
    GS_HAS_MIG = 1u << 0,
    GS_HAS_ECC = 1u << 1,
    GS_HAS_RETIRED_PAGES = 1u << 2,
    GS_HAS_ROW_REMAP = 1u << 3,
    GS_HAS_TLIMIT = 1u << 4, /* temperatures as a margin, from Ada on */
    GS_HAS_MEM_TEMP = 1u << 5,
    GS_HAS_APP_CLOCKS = 1u << 6,
    GS_HAS_FABRIC = 1u << 7,
    GS_HAS_C2C = 1u << 8,
    GS_HAS_AVERAGE_POWER = 1u << 9,
    GS_HAS_MEM_POWER = 1u << 10,
    GS_HAS_NVSWITCH = 1u << 11, /* NVLinks end in switches, not in other GPUs */
    GS_HAS_JPEG = 1u << 12,
    GS_HAS_OFA = 1u << 13,
    GS_HAS_CONF_COMPUTE = 1u << 14,
    GS_HAS_SPARSE_MODE = 1u << 15
};

struct gs_mem_clock {
    uint32_t memory_mhz;
    uint32_t graphics_max_mhz;
    uint32_t graphics_min_mhz;
    uint32_t graphics_step_mhz;
};

struct gs_config {
    char name[96];
    char uuid[80];
    char serial[32];
    char vbios[32];
    char board_part_number[32];
    char gpu_part_number[32];
    char inforom_image[16];
    char inforom_oem[16];
    char inforom_ecc[16];
    char inforom_power[16]; /* "": not on this board */
    uint64_t features;      /* enum gs_feature */
    uint64_t memory_total;
    uint64_t memory_reserved;
    uint64_t bar1_total;
    uint32_t minor; /* /dev/nvidia<minor> */
    uint32_t pci_domain;
    uint32_t pci_bus;
    uint32_t pci_device;
    uint32_t pci_device_id;    /* device << 16 | vendor, as NVML shows it */
    uint32_t pci_subsystem_id; /* the same */
    uint32_t pci_base_class;
    uint32_t pci_sub_class;
    uint32_t pcie_gen_max;
    uint32_t pcie_width_max;
    int32_t numa_node;   /* -1: unknown, as on a node without the board in /sys */
    uint32_t pci_switch; /* GPUs with the same number sit behind one PCIe switch */
    uint32_t module_id;
    uint32_t brand;        /* nvmlBrandType_t */
    uint32_t architecture; /* nvmlDeviceArchitecture_t */
    uint32_t compute_major;
    uint32_t compute_minor;
    uint32_t cores;
    uint32_t multiprocessors;
    uint32_t memory_bus_width;
    uint32_t fans;
    uint32_t nvlinks;
    uint32_t nvlink_version;
    uint32_t nvlink_mbps; /* one link, one direction, MB/s */
    uint32_t power_default;
    uint32_t power_min;
    uint32_t power_max;
    uint32_t clock_graphics_max;
    uint32_t clock_sm_max;
    uint32_t clock_memory_max;
    uint32_t clock_video_max;
    uint32_t clock_graphics_boost; /* highest that a customer may set */
    uint32_t clock_graphics_app;   /* default application clocks */
    uint32_t clock_memory_app;
    struct gs_mem_clock mem_clocks[GS_MEM_CLOCKS]; /* memory_mhz 0 ends the list */
    int32_t temp_shutdown;
    int32_t temp_slowdown;
    int32_t temp_gpu_max;
    int32_t temp_mem_max;
    uint32_t copy_engines;
    uint32_t decoders;
    uint32_t encoders;
    uint32_t jpegs;
    uint32_t ofas;
    uint32_t max_mig_devices;
    uint32_t remap_banks; /* row remapper histogram, all banks */
    char profile[64];
    char chip[16]; /* "ga100" … */
    char reserved[1324];
};

/* A reading as a pure function of file and clock: low when idle, a seeded walk between low and high. */
struct gs_reading {
    int32_t low;
    int32_t high;
};

/* A counter: value at a moment of CLOCK_BOOTTIME, and what it gains in a second after that. */
struct gs_counter {
    uint64_t value;
    uint64_t at_ns;
    uint64_t per_second;
};

/* A return code injected into one function. function is gs_function_id() of its C name, so that
 * files and library builds need not agree on an order. 0 ends the list; GS_NO_FUNCTION is a free place in it. */
struct gs_fault {
    uint32_t function;
    int32_t code;      /* nvmlReturn_t; NVML_SUCCESS for latency alone */
    uint64_t from_ns;  /* CLOCK_BOOTTIME */
    uint64_t until_ns; /* 0: until cleared */
};
#define GS_NO_FUNCTION 0xFFFFFFFFu

/* What belongs to the fault of the same place in its list. */
struct gs_fault_detail {
    uint32_t id;       /* another one for each fault ever set: what a process counts its calls by */
    uint32_t count;    /* calls of each process that get it; 0: all */
    uint64_t delay_ns; /* how long such a call takes */
};

/* An error that stands until cleared: what a repair has to raise again. */
struct gs_xid {
    uint32_t xid; /* 0 ends the list */
    uint32_t reserved;
};

/* Readings that show what was set, whatever the GPU's holder does. */
enum gs_override {
    GS_SET_UTILIZATION = 1u << 0,
    GS_SET_MEMORY_UTILIZATION = 1u << 1,
    GS_SET_MEMORY_USED = 1u << 2,
    GS_SET_PSTATE = 1u << 3
};

/* What changes at run time and belongs to the board: written by ctl and by root's setters. */
struct gs_state {
    uint32_t slot; /* enum gs_slot_state */
    uint32_t lost; /* not 0: every getter answers GPU_IS_LOST */
    uint32_t persistence_mode;
    uint32_t compute_mode;
    uint32_t ecc_current;
    uint32_t ecc_pending;
    uint32_t mig_current;
    uint32_t mig_pending;
    uint32_t power_limit;
    uint32_t clock_app_graphics;
    uint32_t clock_app_memory;
    uint32_t clock_lock_min; /* 0: not locked */
    uint32_t clock_lock_max;
    uint32_t pstate_idle;
    uint64_t throttle_reasons; /* beside what load implies */
    uint64_t nvlink_down;      /* bit per link */
    uint64_t seed;
    struct gs_reading temperature;
    struct gs_reading memory_temperature;
    struct gs_reading utilization_gpu; /* per cent; what an allocation adds is in gs_allocation */
    struct gs_reading utilization_memory;
    struct gs_reading power; /* mW */
    struct gs_reading clock_graphics;
    struct gs_reading clock_memory;
    struct gs_reading clock_video;
    struct gs_reading pcie_tx; /* KB/s */
    struct gs_reading pcie_rx;
    struct gs_counter energy; /* mJ */
    struct gs_counter pcie_replays;
    struct gs_counter nvlink_tx; /* KiB, all links */
    struct gs_counter nvlink_rx;
    struct gs_counter violation[8]; /* ns, by nvmlPerfPolicyType_t */
    uint64_t ecc_volatile[2][8];    /* [corrected, uncorrected][nvmlMemoryLocation_t] */
    uint64_t ecc_aggregate[2][8];
    uint32_t retired_pages[2]; /* [single bit, double bit] */
    uint32_t remapped_rows[4]; /* corrected, uncorrected, pending, failed */
    struct gs_fault faults[GS_FAULTS];
    uint64_t memory_used; /* bytes beside what the allocation's processes use */
    /* Since minor 1. */
    uint64_t lost_from_ns; /* CLOCK_BOOTTIME: `lost` counts from then on */
    struct gs_xid xids[GS_XIDS];
    struct gs_fault_detail fault_details[GS_FAULTS];
    uint32_t declared;   /* which declaration the faults come from; 0: none */
    uint32_t overridden; /* enum gs_override */
    uint32_t pstate;     /* with GS_SET_PSTATE */
    uint32_t reserved1;
    char reserved[584];
};

struct gs_process {
    uint32_t pid;          /* 0: no row */
    uint32_t kind;         /* bit 0 compute, bit 1 graphics, bit 2 MPS */
    uint64_t memory;       /* bytes */
    uint32_t gpu_instance; /* 0xFFFFFFFF without MIG */
    uint32_t compute_instance;
    uint32_t utilization_sm; /* its weight among the board's processes; with the next */
    uint32_t utilization_memory;
    char name[64];
};

/* Who holds the GPU: written by the node's agent only. */
struct gs_allocation {
    uint32_t allocated;
    uint32_t process_count;
    uint64_t since_ns;
    struct gs_reading utilization_gpu;
    struct gs_reading utilization_memory;
    struct gs_process processes[GS_PROCESSES];
    char reserved[480];
};

/* Which copy of a group is good: `sequence & 1`. A writer fills the other copy and then adds one,
 * so dying half-way leaves the good copy alone. A reader takes the copy and looks again: the number
 * unchanged means that no writer can have touched it meanwhile. */
struct gs_flip {
    uint32_t sequence;
};

/* A change of several GPUs that all see at once. The writer fills the other state of each, says here which sequence
 * that will be, and then stores the batch's number into the header: from that store on all of them are good.
 * Taking it over into each state_flip is only tidying up; the next writer does it for one that died. */
struct gs_batch {
    uint32_t number;   /* 0: none */
    uint32_t sequence; /* state_flip's, as soon as the header has the number */
    int64_t header;    /* bytes from this struct to the header's number; 0: none yet */
};

struct gs_gpu {
    struct gs_flip config_flip;
    struct gs_flip state_flip;
    struct gs_flip allocation_flip;
    uint32_t reserved0;
    struct gs_batch batch; /* since minor 1 */
    char reserved[32];
    struct gs_config config[2];
    struct gs_state state[2];
    struct gs_allocation allocation[2];
};

/* One event: good when `sequence` is its place in the ring plus one, before and after the copy. */
struct gs_event {
    uint64_t sequence;
    uint64_t type; /* nvmlEventType… bit */
    uint64_t data; /* the Xid, for an Xid event */
    uint64_t at_ns;
    uint32_t slot;
    uint32_t gpu_instance; /* 0xFFFFFFFF without MIG */
    uint32_t compute_instance;
    uint32_t reserved[5];
};

struct gs_ring {
    uint64_t head;  /* events ever written; the next goes to events[head % GS_EVENTS] */
    uint32_t futex; /* changes with each event: readers sleep on it, also on read-only mappings */
    uint32_t reserved0;
    uint64_t replay_from;     /* until replay_until_ns a new set begins with this event, not with */
    uint64_t replay_until_ns; /* the next: a repair tells the plugin that starts what stands */
    char reserved[32];
    struct gs_event events[GS_EVENTS];
};

struct gs_header {
    char magic[8];
    uint32_t major;
    uint32_t minor;
    uint32_t header_size; /* of this struct, as the writer knew it */
    uint32_t gpu_offset;  /* of the first gs_gpu */
    uint32_t gpu_stride;  /* a reader needs at least its own sizeof(struct gs_gpu) */
    uint32_t gpu_slots;
    uint64_t file_size;
    uint32_t file_state; /* enum gs_file_state */
    struct gs_flip node_flip;
    char boot_id[40];        /* of the kernel whose CLOCK_BOOTTIME the counters use */
    uint64_t generation;     /* one more with each configuration written */
    uint32_t fault_sequence; /* the last gs_fault_detail.id given */
    uint32_t declared;       /* as in gs_state, of the faults here; since minor 1 */
    struct gs_fault
        faults[GS_FAULTS]; /* for functions without a device: each place changes at once */
    struct gs_fault_detail fault_details[GS_FAULTS]; /* since minor 1 */
    uint32_t batch; /* number of the last gs_batch that is good; since minor 1 */
    char reserved[276];
    struct gs_node node[2];
    struct gs_ring ring;
};

struct gs_inventory {
    struct gs_header header;
    struct gs_gpu gpus[GS_SLOTS];
};

#define GS_LAYOUT(condition)                                                                       \
    _Static_assert(condition, "the layout of a released major version moved")
GS_LAYOUT(sizeof(struct gs_spec) == 1024);
GS_LAYOUT(sizeof(struct gs_node) == 1536);
GS_LAYOUT(sizeof(struct gs_config) == 2048);
GS_LAYOUT(sizeof(struct gs_state) == 2048);
GS_LAYOUT(sizeof(struct gs_process) == 96);
GS_LAYOUT(sizeof(struct gs_allocation) == 2048);
GS_LAYOUT(sizeof(struct gs_gpu) == 64 + 6 * 2048);
GS_LAYOUT(sizeof(struct gs_event) == 64);
GS_LAYOUT(offsetof(struct gs_gpu, batch) == 16);
GS_LAYOUT(offsetof(struct gs_header, batch) == 744);
GS_LAYOUT(offsetof(struct gs_header, node) == 1024);
GS_LAYOUT(offsetof(struct gs_header, ring) == 4096);
GS_LAYOUT(offsetof(struct gs_inventory, gpus) == 4096 + 64 + 64 * GS_EVENTS);

/* The good copy's number (0 or 1). */
static inline uint32_t gs_flip(const struct gs_flip *flip) {
    return __atomic_load_n(&flip->sequence, __ATOMIC_ACQUIRE) & 1u;
}

/* Makes the other copy, which the caller has filled, the good one. The fence keeps the next filling of the
 * old copy behind it, or arm64 could show a reader that filling under the old number. */
static inline void gs_flip_publish(struct gs_flip *flip) {
    __atomic_store_n(&flip->sequence, flip->sequence + 1u, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* Is what the batch announces in force? Only where the header says so and state_flip has not gone past it. */
static inline int gs_batch_done(const struct gs_batch *batch, uint32_t number, uint32_t sequence) {
    const void *done = (const char *)batch + batch->header;
    return batch->header && __atomic_load_n((const uint32_t *)done, __ATOMIC_ACQUIRE) == number &&
           __atomic_load_n(&batch->sequence, __ATOMIC_ACQUIRE) == sequence + 1u;
}

/* The sequence of a GPU's state. The batch is looked at before and after: between its end and ours lies no old state. */
static inline uint32_t gs_state_sequence(const struct gs_gpu *gpu) {
    for (;;) {
        uint32_t number = __atomic_load_n(&gpu->batch.number, __ATOMIC_ACQUIRE);
        uint32_t sequence = __atomic_load_n(&gpu->state_flip.sequence, __ATOMIC_ACQUIRE);
        if (!number) {
            return sequence;
        }
        int done = gs_batch_done(&gpu->batch, number, sequence);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(&gpu->batch.number, __ATOMIC_RELAXED) == number &&
            __atomic_load_n(&gpu->state_flip.sequence, __ATOMIC_RELAXED) == sequence) {
            return sequence + (uint32_t)done;
        }
    }
}

/* The state that is good. */
static inline const struct gs_state *gs_state_now(const struct gs_gpu *gpu) {
    return &gpu->state[gs_state_sequence(gpu) & 1u];
}

/* FNV-1a of a function's C name: how gs_fault names it. */
static inline uint32_t gs_function_id(const char *name) {
    uint32_t hash = 2166136261u;
    while (*name) {
        hash = (hash ^ (unsigned char)*name++) * 16777619u;
    }
    return hash;
}

#endif
