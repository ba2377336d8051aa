/* Scalar operations as data: what ops.def says, expanded. The bodies are static inline functions
 *
 *     sm_status op_<id>(sm_opctx *cx, <arg C types...>, <result C type> *out)
 *
 * in ops_number.h, ops_decimal.h, ops_datetime.h, ops_text.h; ops_table.c makes the row and lanes
 * forms from them, kernels_ops.c the batch forms (built once per instruction-set level). */
#ifndef SM_OPS_H
#define SM_OPS_H

#include "error.h"
#include "memory.h"
#include "value.h"

typedef enum sm_op {
#define SM_OP(id, sql, result, args, fails, lanes, doc, examples) SM_OP_##id,
#include "ops.def"
#undef SM_OP
    SM_N_OPS
} sm_op;

/* The value codes of ops.def. */
typedef enum sm_code {
    SM_CODE_NONE,
    SM_CODE_B,
    SM_CODE_I16,
    SM_CODE_I32,
    SM_CODE_I64,
    SM_CODE_F32,
    SM_CODE_F64,
    SM_CODE_D64,
    SM_CODE_D128,
    SM_CODE_DATE,
    SM_CODE_TS,
    SM_CODE_IV,
    SM_CODE_TXT
} sm_code;

typedef uint8_t sm_c_B;
typedef int16_t sm_c_I16;
typedef int32_t sm_c_I32;
typedef int64_t sm_c_I64;
typedef float sm_c_F32;
typedef double sm_c_F64;
typedef int64_t sm_c_D64;
typedef sm_i128 sm_c_D128;
typedef int32_t sm_c_DATE;
typedef int64_t sm_c_TS;
typedef sm_interval sm_c_IV;
typedef sm_text sm_c_TXT;

/* What a body may use besides its arguments. */
typedef struct sm_opctx {
    int32_t imm[2];
    sm_arena *scratch; /* text results live here until the batch, block or row is done */
    sm_error *err; /* detail of a failure; NULL: only the status is wanted (no text is formatted) */
} sm_opctx;

/** Row form. Arguments are not NULL; *out's is_null is left alone. */
typedef sm_status (*sm_op_row)(sm_opctx *cx, const sm_value *const *args, sm_value *out);
/** Lanes form, for compiled code: rows of a block whose bit is set in mask. args[i] and out are
 * arrays of SM_BLOCK_ROWS physical values.  returns  the rows that failed */
typedef uint32_t (*sm_op_lanes)(sm_opctx *cx, uint32_t mask, const void *const *args, void *out);
/** Dense batch form, EMIT operations only: all n rows, dead ones included.
 *  returns  false if any row (dead or not) would fail: then the caller asks the selected form */
typedef bool (*sm_op_dense)(sm_opctx *cx, const void *const *args, void *out, uint32_t n);
/** Selected batch form: rows sel[0..n) (sel NULL: rows 0..n) whose bit in valid is set (NULL: all).
 *  returns  SM_OK, or the status of the first failing row, whose position in the batch is in
 * *failed_row */
typedef sm_status (*sm_op_selected)(sm_opctx *cx, const void *const *args, void *out,
                                    const uint16_t *sel, uint32_t n, const uint64_t *valid,
                                    uint32_t *failed_row);

typedef struct sm_op_info {
    const char *id, *sql, *fails, *doc, *examples;
    uint8_t n_args, result, args[3]; /* sm_code */
    bool emit;
    bool can_fail; /* by its meaning; whatever makes a text can run out of memory (53200) besides */
    sm_op_row row;
    sm_op_lanes lanes;
} sm_op_info;

extern const sm_op_info sm_ops[SM_N_OPS];

sm_phys sm_code_phys(sm_code c);
/** The SQL type of a code (decimals: without precision and scale). */
sm_type sm_code_type(sm_code c);
/** The comparison that fits a physical form; cmp is "=", "<>", "<", "<=", ">" or ">=". */
sm_op sm_op_compare(const char *cmp, sm_phys p);

/* Batch kernels of one instruction-set level; see cpu.h. */
typedef struct sm_op_kernels {
    sm_op_dense dense[SM_N_OPS];    /* NULL for CALL operations */
    const sm_op_selected *selected; /* one for each operation, the same at every level */
} sm_op_kernels;
/** The table for this CPU, or for the level named by SMELT_ISA (v2, v3, v4). */
const sm_op_kernels *sm_op_kernels_get(void);

#endif
