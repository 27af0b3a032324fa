/* SPDX-License-Identifier: Apache-2.0
 * What nvidia-smi tells of a GPU, one question for each family of facts. The table of fields (smi_fields.c) and the
 * report (smi_report.c) name the same questions, so a figure is the same in every view. */
#ifndef GPU_SIM_NODE_SMI_FACTS_H
#define GPU_SIM_NODE_SMI_FACTS_H

#include <nvml.h>
#include <stdbool.h>
#include <stddef.h>

struct smi_value {
    char text[160];
};

/* `what` is one of the family's. The text is without its unit, and only good with NVML_SUCCESS. */
typedef nvmlReturn_t smi_ask(nvmlDevice_t device, int what, struct smi_value *value);

nvmlReturn_t smi_say(struct smi_value *value, nvmlReturn_t answer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The answer's name in a report; a query puts it in brackets. */
const char *smi_failure(nvmlReturn_t answer);

/* --- smi_identity.c --- */
enum {
    SMI_NAME,
    SMI_SERIAL,
    SMI_UUID,
    SMI_VBIOS,
    SMI_BOARD_PART,
    SMI_GPU_PART,
    SMI_INFOROM_IMAGE,
    SMI_INFOROM_OEM,
    SMI_INFOROM_ECC,
    SMI_INFOROM_POWER,
    SMI_GSP_VERSION,
    SMI_BRAND,
    SMI_ARCHITECTURE,
    SMI_BOARD_ID,
    SMI_MULTI_GPU,
    SMI_CAPABILITY
};
smi_ask smi_identity;
enum { SMI_DRIVER, SMI_COUNT, SMI_TIMESTAMP, SMI_CUDA, SMI_PROGRAM, SMI_LIBRARY };
smi_ask smi_node; /* no device needed */
enum {
    SMI_BUS_ID,
    SMI_DOMAIN,
    SMI_BUS,
    SMI_DEVICE,
    SMI_DEVICE_ID,
    SMI_SUB_DEVICE_ID,
    SMI_BASE_CLASS,
    SMI_SUB_CLASS,
    SMI_PLACE /* the bus id, as headings and messages ask for it */
};
smi_ask smi_pci;

/* --- smi_modes.c --- */
enum { SMI_PERSISTENCE, SMI_DISPLAY, SMI_DISPLAY_ACTIVE, SMI_ACCOUNTING, SMI_POWER_MANAGEMENT };
smi_ask smi_switch;
enum { SMI_ECC, SMI_MIG, SMI_GSP, SMI_AUTO_BOOST, SMI_GOM, SMI_DRIVER_MODEL, SMI_PENDING = 16 };
smi_ask smi_pair; /* SMI_ECC | SMI_PENDING is what comes after the next reset */
enum {
    SMI_COMPUTE_MODE,
    SMI_PSTATE,
    SMI_POWER_STATE,
    SMI_ADDRESSING,
    SMI_C2C,
    SMI_VIRTUALIZATION,
    SMI_HOST_VGPU,
    SMI_SPARSE
};
smi_ask smi_mode;
enum { SMI_REASONS_ACTIVE, SMI_REASONS_SUPPORTED, SMI_REASONS_BOTH };
smi_ask smi_reasons;
smi_ask smi_reason;         /* `what` is the number of the reason's bit */
smi_ask smi_reason_or_none; /* the same, for a query */
enum {
    SMI_FABRIC_STATE,
    SMI_FABRIC_STATUS,
    SMI_FABRIC_CLIQUE,
    SMI_FABRIC_CLUSTER,
    SMI_FABRIC_BANDWIDTH,
    SMI_FABRIC_QUERY = 16 /* as a query words it */
};
smi_ask smi_fabric;
smi_ask smi_absent; /* on none of these boards */
smi_ask smi_vgpu;   /* nvmlDeviceVgpuCapability_t */

/* --- smi_readings.c --- */
enum {
    SMI_INDEX,
    SMI_MINOR,
    SMI_MODULE,
    SMI_ACCOUNTING_BUFFER,
    SMI_FAN,
    SMI_GEN_NOW,
    SMI_GEN_MAX,
    SMI_DEVICE_GEN_MAX,
    SMI_WIDTH_NOW,
    SMI_WIDTH_MAX,
    SMI_REPLAYS,
    SMI_TEMPERATURE
};
smi_ask smi_number;
enum {
    SMI_FRAMEBUFFER = 0,
    SMI_BAR1 = 8,
    SMI_PROTECTED = 16,
    SMI_TOTAL = 0,
    SMI_RESERVED,
    SMI_USED,
    SMI_FREE
};
smi_ask smi_memory; /* SMI_BAR1 | SMI_USED */
enum {
    SMI_GPU_LOAD,
    SMI_MEMORY_LOAD,
    SMI_ENCODER_LOAD,
    SMI_DECODER_LOAD,
    SMI_JPEG_LOAD,
    SMI_OFA_LOAD
};
smi_ask smi_utilization;
enum { SMI_SESSIONS, SMI_FPS, SMI_LATENCY, SMI_FBC = 8 };
smi_ask smi_sessions;  /* of the encoder, or SMI_FBC | … */
smi_ask smi_threshold; /* nvmlTemperatureThresholds_t */
smi_ask smi_margin;    /* of the GPU to its limit */
smi_ask smi_field;     /* an NVML_FI_… that is one number */
smi_ask smi_memory_temperature;
smi_ask smi_throughput; /* nvmlPcieUtilCounter_t */
enum { SMI_DRAW, SMI_LIMIT, SMI_ENFORCED, SMI_DEFAULT, SMI_LOWEST, SMI_HIGHEST };
smi_ask smi_power;
smi_ask smi_power_field; /* NVML_FI_DEV_POWER_… | scope << 16 */
enum {
    SMI_CLOCK_NOW = 0,
    SMI_CLOCK_MAX = 8,
    SMI_CLOCK_APP = 16,
    SMI_CLOCK_APP_DEFAULT = 24,
    SMI_CLOCK_BOOST = 32
};
smi_ask smi_clock; /* SMI_CLOCK_MAX | nvmlClockType_t */

/* --- smi_errors.c --- */
#define SMI_COUNTER(error, counter, location) ((error) << 8 | (counter) << 4 | (location))
enum { SMI_ALL_LOCATIONS = 15 };
smi_ask smi_ecc_counter;  /* SMI_COUNTER(…) */
smi_ask smi_ecc_reported; /* the same where ECC is on; a report has none otherwise */
enum {
    SMI_SRAM_CORRECTED,
    SMI_SRAM_PARITY,
    SMI_SRAM_SECDED,
    SMI_SRAM_AGGREGATE = 3,
    SMI_SRAM_EXCEEDED = 6,
    SMI_SRAM_L2,
    SMI_SRAM_SM,
    SMI_SRAM_MICROCONTROLLER,
    SMI_SRAM_PCIE,
    SMI_SRAM_OTHER
};
smi_ask smi_sram;
enum { SMI_SINGLE_BIT, SMI_DOUBLE_BIT, SMI_PAGES_PENDING };
smi_ask smi_retired;
enum {
    SMI_REMAPPED_CORRECTED,
    SMI_REMAPPED_UNCORRECTED,
    SMI_REMAPPED_PENDING,
    SMI_REMAPPED_FAILED,
    SMI_REMAPPED_NUMBER = 4 /* 0 or 1 in place of No or Yes */
};
smi_ask smi_remapped;
smi_ask smi_histogram; /* max, high, partial, low, none */

#endif
