/* SPDX-License-Identifier: Apache-2.0
 * What the files of `gpu-sim ctl` share. A command is checked whole and made in memory (struct change); only then is
 * it written, one flip for a GPU, so that all processes see it at once and a wrong one changes nothing. */
#ifndef GPU_SIM_NODE_CTL_H
#define GPU_SIM_NODE_CTL_H

#include <stdbool.h>
#include <stdint.h>

#include "opened.h"

/* Where a command works. */
struct ctl {
    const char *root, *plugin_dir, *proc;
    int timeout; /* seconds that a repair may take */
};

struct change {
    struct opened opened;
    struct gs_inventory *inventory;
    const char *subject; /* what messages begin with */
    uint64_t touched;    /* by slot */
    uint64_t asked;      /* by slot: clear was asked for */
    uint64_t cleared;    /* by slot: and took a fault away, so the plugin must look anew */
    bool checking;       /* nothing will be written: no need to tell what would follow */
    bool node_touched, node_cleared;
    uint32_t declared;       /* of the node's faults */
    uint32_t fault_sequence; /* the last id given to a fault */
    struct gs_state states[GS_SLOTS];
    struct gs_fault faults[GS_FAULTS]; /* of the node */
    struct gs_fault_detail details[GS_FAULTS];
    uint64_t lost_from_ns; /* when what was written is all in force; 0: at once */
    uint32_t event_count;
    struct gs_event events[GS_EVENTS];
};

/* Opens and locks; EXIT_FINE or an exit code after a problem. Without `write` only to check. */
int change_open(struct change *change, const struct ctl *ctl, bool write);
/* Takes the state anew, as the file has it. */
void change_begin(struct change *change);
void change_commit(struct change *change);
void change_close(struct change *change);
/* Sleeps until what was written is in force; without the lock. */
void change_settle(const struct change *change);

/* The state to be changed of a slot. */
struct gs_state *change_state(struct change *change, uint32_t slot);
bool change_event(struct change *change, uint32_t slot, uint64_t type, uint64_t data);
/* Raises again what stands there and the plugin does not ignore. */
void change_xids(struct change *change, uint32_t slot);

/* Whether a command's words have room; false after a problem. */
enum { CTL_WORDS = 64 };
bool ctl_few(const struct change *change, int count);

/* "3", "GPU-…", "0,2", "all": bits by slot. False after a problem that lists the valid ones. */
bool ctl_gpus(const struct change *change, const char *text, uint64_t *slots);
/* All that are there. */
uint64_t ctl_present(const struct change *change);
/* The next slot of the set from `slot` on, GS_SLOTS at its end. */
uint32_t ctl_next(uint64_t slots, uint32_t slot);
/* "GPU 3", "GPUs 0,2" for messages. */
const char *ctl_names(uint64_t slots, char *text, size_t size);

/* One kind of change: parses and checks all its words and makes the change in memory. Returns EXIT_FINE, or
 * EXIT_INPUT or EXIT_USAGE after the problems, and then the change must not be written. */
typedef int verb_function(struct change *change, int count, char **words);
verb_function ctl_xid, ctl_lost, ctl_ecc, ctl_set, ctl_throttle, ctl_nvlink_down, ctl_fault,
    ctl_clear, ctl_reset;

struct verb {
    const char *name;
    verb_function *make;
    bool declarable; /* may stand in a declaration */
    const char *usage, *about;
};
extern const struct verb ctl_verbs[];
const struct verb *ctl_verb(const char *name);
/* "xid, lost, …" for messages. */
const char *ctl_verb_names(bool declarable, char *text, size_t size);

/* All GPUs as the node's own specification has them; NULL after a problem. Kept until it is called again. */
const struct gs_inventory *ctl_configured(const struct gs_inventory *inventory,
                                          const char *subject);
/* Faults of the node and of GPUs: taken away from memory. */
void ctl_clear_node_faults(struct change *change);
/* Back to as configured, but for what the board has counted and how it is set. */
bool ctl_clear_slots(struct change *change, uint64_t slots);

int ctl_status(const struct ctl *ctl, bool json);
int ctl_timeline(const struct ctl *ctl, const char *seed, bool dry_run);
int ctl_declare(const struct ctl *ctl);

/* After a change was written: what a person should know, and the repair of what was cleared. */
int ctl_after(const struct ctl *ctl, const struct change *change);

#endif
