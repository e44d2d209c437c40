/* kernel.h -- the table of kernels and the tasks that they run.
 *
 * There is one kernel per instruction set. A task is one block of rows of one key/value head: raw
 * pointers, a range of visible keys for each row, optionally a mask. A kernel allocates nothing and
 * is independent of batch, threads and broadcasting.
 */
#ifndef ATTN_KERNEL_H
#define ATTN_KERNEL_H

#include "attn/attn.h"

/* Kernels keep scores in base 2: a score s is stored as s log2(e), and e^s is 2^(s log2(e)). */
#define ATTN_LOG2E 1.4426950408889634
#define ATTN_LN2 0.6931471805599453

enum {
  ATTN_ROW_BLOCK = 64,      /* queries of a block: the lanes of the panels */
  ATTN_KEY_BLOCK = 96,      /* keys of a block, counted from key 0 */
  ATTN_MASK_BLOCKS = 4,     /* of keys, whose mask of bool is loaded at once: 384 bytes of a row */
  ATTN_FORWARD_BLOCKS = 4,  /* blocks of rows at most that share a pass over the keys, */
  ATTN_BACKWARD_BLOCKS = 4, /* and in the backward */
  ATTN_PANEL_ALIGN = 64,    /* bytes: a full vector of the widest set */
  ATTN_PANEL_WIDTH = 16     /* floats: the same */
};

/* k or v of a head, its rows `row` apart. Strides are in elements. */
struct attn_task_operand {
  const char *data; /* of pages: of page 0 */
  int64_t row, col;
  int64_t width;      /* E or Ev */
  int64_t page;       /* from page to page */
  const char *scales; /* of int8: a float32 for each row */
  int64_t scale_row, scale_page;
};

/* The paged keys and values of a head: key j is row j % tokens of page table[j / tokens]. */
struct attn_task_pages {
  int64_t tokens;    /* of a page; 0: no pages */
  const char *table; /* int32 or int64 */
  int64_t table_step;
  attn_dtype table_dtype;
  int64_t keys; /* of the sequence; rows beyond them are not read */
};

/* Memory that the next task reads or writes: prefetched, a part with each tile. */
struct attn_task_ahead {
  const char *at;
  int64_t bytes; /* 0: nothing */
};

/* One block of at most ATTN_ROW_BLOCK rows against all keys of a head. Strides are in elements. */
struct attn_sdpa_task {
  int32_t rows;
  attn_dtype dtype;                 /* of q and o: float32, float16 or bfloat16 */
  attn_dtype weights_dtype;         /* also one of these */
  attn_dtype kv_dtype;              /* of k and v: one of these, or int8 in pages */
  const char *q[ATTN_ROW_BLOCK];    /* E values each, q_col apart */
  char *o[ATTN_ROW_BLOCK];          /* Ev values each, o_col apart */
  float *lse[ATTN_ROW_BLOCK];       /* one value, or NULL */
  char *weights[ATTN_ROW_BLOCK];    /* S values each, weights_col apart, or NULL */
  const char *mask[ATTN_ROW_BLOCK]; /* S values each, mask_col apart; unused where has_mask is 0 */
  int64_t lo[ATTN_ROW_BLOCK],
      hi[ATTN_ROW_BLOCK];        /* the row sees keys lo <= j < hi that the mask allows */
  int32_t empty[ATTN_ROW_BLOCK]; /* out: 1 where the row saw no key (o 0, weights 0, lse -inf) */
  /* Partial results instead of all outputs: Ev sums of p v, then m and l (see sdpa_f32.inc) and the
   * sum of the weights as rounded for p v, to be merged with those of the row's other keys; m is
   * -inf if it sees none. [0] NULL: not computed. */
  float *partial[ATTN_ROW_BLOCK];
  struct attn_task_operand k, v;
  int64_t q_col, o_col, weights_col, mask_col;
  int64_t keys; /* S */
  struct attn_task_pages pages;
  int32_t has_mask, has_alibi;
  attn_dtype mask_dtype;
  double slope[ATTN_ROW_BLOCK];     /* ALiBi's */
  int64_t position[ATTN_ROW_BLOCK]; /* i + offset */
  double sink[ATTN_ROW_BLOCK];      /* times log2(e); -inf: none */
  double softcap;                   /* times log2(e); 0: none */
  uint32_t drop_below; /* a weight whose random word is below this is dropped; 0: no dropout */
  double keep;         /* the factor of the others */
  uint64_t seed;
  uint32_t counter[ATTN_ROW_BLOCK][3]; /* i, h, b of the Philox counter */
  double scale;                        /* scale * log2(e): scores are in base 2 */
  float headroom;   /* c: keeps sums of weights at most 1, so that sums of |p v| cannot overflow */
  float *workspace; /* attn_sdpa_lay_out's end in floats, aligned to ATTN_PANEL_ALIGN; any contents;
                       one for all blocks of a call */
  int32_t has_additive; /* the score is scale * sum_e a_e tanh(q_e + k_e) */
  attn_dtype additive_dtype;
  int64_t additive_col;
  const char *additive[ATTN_ROW_BLOCK]; /* a: E values each, additive_col apart */
  struct attn_task_ahead ahead[4];
};

/* The gradients of a block of rows. task is as in the forward, without its outputs. The backward of
 * a key/value head calls load_keys, which clears sums, then add_rows for all blocks of rows of its
 * query heads in order, up to ATTN_BACKWARD_BLOCKS in a call, which computes their gradients and
 * adds to sums, then store_keys. Results do not depend on the number of blocks in a call. */
struct attn_backward_task {
  struct attn_sdpa_task task;      /* its workspace: attn_backward_lay_out */
  int32_t blocks;                  /* that the workspace is for */
  const char *d_o[ATTN_ROW_BLOCK]; /* Ev values each, d_o_col apart */
  float m[ATTN_ROW_BLOCK];         /* P = share 2^(score - m), in base 2 */
  float share[ATTN_ROW_BLOCK];
  float delta[ATTN_ROW_BLOCK];  /* sum dO O - dlse */
  char *d_q[ATTN_ROW_BLOCK];    /* E values each, d_q_col apart; [0] NULL: not computed */
  char *d_mask[ATTN_ROW_BLOCK]; /* added to; [0] NULL: not computed */
  attn_dtype d_mask_dtype;
  int64_t d_o_col, d_q_col, d_mask_col;
  double plain_scale; /* scale, without log2(e) */
  float *sums;        /* of dK and dV: sum_floats; NULL: not computed */
  char *d_k, *d_v;    /* of the head; NULL: not computed */
  int64_t d_k_row, d_k_col, d_v_row, d_v_col;
  double *d_additive[ATTN_ROW_BLOCK]; /* E values each, dense, added to in order; [0] NULL: not
                                         computed */
};

/* The softmax of a row over its keys and its sink. */
struct attn_softmax_sum {
  double top, sum; /* 2^top sum is the sum of the exponentials; top is -inf, and sum 0, of a row
                      without keys and sink */
  double share;    /* the factor of each weight 2^(x - m); 0 of a row without keys */
  double sink;     /* the weight of the sink */
};
/* From the maximum m of the scores x and l, the sum of 2^(x - m). m and sink are in base 2; -inf:
 * no key, no sink. */
struct attn_softmax_sum attn_softmax_finish(double m, double l, double sink);

/* The log-sum-exp in base 2; -inf of a row without keys and sink. In double: top may be so large
 * that float32 cannot represent the sum. */
double attn_softmax_log2(struct attn_softmax_sum total);

/* The three steps of a backward. */
struct attn_backward_kernel {
  void (*load_keys)(struct attn_backward_task *task);
  void (*add_rows)(struct attn_backward_task *tasks, int32_t blocks);
  void (*store_keys)(struct attn_backward_task *task);
};

struct attn_kernel {
  int32_t isa;
  const char *name;   /* "f32 avx2" */
  int32_t row_blocks; /* in a call that runs fast */
  /* Runs up to ATTN_FORWARD_BLOCKS blocks of rows of one head, which share each block of keys. All
   * but the last have ATTN_ROW_BLOCK rows. Results do not depend on their number. */
  void (*sdpa_f32)(struct attn_sdpa_task *tasks, int32_t blocks);
  void (*exp2_f32)(const float *x, float *y, int64_t count); /* for tests */
  double (*fma_f32)(int64_t rounds); /* runs independent FMAs; returns the number of operations */
  const struct attn_backward_kernel *backward;
  void (*tanh_f32)(const float *x, float *y, int64_t count); /* for tests */
  /* sdpa_f32 by products of bf16, with weights rounded to bf16; NULL: none. For q, k, v in bf16, E
   * and Ev above 0, a scale in float32's range, and no additive scores, dropout and weights. */
  void (*sdpa_bf16)(struct attn_sdpa_task *tasks, int32_t blocks);
  /* The backward of what sdpa_bf16 runs; NULL: backward runs it. */
  const struct attn_backward_kernel *backward_bf16;
};

/* Where the panels of a call begin in its workspace, in floats; end is the size. Each is a multiple
 * of ATTN_PANEL_ALIGN. A panel of one group of rows is as large as the widest kernel needs it.
 * Those up to rows_end belong to a block of rows; they repeat for each block. */
struct attn_sdpa_layout {
  int64_t q, o;        /* [E][row], [Ev][row] */
  int64_t a;           /* additive scores: [E][row] */
  int64_t mask_values; /* [row][key] */
  int64_t mask_bits;   /* [key / 32][row] of two times ATTN_MASK_BLOCKS */
  int64_t rows_end;
  int64_t p, tile;        /* [key][row]: weights of one group; what is added to the scores */
  int64_t k_copy, v_copy; /* a block of k or v that cannot be read in place */
  int64_t scores;         /* additive scores: [key][row] of one group */
  int64_t end;
};
struct attn_sdpa_layout attn_sdpa_lay_out(int64_t width, int64_t value_width, int has_additive,
                                          int32_t blocks);

/* The backward. Rows and keys are in panels of as many columns as the widest kernel needs. Those
 * from q_lanes to rows_end belong to a block of rows; they repeat for each block of a call. */
struct attn_backward_layout {
  int64_t q_lanes, d_out_lanes; /* [E][row], [Ev][row] */
  int64_t q, d_out, d_q;        /* [row][E or Ev] */
  int64_t a_lanes, a, d_a;      /* additive scores: [E][row], [row][E] */
  int64_t mask_bits;            /* as in the forward */
  int64_t rows_end;
  int64_t p, d_s, dropped, gain, tile; /* [key][row]: P, dS, P after dropout, the slope of the
                                          softcap, what is added to the scores */
  int64_t mask_values;                 /* [row][key] */
  int64_t k, v;                        /* of the head: [key][E or Ev] */
  int64_t not_finite;                  /* of each block of keys */
  int64_t end;
  int64_t d_v, sum_floats; /* of dK and dV in their own memory: where dV begins, and the size */
};
struct attn_backward_layout attn_backward_lay_out(int64_t width, int64_t value_width, int64_t keys,
                                                  int has_additive, int32_t blocks);

/* Kernel number index, slowest first; NULL past the end. */
const struct attn_kernel *attn_kernel_entry(int32_t index);

/* The best kernel for at most this isa; never NULL. */
const struct attn_kernel *attn_kernel_for(int32_t isa);

extern const struct attn_kernel attn_kernel_scalar;
#if defined(__x86_64__)
extern const struct attn_kernel attn_kernel_avx2, attn_kernel_avx512, attn_kernel_avx512_bf16,
    attn_kernel_amx_bf16;
void attn_sdpa_bf16_avx512(struct attn_sdpa_task *tasks, int32_t blocks);
void attn_sdpa_bf16_amx(struct attn_sdpa_task *tasks, int32_t blocks);
extern const struct attn_backward_kernel attn_backward_bf16_avx512;

/* Runs independent dot products of bf16 with AVX512_BF16, which the CPU must have. Returns the
 * number of operations. */
double attn_dot_bf16(int64_t rounds);

/* The same with AMX-BF16: products of tiles. */
double attn_tile_bf16(int64_t rounds);
#endif

#endif
