/* SPDX-License-Identifier: Apache-2.0
 * What a fault can be made of: the only lists of it. Included by the files of `gpu-sim ctl`; charts/tools/generate.py
 * reads them too, for the generator and the chart, so one entry stays one X(…) with these words in this order. Return
 * codes are in ../src/return_codes.h, functions come from nvml.h. */
#ifndef GPU_SIM_NODE_CTL_LISTS_H
#define GPU_SIM_NODE_CTL_LISTS_H

#define GS_XID_MAX 999
#define GS_DELAY_MAX_SECONDS 10
#define GS_COMPUTE_MODE_GONE 1 /* exclusive thread: no driver has it any more */

/* name, function, may stand in a declaration, usage, about */
#define GS_VERBS(X)                                                                                \
    X("xid", ctl_xid, true, "--gpu G XID",                                                         \
      "report an error: an event that waiting programs get; it stands until cleared")              \
    X("lost", ctl_lost, true, "--gpu G",                                                           \
      "Xid 79, and every question to that GPU is answered with GPU_IS_LOST")                       \
    X("ecc", ctl_ecc, false, "--gpu G (--corrected N | --uncorrected N) [--location dram]",        \
      "count memory errors, and the event for them (no Xid)")                                      \
    X("set", ctl_set, true, "--gpu G KEY=VALUE…",                                                  \
      "what the GPU shows: temperature=85C, utilization=10-30%, …; ctl set --help lists all")      \
    X("throttle", ctl_throttle, true, "--gpu G REASON…|none",                                      \
      "why its clocks are held back; ctl throttle --help lists the reasons")                       \
    X("nvlink-down", ctl_nvlink_down, true, "--gpu G --link L[,L…]|all", "take NVLinks down")      \
    X("fault", ctl_fault, true, "FUNCTION CODE [--gpu G] [--count N] [--delay 5ms|1s]",            \
      "let a function of the library answer CODE, or SUCCESS late; without --gpu on all GPUs, "    \
      "and for the first N calls of each process and GPU")                                         \
    X("clear", ctl_clear, false, "--gpu G|all",                                                    \
      "back to as configured, and the device plugin is made to look anew")                         \
    X("reset", ctl_reset, false, "--gpu G|all",                                                    \
      "clear, and volatile error counters, modes and limits as after a GPU reset")

/* What `set` knows: key, unit, kind, member of struct gs_state, parts of the unit in what is stored there, lowest, highest
 * (0: the board's), members of struct gs_config that are the board's lowest and highest (NONE: the number before),
 * feature that the board needs, bit of enum gs_override, whether only `reset` takes it back, about. */
#define GS_SET_KEYS(X)                                                                             \
    X("temperature", "C", READING, temperature, 1, 0, 150, NONE, NONE, 0, 0, false,                \
      "of the GPU; a range: idle to full load")                                                    \
    X("memory-temperature", "C", READING, memory_temperature, 1, 0, 150, NONE, NONE,               \
      GS_HAS_MEM_TEMP, 0, false, "of its memory, on boards that tell it")                          \
    X("utilization", "%", READING, utilization_gpu, 1, 0, 100, NONE, NONE, 0, GS_SET_UTILIZATION,  \
      false, "hides the load of the GPU's holder; a range: a walk between")                        \
    X("memory-utilization", "%", READING, utilization_memory, 1, 0, 100, NONE, NONE, 0,            \
      GS_SET_MEMORY_UTILIZATION, false, "the same for its memory")                                 \
    X("power", "W", READING, power, 1000, 0, 0, NONE, OF_BOARD(power_max), 0, 0, false,            \
      "a range: idle to full load; never shown above the limit")                                   \
    X("power-limit", "W", NUMBER32, power_limit, 1000, 0, 0, OF_BOARD(power_min),                  \
      OF_BOARD(power_max), 0, 0, true, "within what the board allows")                             \
    X("memory-used", "MiB", NUMBER64, memory_used, 1 << 20, 0, 0, NONE, OF_BOARD(memory_total), 0, \
      GS_SET_MEMORY_USED, false, "at least what processes hold is shown")                          \
    X("graphics-clock", "MHz", READING, clock_graphics, 1, 1, 0, NONE,                             \
      OF_BOARD(clock_graphics_max), 0, 0, false, "also the SM clock; a range: idle and loaded")    \
    X("memory-clock", "MHz", READING, clock_memory, 1, 1, 0, NONE, OF_BOARD(clock_memory_max), 0,  \
      0, false, "a range: idle and loaded")                                                        \
    X("video-clock", "MHz", READING, clock_video, 1, 1, 0, NONE, OF_BOARD(clock_video_max), 0, 0,  \
      false, "a range: idle and loaded")                                                           \
    X("pstate", "", NUMBER32, pstate, 1, 0, 15, NONE, NONE, 0, GS_SET_PSTATE, false,               \
      "performance state, 0 is the fastest")                                                       \
    X("persistence-mode", "", NUMBER32, persistence_mode, 1, 0, 1, NONE, NONE, 0, 0, true,         \
      "1 or 0")                                                                                    \
    X("compute-mode", "", COMPUTE_MODE, compute_mode, 1, 0, 3, NONE, NONE, 0, 0, true,             \
      "0 default, 2 prohibited, 3 exclusive process")

/* name, bit, policy whose time counts up meanwhile (place in gs_state.violation; -1: none) */
#define GS_THROTTLE_REASONS(X)                                                                     \
    X("gpu-idle", nvmlClocksEventReasonGpuIdle, -1)                                                \
    X("applications-clocks", nvmlClocksEventReasonApplicationsClocksSetting, 6)                    \
    X("sw-power-cap", nvmlClocksEventReasonSwPowerCap, NVML_PERF_POLICY_POWER)                     \
    X("hw-slowdown", nvmlClocksThrottleReasonHwSlowdown, NVML_PERF_POLICY_BOARD_LIMIT)             \
    X("sync-boost", nvmlClocksEventReasonSyncBoost, NVML_PERF_POLICY_SYNC_BOOST)                   \
    X("sw-thermal", nvmlClocksEventReasonSwThermalSlowdown, NVML_PERF_POLICY_THERMAL)              \
    X("hw-thermal", nvmlClocksThrottleReasonHwThermalSlowdown, NVML_PERF_POLICY_THERMAL)           \
    X("hw-power-brake", nvmlClocksThrottleReasonHwPowerBrakeSlowdown, NVML_PERF_POLICY_POWER)      \
    X("display-clock", nvmlClocksEventReasonDisplayClockSetting, -1)

/* name, nvmlMemoryLocation_t */
#define GS_ECC_LOCATIONS(X)                                                                        \
    X("l1", NVML_MEMORY_LOCATION_L1_CACHE)                                                         \
    X("l2", NVML_MEMORY_LOCATION_L2_CACHE)                                                         \
    X("dram", NVML_MEMORY_LOCATION_DRAM)                                                           \
    X("register-file", NVML_MEMORY_LOCATION_REGISTER_FILE)                                         \
    X("texture", NVML_MEMORY_LOCATION_TEXTURE_MEMORY)                                              \
    X("shared", NVML_MEMORY_LOCATION_TEXTURE_SHM)                                                  \
    X("cbu", NVML_MEMORY_LOCATION_CBU)                                                             \
    X("sram", NVML_MEMORY_LOCATION_SRAM)

#endif
