/* SPDX-License-Identifier: Apache-2.0
 * The repair, see repair.h. GPUs that are lost would kill the plugin while it starts, so they answer until it has; the
 * file says from when on they are lost again, so that being killed here heals nobody. */
#include "repair.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

#include "../src/writer.h"
#include "clock.h"
#include "layout.h"
#include "plugin_health.h"
#include "plugin_process.h"
#include "problem.h"
#include "repair_hinder.h"
#include "repair_look.h"

static const double RAISE_SECONDS = 0.3;
static const uint64_t HELD_LONGER_NS = 5000000000u; /* than the repair may take */

/* One at a time: two plugins' worth of signals would wait for each other's sockets. Freed by death. -1 after a problem. */
static int take_turn(const struct ctl *ctl, const char *subject, double deadline) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/" DRIVER, ctl->root);
    int turn = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (turn < 0) {
        problem_errno(path, "cannot be opened");
        return -1;
    }
    while (flock(turn, LOCK_EX | LOCK_NB)) {
        if (errno != EWOULDBLOCK || clock_seconds() > deadline) {
            problem(subject, "another repair did not end within %d s; try again", ctl->timeout);
            close(turn);
            return -1;
        }
        clock_pause();
    }
    return turn;
}

static void raise_slots(struct change *change, uint64_t slots) {
    for (uint32_t slot = ctl_next(slots, 0); slot < GS_SLOTS; slot = ctl_next(slots, slot + 1)) {
        change_xids(change, slot);
    }
}

static void raise_again(const struct ctl *ctl, const char *subject, uint64_t slots) {
    static struct change change;
    change.subject = subject;
    if (change_open(&change, ctl, true) != EXIT_FINE) {
        return;
    }
    raise_slots(&change, slots);
    change_commit(&change);
    change_close(&change);
}

static int wait_for_kubelet(const struct ctl *ctl, const char *subject, struct look *look,
                            double deadline) {
    double raised = 0;
    for (;;) {
        uint64_t missing = 0;
        enum seen seen = look_again(look, &missing);
        if (seen == SEEN_ALL) {
            return EXIT_FINE;
        }
        double now = clock_seconds();
        if (now > deadline) {
            char text[512], why[192];
            problem(subject,
                    "cleared, but not repaired within %d s: waited for %s; %ssee the device-plugin "
                    "container's log, then clear again",
                    ctl->timeout, look_text(look, seen, missing, text, sizeof text),
                    hinder_maybe(look->inventory, why, sizeof why));
            return EXIT_MACHINE;
        }
        /* The plugin listens a moment after it has registered: what it missed is raised again. */
        if (seen == SEEN_BROKEN_AS_HEALTHY && now - raised > RAISE_SECONDS) {
            raise_again(ctl, subject, missing);
            raised = now;
        }
        clock_pause();
    }
}

/* Until then the plugin may start: lost GPUs are lost only from then on, and what stands is raised already, for it to hear as
 * soon as it listens: it calls all GPUs healthy until it has, and the kubelet may tell the API so. 0 ends both. */
static int let_start(const struct ctl *ctl, const char *subject, uint64_t until_ns) {
    static struct change change;
    change.subject = subject;
    int code = change_open(&change, ctl, true);
    if (code != EXIT_FINE) {
        return code;
    }
    for (uint32_t slot = 0; slot < GS_SLOTS; slot++) {
        if (change.states[slot].lost && change.states[slot].lost_from_ns != until_ns) {
            change_state(&change, slot)->lost_from_ns = until_ns;
        }
    }
    uint64_t from = change.inventory->header.ring.head;
    raise_slots(&change, until_ns ? repair_standing(change.inventory) : 0);
    gs_replay(change.inventory, from, until_ns);
    change_commit(&change);
    change_close(&change);
    return EXIT_FINE;
}

/* The plugin starts anew. How many were told; -1 after a problem. */
static int start_anew(const struct ctl *ctl, const char *subject, struct look *look) {
    uint64_t time = (uint64_t)ctl->timeout * 1000000000u + HELD_LONGER_NS;
    if (let_start(ctl, subject, clock_boot_ns() + time) != EXIT_FINE) {
        return -1;
    }
    look_before(look);
    int told = plugin_hang_up(ctl->proc, ctl->plugin_dir);
    if (told > 0) {
        printf("gpu-sim: the device plugin looks for its GPUs anew\n");
        fflush(stdout);
    } else if (!told) {
        notice(subject, "no process nvidia-device-plugin here; cleared only: the plugin takes the "
                        "GPUs when it starts");
    }
    return told;
}

static int repair_now(const struct ctl *ctl, const char *subject, struct look *look,
                      double deadline) {
    char names[256];
    /* Where all that was cleared is healthy already, what stands may only have been missed: by a plugin that started
     * after it, or by a repair that was killed. */
    int told = look->needed ? start_anew(ctl, subject, look) : 1;
    int code = told > 0   ? wait_for_kubelet(ctl, subject, look, deadline)
               : told < 0 ? EXIT_MACHINE
                          : EXIT_FINE;
    int ended = let_start(ctl, subject, 0);
    code = code != EXIT_FINE ? code : ended;
    if (code == EXIT_FINE && told > 0) {
        uint64_t standing = repair_standing(look->inventory);
        printf("gpu-sim: the kubelet has %u of %u GPUs%s%s\n", look->healthy, look->present,
               standing ? "; still broken: " : "",
               standing ? ctl_names(standing, names, sizeof names) : "");
    }
    return code;
}

int repair(const struct ctl *ctl, const char *subject, uint64_t asked, uint64_t broken) {
    double deadline = clock_seconds() + ctl->timeout;
    struct opened opened;
    char names[256];
    if (!ctl->plugin_dir) {
        notice(subject, "cleared only: no folder of device plugins is named (--plugin-dir or "
                        "$GPU_SIM_PLUGIN_DIR)");
        return EXIT_FINE;
    }
    if (access(ctl->plugin_dir, F_OK)) {
        notice(subject, "cleared only: there is no folder %s", ctl->plugin_dir);
        return EXIT_FINE;
    }
    int turn = take_turn(ctl, subject, deadline);
    if (turn < 0) {
        return EXIT_MACHINE;
    }
    int code = opened_open(&opened, ctl->root, false);
    if (code == EXIT_FINE) {
        struct look look = {.inventory = opened.inventory, .plugin_dir = ctl->plugin_dir};
        look.needed = broken | look_unhealthy(&look, asked);
        struct plugin_sockets sockets;
        plugin_sockets(ctl->plugin_dir, &sockets);
        if (look.needed ||
            (sockets.count && repair_standing(look.inventory) & look_healthy(&look))) {
            code = repair_now(ctl, subject, &look, deadline);
        } else {
            printf("gpu-sim: %s healthy to the kubelet, nothing to repair\n",
                   ctl_names(asked, names, sizeof names));
        }
        opened_close(&opened);
    }
    close(turn);
    return code;
}

uint64_t repair_needed(const struct change *change) {
    return change->cleared | (change->node_cleared ? change->asked : 0);
}

int ctl_after(const struct ctl *ctl, const struct change *change) {
    change_settle(change);
    /* A clear was refused then; a declaration is right as it stands, and waiting would not end. */
    return change->asked && !hinder_tell(ctl, change)
               ? repair(ctl, change->subject, change->asked, repair_needed(change))
               : EXIT_FINE;
}
