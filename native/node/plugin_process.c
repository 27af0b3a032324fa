/* SPDX-License-Identifier: Apache-2.0
 * Finds the plugin, see plugin_process.h. */
#include "plugin_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../src/spec.h"
#include "foreign.h"
#include "problem.h"

enum { PID_MAX = 4194304 };

static bool is_plugin(const char *proc, const char *pid) {
    char path[PATH_MAX], command[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s/cmdline", proc, pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t length = read(fd, command, sizeof command - 1);
    close(fd);
    command[length > 0 ? length : 0] = 0;
    const char *slash = strrchr(command, '/');
    return !strcmp(slash ? slash + 1 : command, "nvidia-device-plugin");
}

/* Who listens on the folder's sockets; another cluster's plugin on the same machine is none of ours. */
static unsigned listeners(const char *plugin_dir, int pids[PLUGIN_SOCKETS]) {
    DIR *entries = opendir(plugin_dir);
    struct dirent *entry;
    unsigned count = 0;
    while (entries && count < PLUGIN_SOCKETS && (entry = readdir(entries))) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", plugin_dir, entry->d_name);
        if (foreign_is_socket(entry->d_name) && (pids[count] = foreign_listener(path)) > 0) {
            count++;
        }
    }
    if (entries) {
        closedir(entries);
    }
    return count;
}

static bool listens(const int pids[PLUGIN_SOCKETS], unsigned count, uint64_t pid) {
    bool found = !count;
    for (unsigned i = 0; i < count; i++) {
        found |= (uint64_t)pids[i] == pid;
    }
    return found;
}

int plugin_hang_up(const char *proc, const char *plugin_dir) {
    int pids[PLUGIN_SOCKETS];
    unsigned known = listeners(plugin_dir, pids);
    DIR *entries = opendir(proc);
    struct dirent *entry;
    int sent = 0;
    if (!entries) {
        problem_errno(proc, "cannot be opened");
        return -1;
    }
    while (sent >= 0 && (entry = readdir(entries))) {
        uint64_t pid;
        if (gs_parse_number(entry->d_name, 1, PID_MAX, &pid) || !listens(pids, known, pid) ||
            !is_plugin(proc, entry->d_name)) {
            continue;
        }
        if (!kill((pid_t)pid, SIGHUP)) {
            sent++;
        } else if (errno != ESRCH) {
            problem_errno("device plugin",
                          "process %s cannot be told to look anew; run this as its user",
                          entry->d_name);
            sent = -1;
        }
    }
    closedir(entries);
    return sent;
}

void plugin_sockets(const char *plugin_dir, struct plugin_sockets *sockets) {
    DIR *entries = opendir(plugin_dir);
    struct dirent *entry;
    *sockets = (struct plugin_sockets){0};
    while (entries && sockets->count < PLUGIN_SOCKETS && (entry = readdir(entries))) {
        char path[PATH_MAX];
        struct stat status;
        snprintf(path, sizeof path, "%s/%s", plugin_dir, entry->d_name);
        if (!foreign_is_socket(entry->d_name) || lstat(path, &status) ||
            !S_ISSOCK(status.st_mode) || !foreign_answers(path)) {
            continue;
        }
        sockets->each[sockets->count].inode = (uint64_t)status.st_ino;
        sockets->each[sockets->count++].made_ns =
            (uint64_t)status.st_ctim.tv_sec * 1000000000u + (uint64_t)status.st_ctim.tv_nsec;
    }
    if (entries) {
        closedir(entries);
    }
}

bool plugin_sockets_new(const struct plugin_sockets *now, const struct plugin_sockets *before) {
    for (unsigned i = 0; i < now->count; i++) {
        for (unsigned j = 0; j < before->count; j++) {
            if (now->each[i].inode == before->each[j].inode &&
                now->each[i].made_ns == before->each[j].made_ns) {
                return false;
            }
        }
    }
    return now->count;
}

uint64_t plugin_sockets_made(const struct plugin_sockets *sockets) {
    uint64_t newest = 0;
    for (unsigned i = 0; i < sockets->count; i++) {
        newest = sockets->each[i].made_ns > newest ? sockets->each[i].made_ns : newest;
    }
    return newest;
}
