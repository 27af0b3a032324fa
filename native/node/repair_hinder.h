/* SPDX-License-Identifier: Apache-2.0
 * What keeps a repair from succeeding, known before it begins: answers that were injected for good into functions without
 * which the device plugin gives no GPU to the kubelet. */
#ifndef GPU_SIM_NODE_REPAIR_HINDER_H
#define GPU_SIM_NODE_REPAIR_HINDER_H

#include "ctl.h"

/* An answer of the node that may be why a repair did not succeed, for the middle of a message; empty where there is none. */
const char *hinder_maybe(const struct gs_inventory *inventory, char *text, size_t size);
/* Before a clear is written: EXIT_INPUT after a problem where the repair that it needs could not succeed. */
int hinder_refuse(const struct ctl *ctl, const struct change *change);
/* After a declaration was: true after words that say why there is no repair. */
bool hinder_tell(const struct ctl *ctl, const struct change *change);

#endif
