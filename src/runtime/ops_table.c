/* The operations as data: one sm_op_info per row of ops.def, with the row form and the lanes form
 * that two macros make from the body. Read ops.h and ops.def first; the batch forms are in
 * kernels_ops.c. */
#include "ops_datetime.h"
#include "ops_decimal.h"
#include "ops_number.h"
#include "ops_text.h"

/* Where a value of each code lies in an sm_value, and its physical form and SQL type. */
#define FIELD_B    b
#define FIELD_I16  i16
#define FIELD_I32  i32
#define FIELD_I64  i64
#define FIELD_F32  f32
#define FIELD_F64  f64
#define FIELD_D64  i64
#define FIELD_D128 i128
#define FIELD_DATE i32
#define FIELD_TS   i64
#define FIELD_IV   iv
#define FIELD_TXT  text

/* An args column of ops.def becomes (count, code, ...): the argument list of macros below. */
#define A1(t)       (1, t)
#define A2(t, u)    (2, t, u)
#define A3(t, u, v) (3, t, u, v)

#define VALUES(n, ...)    VALUES_##n(__VA_ARGS__)
#define VALUES_1(t)       args[0]->FIELD_##t
#define VALUES_2(t, u)    VALUES_1(t), args[1]->FIELD_##u
#define VALUES_3(t, u, v) VALUES_2(t, u), args[2]->FIELD_##v

#define SM_OP(id, sql, result, takes, fails, lanes, doc, examples)                                 \
    static sm_status row_##id(sm_opctx *cx, const sm_value *const *args, sm_value *out)            \
    {                                                                                              \
        return op_##id(cx, VALUES takes, &out->FIELD_##result);                                    \
    }
#include "ops.def"
#undef SM_OP

#define LANES(n, ...)    LANES_##n(__VA_ARGS__)
#define LANES_1(t)       ((const sm_c_##t *)args[0])[i]
#define LANES_2(t, u)    LANES_1(t), ((const sm_c_##u *)args[1])[i]
#define LANES_3(t, u, v) LANES_2(t, u), ((const sm_c_##v *)args[2])[i]

#define SM_OP(id, sql, result, takes, fails, lanes, doc, examples)                                 \
    static uint32_t lanes_##id(sm_opctx *cx, uint32_t mask, const void *const *args, void *out)    \
    {                                                                                              \
        uint32_t failed = 0;                                                                       \
        for (; mask; mask &= mask - 1) {                                                           \
            unsigned i = (unsigned)__builtin_ctz(mask);                                            \
            if (op_##id(cx, LANES takes, (sm_c_##result *)out + i) != SM_OK)                       \
                failed |= (uint32_t)1 << i;                                                        \
        }                                                                                          \
        return failed;                                                                             \
    }
#include "ops.def"
#undef SM_OP

#define COUNT(n, ...)    n
#define CODES(n, ...)    CODES_##n(__VA_ARGS__)
#define CODES_1(t)       SM_CODE_##t
#define CODES_2(t, u)    SM_CODE_##t, SM_CODE_##u
#define CODES_3(t, u, v) SM_CODE_##t, SM_CODE_##u, SM_CODE_##v
#define IS_EMIT          true
#define IS_CALL          false

const sm_op_info sm_ops[SM_N_OPS] = {
#define SM_OP(id, sql, result, takes, fails, lanes, doc, examples)                                 \
    {#id,                                                                                          \
     sql,                                                                                          \
     fails,                                                                                        \
     doc,                                                                                          \
     examples,                                                                                     \
     COUNT takes,                                                                                  \
     SM_CODE_##result,                                                                             \
     {CODES takes},                                                                                \
     IS_##lanes,                                                                                   \
     sizeof(fails) > 1,                                                                            \
     row_##id,                                                                                     \
     lanes_##id},
#include "ops.def"
#undef SM_OP
};

sm_phys sm_code_phys(sm_code c)
{
    static const uint8_t phys[] = {
        [SM_CODE_NONE] = SM_PHYS_BOOL, [SM_CODE_B] = SM_PHYS_BOOL,  [SM_CODE_I16] = SM_PHYS_I16,
        [SM_CODE_I32] = SM_PHYS_I32,   [SM_CODE_I64] = SM_PHYS_I64, [SM_CODE_F32] = SM_PHYS_F32,
        [SM_CODE_F64] = SM_PHYS_F64,   [SM_CODE_D64] = SM_PHYS_I64, [SM_CODE_D128] = SM_PHYS_I128,
        [SM_CODE_DATE] = SM_PHYS_I32,  [SM_CODE_TS] = SM_PHYS_I64,  [SM_CODE_IV] = SM_PHYS_IV,
        [SM_CODE_TXT] = SM_PHYS_TEXT,
    };
    return (sm_phys)phys[c];
}

sm_type sm_code_type(sm_code c)
{
    static const uint8_t type[] = {
        [SM_CODE_NONE] = SM_UNKNOWN, [SM_CODE_B] = SM_BOOL,       [SM_CODE_I16] = SM_INT16,
        [SM_CODE_I32] = SM_INT32,    [SM_CODE_I64] = SM_INT64,    [SM_CODE_F32] = SM_FLOAT32,
        [SM_CODE_F64] = SM_FLOAT64,  [SM_CODE_D64] = SM_DECIMAL,  [SM_CODE_D128] = SM_DECIMAL,
        [SM_CODE_DATE] = SM_DATE,    [SM_CODE_TS] = SM_TIMESTAMP, [SM_CODE_IV] = SM_INTERVAL,
        [SM_CODE_TXT] = SM_TEXT,
    };
    return sm_type_of((sm_type_id)type[c]);
}

sm_op sm_op_compare(const char *cmp, sm_phys p)
{
    /* SM_COMPARE of ops.def lists the six in this order for every form. */
    static const char order[6][3] = {"=", "<>", "<", "<=", ">", ">="};
    static const uint16_t first[SM_N_PHYS] = {
        [SM_PHYS_BOOL] = SM_OP_eq_b,  [SM_PHYS_I16] = SM_OP_eq_i16,   [SM_PHYS_I32] = SM_OP_eq_i32,
        [SM_PHYS_I64] = SM_OP_eq_i64, [SM_PHYS_I128] = SM_OP_eq_d128, [SM_PHYS_F32] = SM_OP_eq_f32,
        [SM_PHYS_F64] = SM_OP_eq_f64, [SM_PHYS_IV] = SM_OP_eq_iv,     [SM_PHYS_TEXT] = SM_OP_eq_txt,
    };
    static_assert(SM_OP_ge_b == SM_OP_eq_b + 5 && SM_OP_le_txt == SM_OP_eq_txt + 3,
                  "order of SM_COMPARE");
    unsigned i = 0;
    while (i < 5 && strcmp(order[i], cmp) != 0) i++;
    return (sm_op)(first[p] + i);
}
