/* Settings by name: settings.def expanded to a table, and one parser for its four kinds of value. */
#include "exec/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef enum setting_kind { KIND_TIER, KIND_INT, KIND_BYTES, KIND_BOOL } setting_kind;

typedef struct setting_row {
    const char *name;
    setting_kind kind;
    int64_t initial, least, most;
} setting_row;

static const setting_row rows[SM_N_SETTINGS] = {
#define SM_SETTING(id, kind, default_, least, most, doc) {#id, KIND_##kind, default_, least, most},
#include "settings.def"
#undef SM_SETTING
};

static const char *const tier_names[] = {"auto", "row", "batch", "jit"};

const char *sm_tier_name(sm_tier t)
{
    return (unsigned)t < SM_COUNT(tier_names) ? tier_names[t] : "?";
}

void sm_settings_init(sm_settings *s)
{
    for (unsigned i = 0; i < SM_N_SETTINGS; i++) atomic_init(&s->value[i], rows[i].initial);
}

static bool parse_bool(const char *text, int64_t *out)
{
    static const char *const yes[] = {"on", "true", "yes", "1"};
    static const char *const no[] = {"off", "false", "no", "0"};
    for (unsigned i = 0; i < SM_COUNT(yes); i++) {
        if (!strcasecmp(text, yes[i])) return *out = 1, true;
        if (!strcasecmp(text, no[i])) return *out = 0, true;
    }
    return false;
}

static bool parse_number(const char *text, bool bytes, int64_t *out)
{
    static const struct {
        const char *name;
        unsigned shift;
    } units[] = {{"", 0}, {"b", 0}, {"kb", 10}, {"mb", 20}, {"gb", 30}, {"tb", 40}};
    char *end;
    long long n = strtoll(text, &end, 10);
    if (end == text || n < 0) return false;
    while (*end == ' ') end++;
    for (unsigned i = 0; i < (bytes ? SM_COUNT(units) : 1); i++) {
        if (strcasecmp(end, units[i].name) != 0) continue;
        if (n > INT64_MAX >> units[i].shift) return false;
        *out = (int64_t)n << units[i].shift;
        return true;
    }
    return false;
}

static bool parse_value(const setting_row *row, const char *text, int64_t *out)
{
    switch (row->kind) {
    case KIND_TIER:
        for (int i = 0; i < (int)SM_COUNT(tier_names); i++) {
            if (!strcasecmp(text, tier_names[i])) return *out = i, true;
        }
        return false;
    case KIND_BOOL: return parse_bool(text, out);
    case KIND_INT: return parse_number(text, false, out);
    case KIND_BYTES: return parse_number(text, true, out);
    }
    return false;
}

sm_status sm_settings_set(sm_settings *s, const char *name, const char *value, sm_setting *which,
                          sm_error *err)
{
    char message[SM_MESSAGE_BYTES];
    for (unsigned i = 0; i < SM_N_SETTINGS; i++) {
        int64_t v = rows[i].initial;
        if (strcasecmp(name, rows[i].name) != 0) continue;
        if ((value && !parse_value(&rows[i], value, &v)) || v < rows[i].least || v > rows[i].most) {
            snprintf(message, sizeof message, "invalid value for setting \"%s\": \"%.100s\"",
                     rows[i].name, value);
            return sm_raise(err, SM_ERR_BAD_ARGUMENT, message);
        }
        atomic_store(&s->value[i], v);
        if (which) *which = (sm_setting)i;
        return SM_OK;
    }
    snprintf(message, sizeof message, "unrecognized setting \"%.100s\"", name);
    return sm_raise(err, SM_ERR_BAD_ARGUMENT, message);
}
