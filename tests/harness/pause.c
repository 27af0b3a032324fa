/* SPDX-License-Identifier: Apache-2.0
 * The first process of every pod in the embedded cluster: holds the pod's namespaces open and reaps orphans. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void stop(int number) {
    _exit(number == SIGTERM || number == SIGINT ? 0 : 1);
}

static void reap(int number) {
    (void)number;
    while (waitpid(-1, 0, WNOHANG) > 0) {
    }
}

int main(void) {
    signal(SIGTERM, stop);
    signal(SIGINT, stop);
    signal(SIGCHLD, reap);
    for (;;) {
        pause();
    }
}
