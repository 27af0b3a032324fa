/* SPDX-License-Identifier: Apache-2.0
 * `gpu-sim idle`: a container that only has to be there, where no device plugin runs. Ends well at SIGTERM. */
#include <signal.h>
#include <stdio.h>

#include "arguments.h"
#include "commands.h"
#include "problem.h"

int command_idle(int count, char **words) {
    sigset_t wanted;
    int got;
    if (!arguments_parse("idle", count, words, NULL, 0)) {
        return EXIT_USAGE;
    }
    /* Blocked before it says so: the first process of a container gets no signal that it did not ask for. */
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGINT);
    sigprocmask(SIG_BLOCK, &wanted, NULL);
    puts("gpu-sim: idle until SIGTERM");
    fflush(stdout);
    while (sigwait(&wanted, &got)) {
    }
    return EXIT_FINE;
}
