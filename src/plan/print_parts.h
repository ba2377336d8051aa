/* Text that grows in an arena, and SQL names: what print.c and expr_print.c share. */
#ifndef SM_PRINT_PARTS_H
#define SM_PRINT_PARTS_H

#include "plan/node.h"

typedef struct sm_out {
    sm_arena *a;
    char *text;
    size_t len, room;
    bool failed; /* memory is out; the text is not to be used */
} sm_out;

void sm_out_bytes(sm_out *o, const char *s, size_t n);
void sm_out_str(sm_out *o, const char *s);
void sm_out_format(sm_out *o, const char *format, ...) SM_PRINTF(2, 3);
/** An identifier, in double quotes if it needs them. */
void sm_out_name(sm_out *o, const char *name);
/** An expression; exact: its type must come out as it is, also where no other operand tells it. */
void sm_out_expr(sm_out *o, const sm_expr *e, const sm_col *cols, uint32_t n_cols, bool exact);
/** Sets *type to the decimal type of a number's literal without a cast; leaves it for others. */
void sm_const_literal_type(const sm_expr *e, sm_type *type);
/** A constant; exact as above. */
void sm_out_const(sm_out *o, const sm_expr *e, bool exact);

#endif
