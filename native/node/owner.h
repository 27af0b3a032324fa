/* SPDX-License-Identifier: Apache-2.0
 * Whose node it is. The file `owner` names a release; a lock (flock) on it says that the release lives: the node's agent
 * holds it. Nobody changes the node without that lock or, where only the agent itself runs us, its release's name. */
#ifndef GPU_SIM_NODE_OWNER_H
#define GPU_SIM_NODE_OWNER_H

#include <stdbool.h>

#include "place.h"

#define OWNER_FILE "owner"

struct owner {
    char release[64];
    char namespace[64];
    char pod[256];
    char since[32];
};

struct claim {
    struct owner us;
    const char *node;       /* for messages */
    const char *plugin_dir; /* the kubelet's; NULL: do not look for another plugin */
    const char *proc;       /* where to look for a real driver; NULL: do not */
    const char *host_usr;   /* the host's /usr, where to look for its library; NULL: do not */
    int wait_seconds;
};

enum { OWNER_MOVED = -2 };

/* The locked owner file's descriptor once the node may be ours, which owner_write() then says, and it is our turn to
 * change it (place_turn()); -1 with a problem. OWNER_MOVED where a clean came first and took the file away, perhaps with
 * the root: then the place is to be closed, which lets others have their turn, and opened again. */
int owner_claim(const struct place *place, const struct claim *claim);

bool owner_write(const struct place *place, int fd, const struct owner *us);

/* Closes what owner_claim() gave; where owner_write() was never reached, a root without an owner file has none again. */
void owner_let_go(const struct place *place, int fd);

/* False where nobody owns the root. */
bool owner_read(const struct place *place, struct owner *owner);

/* Does a living process hold it? */
bool owner_alive(const struct place *place);

bool owner_same(const struct owner *a, const struct owner *b);

#endif
