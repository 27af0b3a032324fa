/* SPDX-License-Identifier: Apache-2.0
 * Each field of nvidia-smi's queries with its names, its unit and the question it asks. */
#include "smi_fields.h"

#include <string.h>

/* The real one has a counter for each memory, and one for all of them. */
#define ECC_FIELD(name, error, counter, location)                                                  \
    {name, "", "", smi_ecc_counter, SMI_COUNTER(error, counter, location)}
#define ECC_FIELDS(prefix, error, counter)                                                         \
    ECC_FIELD(prefix "device_memory", error, counter, NVML_MEMORY_LOCATION_DEVICE_MEMORY),         \
        ECC_FIELD(prefix "dram", error, counter, NVML_MEMORY_LOCATION_DRAM),                       \
        ECC_FIELD(prefix "register_file", error, counter, NVML_MEMORY_LOCATION_REGISTER_FILE),     \
        ECC_FIELD(prefix "l1_cache", error, counter, NVML_MEMORY_LOCATION_L1_CACHE),               \
        ECC_FIELD(prefix "l2_cache", error, counter, NVML_MEMORY_LOCATION_L2_CACHE),               \
        ECC_FIELD(prefix "texture_memory", error, counter, NVML_MEMORY_LOCATION_TEXTURE_MEMORY),   \
        ECC_FIELD(prefix "cbu", error, counter, NVML_MEMORY_LOCATION_CBU),                         \
        ECC_FIELD(prefix "sram", error, counter, NVML_MEMORY_LOCATION_SRAM),                       \
        ECC_FIELD(prefix "total", error, counter, SMI_ALL_LOCATIONS)

/* In the order of --help-query-gpu. */
static const struct smi_field gpu_fields[] = {
    {"timestamp", "", "", smi_node, SMI_TIMESTAMP},
    {"driver_version", "", "", smi_node, SMI_DRIVER},
    {"vgpu_driver_capability.heterogenous_multivGPU", "", "", smi_absent, 0},
    {"count", "", "", smi_node, SMI_COUNT},
    {"name", "gpu_name", "", smi_identity, SMI_NAME},
    {"serial", "gpu_serial", "", smi_identity, SMI_SERIAL},
    {"uuid", "gpu_uuid", "", smi_identity, SMI_UUID},
    {"pci.bus_id", "gpu_bus_id", "", smi_pci, SMI_BUS_ID},
    {"pci.domain", "", "", smi_pci, SMI_DOMAIN},
    {"pci.bus", "", "", smi_pci, SMI_BUS},
    {"pci.device", "", "", smi_pci, SMI_DEVICE},
    {"pci.baseClass", "", "", smi_pci, SMI_BASE_CLASS},
    {"pci.subClass", "", "", smi_pci, SMI_SUB_CLASS},
    {"pci.device_id", "", "", smi_pci, SMI_DEVICE_ID},
    {"pci.sub_device_id", "", "", smi_pci, SMI_SUB_DEVICE_ID},
    {"vgpu_device_capability.fractional_multiVgpu", "", "", smi_vgpu,
     NVML_DEVICE_VGPU_CAP_FRACTIONAL_MULTI_VGPU},
    {"vgpu_device_capability.heterogeneous_timeSlice_profile", "", "", smi_vgpu,
     NVML_DEVICE_VGPU_CAP_HETEROGENEOUS_TIMESLICE_PROFILES},
    {"vgpu_device_capability.heterogeneous_timeSlice_sizes", "", "", smi_vgpu,
     NVML_DEVICE_VGPU_CAP_HETEROGENEOUS_TIMESLICE_SIZES},
    {"pcie.link.gen.current", "", "", smi_number, SMI_GEN_NOW},
    {"pcie.link.gen.gpucurrent", "", "", smi_number, SMI_GEN_NOW},
    {"pcie.link.gen.max", "", "", smi_number, SMI_GEN_MAX},
    {"pcie.link.gen.gpumax", "", "", smi_number, SMI_DEVICE_GEN_MAX},
    {"pcie.link.gen.hostmax", "", "", smi_absent, 0},
    {"pcie.link.width.current", "", "", smi_number, SMI_WIDTH_NOW},
    {"pcie.link.width.max", "", "", smi_number, SMI_WIDTH_MAX},
    {"index", "", "", smi_number, SMI_INDEX},
    {"display_mode", "", "", smi_switch, SMI_DISPLAY},
    {"display_active", "", "", smi_switch, SMI_DISPLAY_ACTIVE},
    {"persistence_mode", "", "", smi_switch, SMI_PERSISTENCE},
    {"addressing_mode", "", "", smi_mode, SMI_ADDRESSING},
    {"accounting.mode", "", "", smi_switch, SMI_ACCOUNTING},
    {"accounting.buffer_size", "", "", smi_number, SMI_ACCOUNTING_BUFFER},
    {"driver_model.current", "", "", smi_pair, SMI_DRIVER_MODEL},
    {"driver_model.pending", "", "", smi_pair, SMI_DRIVER_MODEL | SMI_PENDING},
    {"vbios_version", "", "", smi_identity, SMI_VBIOS},
    {"inforom.img", "inforom.image", "", smi_identity, SMI_INFOROM_IMAGE},
    {"inforom.oem", "", "", smi_identity, SMI_INFOROM_OEM},
    {"inforom.ecc", "", "", smi_identity, SMI_INFOROM_ECC},
    {"inforom.pwr", "inforom.power", "", smi_identity, SMI_INFOROM_POWER},
    {"reset_status.reset_required", "", "", smi_field, NVML_FI_DEV_RESET_STATUS},
    {"reset_status.drain_and_reset_recommended", "", "", smi_field,
     NVML_FI_DEV_DRAIN_AND_RESET_STATUS},
    {"gom.current", "gpu_operation_mode.current", "", smi_pair, SMI_GOM},
    {"gom.pending", "gpu_operation_mode.pending", "", smi_pair, SMI_GOM | SMI_PENDING},
    {"fan.speed", "", "%", smi_number, SMI_FAN},
    {"pstate", "", "", smi_mode, SMI_PSTATE},
    {"clocks_event_reasons.supported", "clocks_throttle_reasons.supported", "", smi_reasons,
     SMI_REASONS_SUPPORTED},
    {"clocks_event_reasons.active", "clocks_throttle_reasons.active", "", smi_reasons,
     SMI_REASONS_ACTIVE},
    {"clocks_event_reasons.gpu_idle", "clocks_throttle_reasons.gpu_idle", "", smi_reason_or_none,
     0},
    {"clocks_event_reasons.applications_clocks_setting",
     "clocks_throttle_reasons.applications_clocks_setting", "", smi_reason_or_none, 1},
    {"clocks_event_reasons.sw_power_cap", "clocks_throttle_reasons.sw_power_cap", "",
     smi_reason_or_none, 2},
    {"clocks_event_reasons.hw_slowdown", "clocks_throttle_reasons.hw_slowdown", "",
     smi_reason_or_none, 3},
    {"clocks_event_reasons.hw_thermal_slowdown", "clocks_throttle_reasons.hw_thermal_slowdown", "",
     smi_reason_or_none, 6},
    {"clocks_event_reasons.hw_power_brake_slowdown",
     "clocks_throttle_reasons.hw_power_brake_slowdown", "", smi_reason_or_none, 7},
    {"clocks_event_reasons.sw_thermal_slowdown", "clocks_throttle_reasons.sw_thermal_slowdown", "",
     smi_reason, 5},
    {"clocks_event_reasons.sync_boost", "clocks_throttle_reasons.sync_boost", "",
     smi_reason_or_none, 4},
    {"memory.total", "", "MiB", smi_memory, SMI_FRAMEBUFFER | SMI_TOTAL},
    {"memory.reserved", "", "MiB", smi_memory, SMI_FRAMEBUFFER | SMI_RESERVED},
    {"memory.used", "", "MiB", smi_memory, SMI_FRAMEBUFFER | SMI_USED},
    {"memory.free", "", "MiB", smi_memory, SMI_FRAMEBUFFER | SMI_FREE},
    {"compute_mode", "", "", smi_mode, SMI_COMPUTE_MODE},
    {"compute_cap", "", "", smi_identity, SMI_CAPABILITY},
    {"utilization.gpu", "", "%", smi_utilization, SMI_GPU_LOAD},
    {"utilization.memory", "", "%", smi_utilization, SMI_MEMORY_LOAD},
    {"utilization.encoder", "", "%", smi_utilization, SMI_ENCODER_LOAD},
    {"utilization.decoder", "", "%", smi_utilization, SMI_DECODER_LOAD},
    {"utilization.jpeg", "", "%", smi_utilization, SMI_JPEG_LOAD},
    {"utilization.ofa", "", "%", smi_utilization, SMI_OFA_LOAD},
    {"encoder.stats.sessionCount", "", "", smi_sessions, SMI_SESSIONS},
    {"encoder.stats.averageFps", "", "", smi_sessions, SMI_FPS},
    {"encoder.stats.averageLatency", "", "", smi_sessions, SMI_LATENCY},
    {"ecc.mode.current", "", "", smi_pair, SMI_ECC},
    {"ecc.mode.pending", "", "", smi_pair, SMI_ECC | SMI_PENDING},
    ECC_FIELDS("ecc.errors.corrected.volatile.", NVML_MEMORY_ERROR_TYPE_CORRECTED,
               NVML_VOLATILE_ECC),
    ECC_FIELDS("ecc.errors.corrected.aggregate.", NVML_MEMORY_ERROR_TYPE_CORRECTED,
               NVML_AGGREGATE_ECC),
    ECC_FIELDS("ecc.errors.uncorrected.volatile.", NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
               NVML_VOLATILE_ECC),
    ECC_FIELDS("ecc.errors.uncorrected.aggregate.", NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
               NVML_AGGREGATE_ECC),
    {"retired_pages.single_bit_ecc.count", "retired_pages.sbe", "", smi_retired, SMI_SINGLE_BIT},
    {"retired_pages.double_bit.count", "retired_pages.dbe", "", smi_retired, SMI_DOUBLE_BIT},
    {"retired_pages.pending", "", "", smi_retired, SMI_PAGES_PENDING},
    {"temperature.gpu", "", "", smi_number, SMI_TEMPERATURE},
    {"temperature.gpu.tlimit", "", "", smi_margin, 0},
    {"temperature.memory", "", "", smi_memory_temperature, 0},
    {"power.management", "", "", smi_switch, SMI_POWER_MANAGEMENT},
    {"power.draw", "", "W", smi_power, SMI_DRAW},
    {"power.draw.average", "", "W", smi_power_field, NVML_FI_DEV_POWER_AVERAGE},
    {"power.draw.instant", "", "W", smi_power_field, NVML_FI_DEV_POWER_INSTANT},
    {"power.limit", "", "W", smi_power, SMI_LIMIT},
    {"enforced.power.limit", "", "W", smi_power, SMI_ENFORCED},
    {"power.default_limit", "", "W", smi_power, SMI_DEFAULT},
    {"power.min_limit", "", "W", smi_power, SMI_LOWEST},
    {"power.max_limit", "", "W", smi_power, SMI_HIGHEST},
    {"clocks.current.graphics", "clocks.gr", "MHz", smi_clock, SMI_CLOCK_NOW | NVML_CLOCK_GRAPHICS},
    {"clocks.current.sm", "clocks.sm", "MHz", smi_clock, SMI_CLOCK_NOW | NVML_CLOCK_SM},
    {"clocks.current.memory", "clocks.mem", "MHz", smi_clock, SMI_CLOCK_NOW | NVML_CLOCK_MEM},
    {"clocks.current.video", "clocks.video", "MHz", smi_clock, SMI_CLOCK_NOW | NVML_CLOCK_VIDEO},
    {"clocks.applications.graphics", "clocks.applications.gr", "MHz", smi_clock,
     SMI_CLOCK_APP | NVML_CLOCK_GRAPHICS},
    {"clocks.applications.memory", "clocks.applications.mem", "MHz", smi_clock,
     SMI_CLOCK_APP | NVML_CLOCK_MEM},
    {"clocks.default_applications.graphics", "clocks.default_applications.gr", "MHz", smi_clock,
     SMI_CLOCK_APP_DEFAULT | NVML_CLOCK_GRAPHICS},
    {"clocks.default_applications.memory", "clocks.default_applications.mem", "MHz", smi_clock,
     SMI_CLOCK_APP_DEFAULT | NVML_CLOCK_MEM},
    {"clocks.max.graphics", "clocks.max.gr", "MHz", smi_clock, SMI_CLOCK_MAX | NVML_CLOCK_GRAPHICS},
    {"clocks.max.sm", "", "MHz", smi_clock, SMI_CLOCK_MAX | NVML_CLOCK_SM},
    {"clocks.max.memory", "clocks.max.mem", "MHz", smi_clock, SMI_CLOCK_MAX | NVML_CLOCK_MEM},
    {"mig.mode.current", "", "", smi_pair, SMI_MIG},
    {"mig.mode.pending", "", "", smi_pair, SMI_MIG | SMI_PENDING},
    {"gsp.mode.current", "", "", smi_pair, SMI_GSP},
    {"gsp.mode.default", "", "", smi_pair, SMI_GSP | SMI_PENDING},
    {"c2c.mode", "", "", smi_mode, SMI_C2C},
    {"protected_memory.total", "", "MiB", smi_memory, SMI_PROTECTED | SMI_TOTAL},
    {"protected_memory.used", "", "MiB", smi_memory, SMI_PROTECTED | SMI_USED},
    {"protected_memory.free", "", "MiB", smi_memory, SMI_PROTECTED | SMI_FREE},
    {"fabric.state", "", "", smi_fabric, SMI_FABRIC_QUERY | SMI_FABRIC_STATE},
    {"fabric.status", "", "", smi_fabric, SMI_FABRIC_QUERY | SMI_FABRIC_STATUS},
};

/* Of --query-compute-apps; with smi_process the row of the process says it. */
static const struct smi_field process_fields[] = {
    {"timestamp", "", "", smi_node, SMI_TIMESTAMP},
    {"gpu_name", "", "", smi_identity, SMI_NAME},
    {"gpu_bus_id", "", "", smi_pci, SMI_BUS_ID},
    {"gpu_serial", "", "", smi_identity, SMI_SERIAL},
    {"gpu_uuid", "", "", smi_identity, SMI_UUID},
    {"pid", "", "", NULL, SMI_PROCESS_PID},
    {"process_name", "name", "", NULL, SMI_PROCESS_NAME},
    {"used_gpu_memory", "used_memory", "MiB", NULL, SMI_PROCESS_MEMORY},
};

/* Of --query-remapped-rows; yes and no are numbers there. */
static const struct smi_field row_fields[] = {
    {"timestamp", "", "", smi_node, SMI_TIMESTAMP},
    {"gpu_name", "", "", smi_identity, SMI_NAME},
    {"gpu_bus_id", "", "", smi_pci, SMI_BUS_ID},
    {"gpu_serial", "", "", smi_identity, SMI_SERIAL},
    {"gpu_uuid", "", "", smi_identity, SMI_UUID},
    {"remapped_rows.correctable", "", "", smi_remapped, SMI_REMAPPED_CORRECTED},
    {"remapped_rows.uncorrectable", "", "", smi_remapped, SMI_REMAPPED_UNCORRECTED},
    {"remapped_rows.pending", "", "", smi_remapped, SMI_REMAPPED_PENDING | SMI_REMAPPED_NUMBER},
    {"remapped_rows.failure", "", "", smi_remapped, SMI_REMAPPED_FAILED | SMI_REMAPPED_NUMBER},
};

const struct smi_query smi_queries[] = {
    {"--query-gpu", "--help-query-gpu", gpu_fields, sizeof gpu_fields / sizeof *gpu_fields},
    {"--query-compute-apps", "--help-query-compute-apps", process_fields,
     sizeof process_fields / sizeof *process_fields},
    {"--query-remapped-rows", "--help-query-remapped-rows", row_fields,
     sizeof row_fields / sizeof *row_fields},
};

const struct smi_field *smi_find_field(const struct smi_query *query, const char *name,
                                       size_t length) {
    for (size_t i = 0; i < query->count; i++) {
        const char *names[] = {query->fields[i].name, query->fields[i].other};
        for (int j = 0; j < 2; j++) {
            if (length && strlen(names[j]) == length && !memcmp(names[j], name, length)) {
                return &query->fields[i];
            }
        }
    }
    return NULL;
}
