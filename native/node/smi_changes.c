/* SPDX-License-Identifier: Apache-2.0
 * nvidia-smi -pm, -pl, -r …: each option with the real one's words for a board that cannot be changed. The real one
 * calls a GPU that is lost "(null)". */
#include "smi_change.h"

/* clang-format off */
#define SWITCH .kind = SMI_WORD, .words = {"DISABLED", "ENABLED"}

const struct smi_change smi_changes[] = {
    {.short_name = "-pm", .name = "--persistence-mode", SWITCH, .wrong = "Invalid persistence mode: %s",
     .already = "Persistence mode is already %s for GPU %s.", .ask = smi_switch, .what = SMI_PERSISTENCE,
     .refusal = "Unable to set persistence mode for GPU %s: Not Supported",
     .lost = "Unable to determine current persistence mode for GPU (null): %s"},
    {.short_name = "-e", .name = "--ecc-config", SWITCH, .wrong = "Invalid ECC configuration code: %s",
     .already = "ECC support is already %s for GPU %s.", .ask = smi_pair, .what = SMI_ECC,
     .refusal = "Unable to set ECC config for GPU %s: Not Supported",
     .lost = "Unable to determine current ECC mode for GPU (null): %s"},
    {.short_name = "-p", .name = "--reset-ecc-errors", .kind = SMI_WORD, .words = {"VOLATILE", "AGGREGATE"},
     .wrong = "Invalid ECC type: %s", .refusal = "ECC features not supported for GPU %s.",
     .lost = "Unable to clear ECC errors for GPU (null): %s"},
    {.short_name = "-c", .name = "--compute-mode", .kind = SMI_WORD,
     .words = {"DEFAULT", "EXCLUSIVE_THREAD", "PROHIBITED", "EXCLUSIVE_PROCESS"}, .wrong = "Invalid compute mode: %s",
     .already = "Compute mode is already set to %s for GPU %s.", .ask = smi_mode, .what = SMI_COMPUTE_MODE,
     .refusal = "Unable to set the compute mode for GPU %s: Not Supported",
     .lost = "Unable to determine current compute mode for GPU (null): %s"},
    {.short_name = "", .name = "--gom", .kind = SMI_WORD, .words = {"ALL_ON", "COMPUTE", "LOW_DP"},
     .refusal = "GOM mode cannot be changed on GPU %s.",
     .lost = "Unable to determine current GOM for GPU (null): %s"},
    {.short_name = "-r", .name = "--gpu-reset", .kind = SMI_NO_VALUE, .refusal = "GPU reset unavailable: Not Supported",
     .lost = "GPU Reset couldn't run due to problem with internal state of GPU (null). Please reboot your system."},
    {.short_name = "-vm", .name = "--virt-mode", .kind = SMI_NUMBER,
     .refusal = "Setting virtualization mode is not supported for GPU %s.",
     .lost = "Unable to set virtualization mode for GPU (null): %s"},
    {.short_name = "-lgc", .name = "--lock-gpu-clocks", .kind = SMI_CLOCK_RANGE,
     .wrong = "Specified clocks \"%s\" are not valid. Please format input as 'gpuClkMin,gpuClkMax' or 'gpuClkVal' e.g. "
              "'--lock-gpu-clocks=1500,1500', '--lock-gpu-clocks=1500', or '--lock-gpu-clocks=tdp,unlimited'",
     .refusal = "Setting locked GPU clocks is not supported for GPU %s.",
     .lost = "Unable to set GPU locked clocks \"(gpuClockMin %u, gpuClockMax %u)\" for GPU (null): %s"},
    {.short_name = "-rgc", .name = "--reset-gpu-clocks", .kind = SMI_NO_VALUE,
     .refusal = "Setting locked gpu clocks is not supported for GPU %s.",
     .lost = "Unable to reset locked gpu clocks for GPU (null): %s"},
    {.short_name = "-lmc", .name = "--lock-memory-clocks", .kind = SMI_CLOCK_RANGE,
     .wrong = "Specified clocks \"%s\" are not valid. Please format input as 'memClkMin,memClkMax' or 'memClkVal' e.g. "
              "--lock-memory-clocks=5100,5100 or --lock-memory-clocks=5100",
     .refusal = "Setting locked Memory clocks is not supported for GPU %s.", .goes_on = true,
     .lost = "Unable to set Memory locked clocks \"(memClockMin %u, memClockMax %u)\" for GPU (null): %s"},
    {.short_name = "-rmc", .name = "--reset-memory-clocks", .kind = SMI_NO_VALUE,
     .refusal = "Setting locked Memory clocks is not supported for GPU %s.",
     .lost = "Unable to reset locked Memory clocks for GPU (null): %s"},
    {.short_name = "-ac", .name = "--applications-clocks", .kind = SMI_CLOCK_PAIR,
     .wrong = "Specified clocks \"%s\" are not valid. Please format input as memClk,smClk e.g. "
              "--applications-clocks=2000,300",
     .refusal = "Setting applications clocks is not supported for GPU %s.",
     .lost = "Unable to set applications clocks \"(MEM %u, SM %u)\" for GPU (null): %s"},
    {.short_name = "-rac", .name = "--reset-applications-clocks", .kind = SMI_NO_VALUE,
     .refusal = "Setting applications clocks is not supported for GPU %s.",
     .lost = "Unable to reset applications clocks for GPU (null): %s"},
    {.short_name = "-pl", .name = "--power-limit", .kind = SMI_WATTS,
     .refusal = "Changing power management limit is not supported for GPU: %s.",
     .lost = "Changing power management limit is not supported in current scope for GPU: (null)."},
    {.short_name = "-am", .name = "--accounting-mode", SWITCH, .wrong = "Invalid accounting mode: %s",
     .already = "Accounting Mode is already %s for GPU %s.", .ask = smi_switch, .what = SMI_ACCOUNTING,
     .refusal = "Unable to set Accounting Mode for GPU %s: Not Supported",
     .lost = "Unable to determine Accounting mode for GPU (null): %s"},
    {.short_name = "-caa", .name = "--clear-accounted-apps", .kind = SMI_NO_VALUE,
     .refusal = "Unable to clear Accounted PIDs for GPU %s: Not Supported",
     .lost = "Unable to clear Accounted PIDs for GPU (null): %s"},
    {.short_name = "", .name = "--auto-boost-default", SWITCH,
     .refusal = "Enabling/disabling default auto boosted clocks is not supported for GPU: %s.",
     .lost = "Failed to change default auto boosted clocks for GPU (null): %s"},
    {.short_name = "", .name = "--auto-boost-permission", .kind = SMI_WORD, .words = {"UNRESTRICTED", "RESTRICTED"},
     .refusal = "Changing auto boosted clocks permissions is not supported for GPU: %s.",
     .lost = "Failed to change auto boosted clocks permissions for GPU  (null): %s"},
    {.short_name = "-mig", .name = "--multi-instance-gpu", SWITCH, .wrong = "Invalid MIG Mode: %s",
     .refusal = "Unable to change MIG Mode for GPU %s: Not Supported",
     .lost = "Unable to change MIG Mode for GPU (null): %s"},
    {.short_name = "-gtt", .name = "--gpu-target-temp", .kind = SMI_NUMBER,
     .refusal = "GPU Target Temperature Threshold not supported for GPU %s.",
     .lost = "Unable to determine current Target Temperature for GPU (null): %s"},
};
/* clang-format on */

const size_t smi_change_count = sizeof smi_changes / sizeof *smi_changes;
