/* SPDX-License-Identifier: Apache-2.0
 * Claims a node, see owner.h. */
#include "owner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "foreign.h"
#include "problem.h"

/* How long a lock must stay free before another release's node is taken over: longer than an agent takes to start
 * after its installer ended. */
static const double TAKE_OVER_SECONDS = 5;

enum verdict { OURS, HELD, HELD_BY_US, FREE_BUT_THEIRS, FOREIGN_PLUGIN, FOREIGN_DRIVER, MOVED };

static void take_value(const char *text, const char *key, char *value, size_t size) {
    size_t length = strlen(key);
    value[0] = 0;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, key, length) || line[length] != '=') {
            continue;
        }
        size_t end = strcspn(line + length + 1, "\n");
        snprintf(value, size, "%.*s", (int)end, line + length + 1);
        return;
    }
}

static bool read_open(int fd, struct owner *owner) {
    char text[1024];
    ssize_t length = pread(fd, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = 0;
    take_value(text, "release", owner->release, sizeof owner->release);
    take_value(text, "namespace", owner->namespace, sizeof owner->namespace);
    take_value(text, "pod", owner->pod, sizeof owner->pod);
    take_value(text, "time", owner->since, sizeof owner->since);
    return owner->release[0];
}

bool owner_read(const struct place *place, struct owner *owner) {
    int fd = openat(place->root, OWNER_FILE, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool known = read_open(fd, owner);
    close(fd);
    return known;
}

bool owner_alive(const struct place *place) {
    int fd = openat(place->root, OWNER_FILE, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    bool held = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
    close(fd);
    return held;
}

bool owner_same(const struct owner *a, const struct owner *b) {
    return !strcmp(a->release, b->release) && !strcmp(a->namespace, b->namespace);
}

/* Whoever cleaned the node meanwhile has removed the file that we hold. */
static bool still_there(const struct place *place, int fd) {
    struct stat held, named;
    return !fstat(fd, &held) && !fstatat(place->root, OWNER_FILE, &named, AT_SYMLINK_NOFOLLOW) &&
           held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

struct look {
    enum verdict verdict;
    struct owner owner;
    char foreign[256];
};

/* One look at the node; -1 and errno, or the open owner file, locked unless it is held. */
static int look(const struct place *place, const struct claim *claim, struct look *seen) {
    int fd = openat(place->root, OWNER_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0) {
        return -1;
    }
    bool held = flock(fd, LOCK_EX | LOCK_NB);
    bool owned = read_open(fd, &seen->owner);
    bool ours = owned && owner_same(&seen->owner, &claim->us);

    /* The agent of this very pod starts first, and has the node again after the pod's containers all died. */
    bool our_agent = held && ours && !strcmp(seen->owner.pod, claim->us.pod);

    if (our_agent) {
        seen->verdict = OURS;
    } else if (held && !owned) {
        seen->verdict = MOVED;
    } else if (held) {
        seen->verdict = ours ? HELD_BY_US : HELD;
    } else if (!still_there(place, fd)) {
        seen->verdict = MOVED;
    } else if (ours) {
        seen->verdict = OURS;
    } else if (claim->proc && foreign_driver(claim->proc, seen->foreign, sizeof seen->foreign)) {
        seen->verdict = FOREIGN_DRIVER;
    } else if (claim->host_usr &&
               foreign_library(claim->host_usr, seen->foreign, sizeof seen->foreign)) {
        seen->verdict = FOREIGN_DRIVER;
    } else if (claim->plugin_dir &&
               foreign_plugin(claim->plugin_dir, seen->foreign, sizeof seen->foreign)) {
        seen->verdict = FOREIGN_PLUGIN;
    } else {
        seen->verdict = owned ? FREE_BUT_THEIRS : OURS;
    }
    return fd;
}

typedef void tell(const char *subject, const char *format, ...);

static void explain(const struct claim *claim, const struct look *seen, tell *say) {
    const struct owner *owner = &seen->owner;
    switch (seen->verdict) {
    case HELD:
        say(NULL,
            "node %s is owned by release %s in namespace %s since %s; uninstall it first (helm "
            "uninstall %s -n %s) "
            "or label another node",
            claim->node, owner->release, owner->namespace, owner->since, owner->release,
            owner->namespace);
        break;
    case HELD_BY_US:
        say(NULL,
            "node %s: pod %s of this release is still stopping there; the next try follows by "
            "itself",
            claim->node, owner->pod);
        break;
    case FOREIGN_PLUGIN:
        say(NULL,
            "node %s: another NVIDIA device plugin answers at %s; remove it from this node, or "
            "allow it with "
            "--set allowForeign=true",
            claim->node, seen->foreign);
        break;
    case FOREIGN_DRIVER:
        say(NULL,
            "node %s has a real NVIDIA driver (%s); label another node, or allow it with --set "
            "allowForeign=true",
            claim->node, seen->foreign);
        break;
    default:
        say(NULL,
            "node %s: its owner file is being changed by others; the next try follows by itself",
            claim->node);
    }
}

void owner_let_go(const struct place *place, int fd) {
    struct stat status;
    /* Locked first: whoever held it until now may just have written its name. */
    if (!flock(fd, LOCK_EX | LOCK_NB) && !fstat(fd, &status) && !status.st_size &&
        still_there(place, fd)) {
        unlinkat(place->root, OWNER_FILE, 0);
    }
    close(fd);
}

static volatile sig_atomic_t told_to_stop;

static void stop(int number) {
    (void)number;
    told_to_stop = 1;
}

static int stopped(const struct place *place, const struct claim *claim, int fd) {
    problem(NULL, "node %s: told to stop while waiting; nothing was changed", claim->node);
    owner_let_go(place, fd);
    return -1;
}

static int wait_for_turn(const struct place *place, const struct claim *claim, int fd) {
    for (bool told = false; !told_to_stop && !place_turn_now(place); told = true) {
        if (!told) {
            notice(NULL, "node %s: waiting for another program that changes it", claim->node);
        }
        clock_pause();
    }
    if (told_to_stop) {
        return stopped(place, claim, fd);
    }
    if (still_there(place, fd)) {
        return fd;
    }
    close(fd);
    return OWNER_MOVED;
}

static int wait_for_claim(const struct place *place, const struct claim *claim) {
    double deadline = clock_seconds() + claim->wait_seconds, free_since = 0;
    bool told = false;
    for (;;) {
        struct look seen = {0};
        int fd = look(place, claim, &seen);
        if (fd < 0) {
            place_report(place, OWNER_FILE, "cannot be opened");
            return -1;
        }
        double now = clock_seconds();
        if (told_to_stop) {
            return stopped(place, claim, fd);
        }
        if (seen.verdict == OURS) {
            return fd;
        }
        if (seen.verdict != FREE_BUT_THEIRS) {
            free_since = 0;
        } else if (!free_since) {
            free_since = now;
        } else if (now - free_since >= TAKE_OVER_SECONDS) {
            notice(
                NULL,
                "node %s: taken over from release %s in namespace %s, which no longer runs there",
                claim->node, seen.owner.release, seen.owner.namespace);
            return fd;
        }
        /* A driver does not go away while we wait; a file that moved is worth some more looks. */
        double patience = seen.verdict == MOVED ? deadline + TAKE_OVER_SECONDS : deadline;
        bool hopeless =
            seen.verdict == FOREIGN_DRIVER || (now >= patience && seen.verdict != FREE_BUT_THEIRS);
        if (hopeless) {
            explain(claim, &seen, problem);
            owner_let_go(place, fd);
            return -1;
        }
        if (!told && seen.verdict != FREE_BUT_THEIRS && seen.verdict != MOVED) {
            explain(claim, &seen, notice);
            notice(NULL, "waiting up to %d s for that to change", claim->wait_seconds);
            told = true;
        }
        owner_let_go(place, fd);
        clock_pause();
    }
}

/* A pod that is deleted while it waits must not take the node when that becomes free: nobody would clean up after it. As
 * process 1 of a container there is no default action for SIGTERM. */
int owner_claim(const struct place *place, const struct claim *claim) {
    struct sigaction ask = {.sa_handler = stop}, before;
    sigaction(SIGTERM, &ask, &before);
    int fd = wait_for_claim(place, claim);
    if (fd >= 0) {
        fd = wait_for_turn(place, claim, fd);
    }
    sigaction(SIGTERM, &before, NULL);
    return fd;
}

bool owner_write(const struct place *place, int fd, const struct owner *us) {
    struct owner before;
    char text[1024];
    /* "Since" is when the release came, not when its pod was last replaced. */
    bool stays = read_open(fd, &before) && owner_same(&before, us) && before.since[0];
    int length = snprintf(text, sizeof text, "release=%s\nnamespace=%s\npod=%s\ntime=%s\n",
                          us->release, us->namespace, us->pod, stays ? before.since : us->since);
    /* Written over, then cut: killed between the two, the first line of each key is the new one. */
    if (length > 0 && pwrite(fd, text, (size_t)length, 0) == length && !ftruncate(fd, length)) {
        return true;
    }
    place_report(place, OWNER_FILE, "cannot be written");
    return false;
}
