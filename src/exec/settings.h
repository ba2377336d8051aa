/* Settings: the rows of settings.def as numbers, read at the start of a statement. */
#ifndef SM_SETTINGS_H
#define SM_SETTINGS_H

#include <stdatomic.h>

#include "runtime/error.h"

typedef enum sm_setting {
#define SM_SETTING(id, kind, default_, least, most, doc) SM_SETTING_##id,
#include "settings.def"
#undef SM_SETTING
    SM_N_SETTINGS
} sm_setting;

typedef enum sm_tier { SM_TIER_AUTO, SM_TIER_ROW, SM_TIER_BATCH, SM_TIER_JIT } sm_tier;

typedef struct sm_settings {
    _Atomic int64_t value[SM_N_SETTINGS];
} sm_settings;

void sm_settings_init(sm_settings *s);
/** Sets one by name from text; NULL is its default.  errors  SM_ERR_BAD_ARGUMENT: no such setting, or not a value of it */
sm_status sm_settings_set(sm_settings *s, const char *name, const char *value, sm_setting *which,
                          sm_error *err);
const char *sm_tier_name(sm_tier t);

SM_INLINE int64_t sm_setting_get(const sm_settings *s, sm_setting which)
{
    return atomic_load_explicit(&s->value[which], memory_order_relaxed);
}

#endif
