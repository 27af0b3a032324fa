/* SPDX-License-Identifier: Apache-2.0
 * The node program: one static file that does what its first word or its own name says. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "problem.h"

static const char usage[] =
    "gpu-sim " GS_VERSION ": what makes a node look as if it had NVIDIA GPUs\n"
    "\n"
    "  gpu-sim install --root DIR --count N --release R --namespace NS --node NODE --pod POD\n"
    "                  [--host-root DIR] [--profile P] [--memory-mib N] [--name S] "
    "[--driver-version V]\n"
    "                  [--uuid-format rfc4122|plain] [--device-list-strategy envvar,cdi-cri]\n"
    "                  [--plugin-dir DIR] [--allow-foreign] [--host-usr DIR] [--wait SECONDS]\n"
    "                  [--library FILE]\n"
    "      put library, inventory, device nodes and programs into a node's root\n"
    "  gpu-sim ready --root DIR (--checkpoint FILE | --no-kubelet)\n"
    "      succeed once the kubelet has every GPU of the inventory\n"
    "  gpu-sim ctl COMMAND …       break and mend GPUs at run time; see gpu-sim ctl --help\n"
    "  gpu-sim allocate --root DIR\n"
    "      who holds which GPU, a line each on standard input; for the node's agent\n"
    "  gpu-sim idle                sleep until SIGTERM\n"
    "  gpu-sim verify --count N [--name S] [--memory-mib N] [--inventory FILE]\n"
    "      in a pod: compare the GPUs seen with those expected\n"
    "  gpu-sim clean-node --root DIR (--release R --namespace NS | --force) [--plugin-dir DIR] "
    "[--cdi-dir DIR]\n"
    "      remove all of that from a node\n"
    "  gpu-sim nvidia-smi …        also under the name nvidia-smi\n"
    "  gpu-sim nvidia-cdi-hook …   also under the name nvidia-cdi-hook\n"
    "\n"
    "Exit codes: 0 fine, 1 wrong input or the node is taken, 2 no such command or option, 3 the "
    "machine failed.\n";

static const struct {
    const char *name;
    int (*run)(int count, char **words);
} commands[] = {
    {"install", command_install},
    {"ready", command_ready},
    {"clean-node", command_clean_node},
    {"verify", command_verify},
    {"nvidia-smi", command_nvidia_smi},
    {"nvidia-cdi-hook", command_cdi_hook},
    {"ctl", command_ctl},
    {"allocate", command_allocate},
    {"idle", command_idle},
};

/* A file that is opened while a standard stream is closed would get its number, and every message with it. What is in its
 * place takes no message either. */
static void have_streams(void) {
    int fd;
    do {
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO) {
        close(fd);
    }
}

/* What could not be printed was not said; a stream that was closed wants nothing said. */
static int said(int code) {
    bool lost = (fflush(stdout) || ferror(stdout)) && errno != EBADF;
    if (lost && code == EXIT_FINE) {
        problem_errno("standard output", "cannot be written");
        return EXIT_MACHINE;
    }
    return code;
}

int main(int count, char **words) {
    have_streams();
    const char *slash = count ? strrchr(words[0], '/') : NULL, *own = !count  ? ""
                                                                      : slash ? slash + 1
                                                                              : words[0];
    if (!strcmp(own, "nvidia-smi")) {
        return command_nvidia_smi(count - 1, words + 1);
    }
    if (!strcmp(own, "nvidia-cdi-hook")) {
        return command_cdi_hook(count - 1, words + 1);
    }
    if (count < 2 || !strcmp(words[1], "--help") || !strcmp(words[1], "-h")) {
        fputs(usage, count < 2 ? stderr : stdout);
        return said(count < 2 ? EXIT_USAGE : EXIT_FINE);
    }
    if (!strcmp(words[1], "--version")) {
        puts("gpu-sim " GS_VERSION);
        return said(EXIT_FINE);
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (!strcmp(words[1], commands[i].name)) {
            return said(commands[i].run(count - 2, words + 2));
        }
    }
    problem(words[1], "no such command; see gpu-sim --help");
    return EXIT_USAGE;
}
