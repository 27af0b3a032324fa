/* SPDX-License-Identifier: Apache-2.0
 * Names under the node's root. The driver folder looks like the root of a machine with NVIDIA's driver, since that is
 * how the device plugin searches it; what other consumers are pointed at must not move. */
#ifndef GPU_SIM_NODE_LAYOUT_H
#define GPU_SIM_NODE_LAYOUT_H

#define DRIVER "driver"
#define LIBRARIES DRIVER "/usr/lib64"
#define PROGRAMS DRIVER "/usr/bin"
#define PROGRAM PROGRAMS "/gpu-sim"
#define DEVICES DRIVER "/dev"
#define PLUGIN_CONFIG_DIRECTORY DRIVER "/etc/gpu-sim"
#define PLUGIN_CONFIG PLUGIN_CONFIG_DIRECTORY "/device-plugin.yaml"

#define LIBRARY_PREFIX "libnvidia-ml.so."
#define LIBRARY_SONAME "libnvidia-ml.so.1"

#endif
