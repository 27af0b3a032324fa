/* SPDX-License-Identifier: Apache-2.0
 * The plugin's own rules, see plugin_health.h. */
#include "plugin_health.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Errors of an application, as v0.20.0 has them. */
static const uint32_t own[] = {13, 31, 43, 45, 68, 109};

enum { ALL = 0 };

/* Is the Xid (or ALL, by either of its names) in the list of a variable? */
static bool listed(const char *variable, uint32_t xid) {
    const char *list = getenv(variable);
    while (list && *list) {
        size_t length = strcspn(list, ",");
        const char *word = list + strspn(list, " \t");
        size_t rest = (size_t)(list + length - word);
        while (rest && strchr(" \t", word[rest - 1])) {
            rest--;
        }
        char *end;
        bool all = (rest == 3 && !strncasecmp(word, "all", 3)) ||
                   (rest == 4 && !strncasecmp(word, "xids", 4));
        if (xid == ALL ? all
                       : rest && *word >= '0' && *word <= '9' && strtoul(word, &end, 10) == xid &&
                             end == word + rest) {
            return true;
        }
        list += length + (list[length] == ',');
    }
    return false;
}

bool plugin_ignores(uint32_t xid, const char **why) {
    const char *unused;
    why = why ? why : &unused;
    /* Single ones enabled on top of that have no effect, whatever its documentation promises. */
    *why = "DP_DISABLE_HEALTHCHECKS switches all health checks off";
    if (listed("DP_DISABLE_HEALTHCHECKS", ALL) && !listed("DP_ENABLE_HEALTHCHECKS", ALL)) {
        return true;
    }
    if (listed("DP_ENABLE_HEALTHCHECKS", xid) && !listed("DP_ENABLE_HEALTHCHECKS", ALL)) {
        return false;
    }
    *why = "DP_DISABLE_HEALTHCHECKS names it";
    if (listed("DP_DISABLE_HEALTHCHECKS", xid)) {
        return true;
    }
    *why = "it means an error of an application";
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (own[i] == xid) {
            return true;
        }
    }
    return false;
}
