/* SPDX-License-Identifier: Apache-2.0
 * `gpu-sim ctl`: breaks and mends the GPUs of a running node. Finds out which of its commands is meant and runs it;
 * see ctl.h for how a change is made. */
#include "ctl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/spec.h"
#include "arguments.h"
#include "commands.h"
#include "ctl_lists.h"
#include "ctl_set.h"
#include "problem.h"
#include "repair_hinder.h"

enum { WORDS = 256, TIMEOUT_MAX = 3600 };

#define VERB(name, make, declarable, usage, about) {name, make, declarable, usage, about},
const struct verb ctl_verbs[] = {GS_VERBS(VERB){NULL, NULL, false, NULL, NULL}};

static void help(void) {
    fputs(
        "gpu-sim ctl: break and mend the GPUs of a running node\n\n"
        "A command changes all its GPUs at one moment, for all processes of the node and its pods. "
        "A wrong "
        "one is refused\n"
        "in words and changes nothing.\n\n",
        stdout);
    for (const struct verb *verb = ctl_verbs; verb->name; verb++) {
        printf("  ctl %s %s\n      %s\n", verb->name, verb->usage, verb->about);
    }
    puts("  ctl status [--json]\n      GPU, UUID, health, pods, memory, load, temperature and "
         "faults\n"
         "  ctl timeline [--seed N] [--dry-run]\n      commands on standard input, each at its "
         "time: +10s "
         "xid --gpu 3 79\n      +10s-20s and --gpu any are drawn from the seed, which is printed; "
         "the same seed "
         "draws the same\n"
         "  ctl declare\n      the full set of faults that this node shall have, on standard "
         "input, a line each, as\n"
         "      xid --gpu 3 79; what was declared before and is not any more is cleared\n"
         "\n"
         "Options, anywhere on the line:\n"
         "  --gpu G             an index (3), a UUID, a list with commas, or all\n"
         "  --root DIR          the node's root; else $GPU_SIM_ROOT, else /var/lib/gpu-sim\n"
         "  --plugin-dir DIR    the kubelet's folder of device plugins; else $GPU_SIM_PLUGIN_DIR\n"
         "  --timeout SECONDS   how long clear waits for plugin and kubelet; 60\n"
         "\n"
         "Examples:\n"
         "  gpu-sim ctl xid --gpu 3 79                        GPU 3 falls off the bus: the kubelet "
         "takes it away\n"
         "  gpu-sim ctl clear --gpu 3                         and gives it back\n"
         "  gpu-sim ctl set --gpu all temperature=85C         a hot node\n"
         "  gpu-sim ctl fault nvmlDeviceGetMemoryInfo UNKNOWN --gpu 0 --count 3\n"
         "\n"
         "Exit codes: 0 done, 1 wrong input, 2 no such command or option, 3 the machine, the "
         "plugin or the kubelet "
         "failed.");
}

const struct verb *ctl_verb(const char *name) {
    const struct verb *verb = ctl_verbs;
    while (verb->name && strcmp(verb->name, name)) {
        verb++;
    }
    return verb->name ? verb : NULL;
}

const char *ctl_verb_names(bool declarable, char *text, size_t size) {
    size_t used = 0;
    *text = 0;
    for (const struct verb *verb = ctl_verbs; verb->name && used < size; verb++) {
        if (verb->declarable || !declarable) {
            used +=
                (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", verb->name);
        }
    }
    return text;
}

static int change_now(const struct ctl *ctl, const struct verb *verb, int count, char **words) {
    static struct change change;
    char subject[32];
    snprintf(subject, sizeof subject, "ctl %s", verb->name);
    change.subject = subject;
    int code = change_open(&change, ctl, true);
    if (code != EXIT_FINE) {
        return code;
    }
    code = verb->make(&change, count, words);
    code = code == EXIT_FINE ? hinder_refuse(ctl, &change) : code;
    if (code == EXIT_FINE) {
        change_commit(&change);
    }
    change_close(&change);
    if (code == EXIT_FINE && !change.asked) { /* a repair tells more than that */
        printf("gpu-sim: done: %s", verb->name);
        for (int i = 0; i < count; i++) {
            printf(" %s", words[i]);
        }
        putchar('\n');
        fflush(stdout);
    }
    return code == EXIT_FINE ? ctl_after(ctl, &change) : code;
}

struct given {
    const char *root, *plugin_dir, *proc, *timeout, *seed;
    bool json, dry_run, help;
};

/* Takes out the options that belong to all commands, or to none that changes; the rest is the command's own. */
static int common(int count, char **words, struct given *given, char **rest) {
    const struct {
        const char *name, **value;
        bool *flag;
    } options[] = {
        {"--root", &given->root, NULL}, {"--plugin-dir", &given->plugin_dir, NULL},
        {"--proc", &given->proc, NULL}, {"--timeout", &given->timeout, NULL},
        {"--help", NULL, &given->help}, {"-h", NULL, &given->help},
    };
    int left = 0, before = problem_count();
    unsigned seen = 0;
    for (int i = 0; i < count; i++) {
        size_t length = strcspn(words[i], "="), which = 0;
        while (which < sizeof options / sizeof *options &&
               (strlen(options[which].name) != length ||
                memcmp(options[which].name, words[i], length))) {
            which++;
        }
        if (which == sizeof options / sizeof *options) {
            rest[left++] = words[i];
        } else if (options[which].flag && words[i][length]) {
            problem("ctl", "%s takes no value, got %s; leave it out", options[which].name,
                    words[i] + length + 1);
        } else if (options[which].flag) {
            *options[which].flag = true;
        } else if (!words[i][length] && i + 1 == count) {
            problem("ctl", "%s needs a value; give one after it", words[i]);
        } else {
            const char *value = words[i][length] ? words[i] + length + 1 : words[++i];
            if (!*value) {
                problem("ctl", "%s needs a value; give one that is not empty", options[which].name);
            } else if (seen >> which & 1) {
                problem("ctl", "%s is given twice, got %s; give it once", options[which].name,
                        value);
            }
            seen |= 1u << which;
            *options[which].value = value;
        }
    }
    return problem_count() == before ? left : -1;
}

static int run(const struct ctl *ctl, struct given *given, int count, char **words) {
    const char *name = words[0];
    const struct option status[] = {{"--json", NULL, &given->json, false}};
    const struct option timeline[] = {{"--seed", &given->seed, NULL, false},
                                      {"--dry-run", NULL, &given->dry_run, false}};
    const struct verb *verb = ctl_verb(name);
    if (verb) {
        return change_now(ctl, verb, count - 1, words + 1);
    }
    if (!strcmp(name, "status")) {
        return arguments_parse("ctl status", count - 1, words + 1, status, 1)
                   ? ctl_status(ctl, given->json)
                   : EXIT_USAGE;
    }
    if (!strcmp(name, "timeline")) {
        return arguments_parse("ctl timeline", count - 1, words + 1, timeline, 2)
                   ? ctl_timeline(ctl, given->seed, given->dry_run)
                   : EXIT_USAGE;
    }
    if (!strcmp(name, "declare")) {
        return arguments_parse("ctl declare", count - 1, words + 1, NULL, 0) ? ctl_declare(ctl)
                                                                             : EXIT_USAGE;
    }
    char names[128];
    problem(
        "ctl",
        "no such command, got %s; there are %s, status, timeline and declare (gpu-sim ctl --help)",
        name, ctl_verb_names(false, names, sizeof names));
    return EXIT_USAGE;
}

int command_ctl(int count, char **words) {
    struct given given = {.proc = "/proc", .timeout = "60"};
    const char *named = getenv("GPU_SIM_PLUGIN_DIR");
    char *rest[WORDS];
    uint64_t timeout;
    if (count > WORDS) {
        problem("ctl", "too many words, got %d; see gpu-sim ctl --help", count);
        return EXIT_USAGE;
    }
    int left = common(count, words, &given, rest);
    if (left < 0) {
        return EXIT_USAGE;
    }
    if (given.help && left && (!strcmp(rest[0], "set") || !strcmp(rest[0], "throttle"))) {
        ctl_set_help(rest[0]);
        return EXIT_FINE;
    }
    if (given.help) {
        help();
        return EXIT_FINE;
    }
    if (!left) {
        problem("ctl", "no command given; see gpu-sim ctl --help");
        return EXIT_USAGE;
    }
    if (gs_parse_number(given.timeout, 1, TIMEOUT_MAX, &timeout)) {
        problem("ctl", "--timeout must be 1 to %d seconds, got %s; leave it out for 60",
                TIMEOUT_MAX, given.timeout);
        return EXIT_INPUT;
    }
    const struct ctl ctl = {.root = opened_root(given.root),
                            .plugin_dir = given.plugin_dir  ? given.plugin_dir
                                          : named && *named ? named
                                                            : NULL,
                            .proc = given.proc,
                            .timeout = (int)timeout};
    return run(&ctl, &given, left, rest);
}
