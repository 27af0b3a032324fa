/* SPDX-License-Identifier: Apache-2.0
 * What is still to come. */
#include "ctl.h"
#include "problem.h"

int ctl_timeline(const struct ctl *ctl, const char *seed, bool dry_run) {
    (void)ctl, (void)seed, (void)dry_run;
    problem("ctl timeline", "not built yet");
    return EXIT_MACHINE;
}

int ctl_declare(const struct ctl *ctl) {
    (void)ctl;
    problem("ctl declare", "not built yet");
    return EXIT_MACHINE;
}

int ctl_after(const struct ctl *ctl, const struct change *change) {
    (void)ctl, (void)change;
    return EXIT_FINE;
}
