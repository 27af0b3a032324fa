/* SPDX-License-Identifier: Apache-2.0
 * `ctl fault`: another answer of one function, or a late one. Functions come from nvml.h, codes from the library's
 * own list. */
#include <ctype.h>
#include <nvml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../src/functions.h"
#include "../src/return_codes.h"
#include "../src/spec.h"
#include "arguments.h"
#include "ctl.h"
#include "ctl_fault.h"
#include "ctl_lists.h"
#include "problem.h"

static const uint64_t LONGEST_DELAY_NS = GS_DELAY_MAX_SECONDS * 1000000000ull;

static const struct {
    const char *name;
    int code;
} codes[] = {
#define CODE(code, text) {#code, code},
    GS_RETURN_CODES(CODE)
#undef CODE
};
enum { CODES = sizeof codes / sizeof *codes };

static const char *bare(const char *name) {
    return name + (!strncasecmp(name, "NVML_ERROR_", 11) ? 11
                   : !strncasecmp(name, "NVML_", 5)      ? 5
                                                         : 0);
}

const char *ctl_code_name(int code) {
    for (unsigned i = 0; i < CODES; i++) {
        if (codes[i].code == code) {
            return bare(codes[i].name);
        }
    }
    return "?";
}

const char *ctl_function_name(uint32_t id) {
    const struct gs_function *function = gs_functions;
    while (function->name && gs_function_id(function->name) != id) {
        function++;
    }
    return function->name;
}

static bool find_code(const char *subject, const char *word, int *code) {
    char names[1024] = "";
    uint64_t number;
    bool numeric = !gs_parse_number(word, 0, INT32_MAX, &number);
    for (unsigned i = 0; i < CODES; i++) {
        if (numeric ? codes[i].code == (int)number : !strcasecmp(bare(codes[i].name), bare(word))) {
            *code = codes[i].code;
            return true;
        }
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", bare(codes[i].name));
    }
    problem(subject, "no such return code, got %s; give its number or one of %s", word, names);
    return false;
}

/* How many characters two names share at their beginnings. */
static size_t shared(const char *a, const char *b) {
    size_t length = 0;
    while (a[length] && tolower((unsigned char)a[length]) == tolower((unsigned char)b[length])) {
        length++;
    }
    return length;
}

static const struct gs_function *find_function(const char *subject, const char *word) {
    const char *end = strncasecmp(word, "nvml", 4) ? word : word + 4;
    size_t best = 0;
    char near[512] = "";
    for (const struct gs_function *one = gs_functions; one->name; one++) {
        if (!strcmp(one->name + 4, end)) {
            return one;
        }
        best = shared(one->name + 4, end) > best ? shared(one->name + 4, end) : best;
    }
    for (const struct gs_function *one = gs_functions; one->name; one++) {
        size_t used = strlen(near);
        if (shared(one->name + 4, end) == best && used + strlen(one->name) + 3 < sizeof near) {
            snprintf(near + used, sizeof near - used, "%s%s", used ? ", " : "", one->name);
        }
    }
    problem(subject, "no such function of the library, got %s; nvml.h has them all, near are %s",
            word, near);
    return NULL;
}

/* Names of a function differ by version, and a client binds the one of its header. */
static void tell_versions(const char *subject, const char *name) {
    const char *version = strstr(name, "_v");
    size_t stem = version ? (size_t)(version - name) : strlen(name);
    char others[256] = "";
    for (const struct gs_function *one = gs_functions; one->name; one++) {
        const char *rest = one->name + stem;
        size_t used = strlen(others);
        if (!strncmp(one->name, name, stem) && strcmp(one->name, name) &&
            (!*rest || !strncmp(rest, "_v", 2))) {
            snprintf(others + used, sizeof others - used, "%s%s", used ? ", " : "", one->name);
        }
    }
    if (*others) {
        notice(subject, "only %s has it; some programs call %s instead", name, others);
    }
}

static bool parse_delay(const char *subject, const char *text, uint64_t *ns) {
    static const struct {
        const char *unit;
        uint64_t ns;
    } units[] = {{"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    size_t digits = strspn(text, "0123456789");
    char number[24];
    snprintf(number, sizeof number, "%.*s", (int)digits, text);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (digits < sizeof number && !strcmp(text + digits, units[i].unit) &&
            !gs_parse_number(number, 1, LONGEST_DELAY_NS / units[i].ns, ns)) {
            *ns *= units[i].ns;
            return true;
        }
    }
    problem(subject, "--delay: no such time, got %s; give us, ms or s, up to %ds, as in 5ms", text,
            GS_DELAY_MAX_SECONDS);
    return false;
}

/* The place of the function's fault, or a free one. -1 where the list is full. */
static int place_of(const struct gs_fault *faults, uint32_t function) {
    int empty = -1;
    for (int i = 0; i < (int)GS_FAULTS; i++) {
        if (faults[i].function == function) {
            return i;
        }
        if (empty < 0 && (!faults[i].function || faults[i].function == GS_NO_FUNCTION)) {
            empty = i;
        }
    }
    return empty;
}

static bool put(struct change *change, const char *whose, struct gs_fault *faults,
                struct gs_fault_detail *details, const struct gs_fault *fault,
                const struct gs_fault_detail *detail) {
    int place = place_of(faults, fault->function);
    if (place < 0) {
        problem(change->subject, "%s has %u faults already, got one more; clear it first", whose,
                GS_FAULTS);
        return false;
    }
    faults[place] = *fault;
    details[place] = *detail;
    details[place].id =
        ++change->fault_sequence ? change->fault_sequence : ++change->fault_sequence;
    return true;
}

static int write_fault(struct change *change, const struct gs_function *function, uint64_t slots,
                       const struct gs_fault *fault, const struct gs_fault_detail *detail) {
    char whose[32];
    if (!function->of_device) {
        change->node_touched = true;
        return put(change, "the node", change->faults, change->details, fault, detail) ? EXIT_FINE
                                                                                       : EXIT_INPUT;
    }
    for (uint32_t slot = ctl_next(slots, 0); slot < GS_SLOTS; slot = ctl_next(slots, slot + 1)) {
        struct gs_state *state = change_state(change, slot);
        snprintf(whose, sizeof whose, "GPU %u", slot);
        if (!put(change, whose, state->faults, state->fault_details, fault, detail)) {
            return EXIT_INPUT;
        }
    }
    return EXIT_FINE;
}

int ctl_fault(struct change *change, int count, char **words) {
    const char *gpu = NULL, *calls = NULL, *delay = NULL;
    const struct option options[] = {{"--gpu", &gpu, NULL, false},
                                     {"--count", &calls, NULL, false},
                                     {"--delay", &delay, NULL, false}};
    char *rest[CTL_WORDS];
    int others;
    uint64_t slots = 0, limit = 0;
    struct gs_fault fault = {0};
    struct gs_fault_detail detail = {0};
    if (!ctl_few(change, count) ||
        !arguments_split(change->subject, count, words, options, 3, rest, &others)) {
        return EXIT_USAGE;
    }
    if (others != 2) {
        problem(
            change->subject,
            "needs FUNCTION and CODE, got %d words; as in fault nvmlDeviceGetMemoryInfo UNKNOWN",
            others);
        return EXIT_USAGE;
    }
    const struct gs_function *function = find_function(change->subject, rest[0]);
    bool good = function && find_code(change->subject, rest[1], &fault.code);
    good = (!delay || parse_delay(change->subject, delay, &detail.delay_ns)) && good;
    if (calls && gs_parse_number(calls, 1, UINT32_MAX, &limit)) {
        problem(change->subject, "--count: no number of calls, got %s; give 1 to %u", calls,
                UINT32_MAX);
        good = false;
    }
    if (good && fault.code == NVML_SUCCESS && !delay) {
        problem(change->subject,
                "SUCCESS changes nothing, got no --delay; give one, or another code");
        good = false;
    }
    if (function && !function->of_device && gpu) {
        problem(change->subject, "%s belongs to no GPU, got --gpu %s; leave --gpu out",
                function->name, gpu);
        good = false;
    }
    good =
        (function && !function->of_device) || (ctl_gpus(change, gpu ? gpu : "all", &slots) && good)
            ? good
            : false;
    if (!good) {
        return EXIT_INPUT;
    }
    if (!change->checking) {
        tell_versions(change->subject, function->name);
    }
    fault.function = gs_function_id(function->name);
    detail.count = (uint32_t)limit;
    return write_fault(change, function, slots, &fault, &detail);
}
