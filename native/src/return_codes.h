/* SPDX-License-Identifier: Apache-2.0
 *
 * NVML's return codes with the texts of a real driver's library: the only list of them here. Included by the
 * library for the texts and by `gpu-sim ctl` for the names. */
#ifndef GPU_SIM_RETURN_CODES_H
#define GPU_SIM_RETURN_CODES_H

#define GS_RETURN_CODES(X)                                                                         \
    X(NVML_SUCCESS, "Success")                                                                     \
    X(NVML_ERROR_UNINITIALIZED, "Uninitialized")                                                   \
    X(NVML_ERROR_INVALID_ARGUMENT, "Invalid Argument")                                             \
    X(NVML_ERROR_NOT_SUPPORTED, "Not Supported")                                                   \
    X(NVML_ERROR_NO_PERMISSION, "Insufficient Permissions")                                        \
    X(NVML_ERROR_ALREADY_INITIALIZED, "Already Initialized")                                       \
    X(NVML_ERROR_NOT_FOUND, "Not Found")                                                           \
    X(NVML_ERROR_INSUFFICIENT_SIZE, "Insufficient Size")                                           \
    X(NVML_ERROR_INSUFFICIENT_POWER, "Insufficient External Power")                                \
    X(NVML_ERROR_DRIVER_NOT_LOADED, "Driver Not Loaded")                                           \
    X(NVML_ERROR_TIMEOUT, "Timeout")                                                               \
    X(NVML_ERROR_IRQ_ISSUE, "Interrupt Request Issue")                                             \
    X(NVML_ERROR_LIBRARY_NOT_FOUND, "NVML Shared Library Not Found")                               \
    X(NVML_ERROR_FUNCTION_NOT_FOUND, "Function Not Found")                                         \
    X(NVML_ERROR_CORRUPTED_INFOROM, "Corrupted infoROM")                                           \
    X(NVML_ERROR_GPU_IS_LOST, "GPU is lost")                                                       \
    X(NVML_ERROR_RESET_REQUIRED, "GPU requires reset")                                             \
    X(NVML_ERROR_OPERATING_SYSTEM, "The operating system has blocked the request.")                \
    X(NVML_ERROR_LIB_RM_VERSION_MISMATCH, "RM has detected an NVML/RM version mismatch.")          \
    X(NVML_ERROR_IN_USE, "In use by another client")                                               \
    X(NVML_ERROR_MEMORY, "Insufficient Memory")                                                    \
    X(NVML_ERROR_NO_DATA, "No data")                                                               \
    X(NVML_ERROR_VGPU_ECC_NOT_SUPPORTED,                                                           \
      "The requested vgpu operation is not available on target device, because ECC is enabled")    \
    X(NVML_ERROR_INSUFFICIENT_RESOURCES, "Insufficient Resources")                                 \
    X(NVML_ERROR_FREQ_NOT_SUPPORTED, "The requested frequency is not supported")                   \
    X(NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "Argument version mismatch")                           \
    X(NVML_ERROR_DEPRECATED, "The requested functionality has been deprecated")                    \
    X(NVML_ERROR_NOT_READY, "The system is not ready for the request")                             \
    X(NVML_ERROR_GPU_NOT_FOUND, "No GPUs were found")                                              \
    X(NVML_ERROR_INVALID_STATE, "Resource not in correct state to perform requested operation")    \
    X(NVML_ERROR_RESET_TYPE_NOT_SUPPORTED, "Reset not supported for given device/parameters")      \
    X(NVML_ERROR_UNKNOWN, "Unknown Error")

#endif
