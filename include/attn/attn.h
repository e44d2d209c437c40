/**
 * attn.h -- exact attention on the CPU. The core of libattn.
 *
 *     o = softmax(scale * q k^T + mask) v                     [Vaswani17 eq. 1]
 *
 *     attn_tensor q = attn_tensor_dense(ATTN_F32, q_data, 1, heads, length, width); ...
 *     attn_status status = attn_sdpa_forward(NULL, &q, &k, &v, &o, NULL);
 *
 * Shapes   B batch size, Hq query heads, H key/value heads (Hq a multiple of H: GQA, MQA),
 *          L queries, S keys, E width of q and k, Ev width of v (the head dimensions).
 *          Index letters: b h i j e. Strides count elements, not bytes.
 * Memory   Tensors are views: the caller owns all data. No L x S tensor is allocated
 *          unless the caller requests the weights.
 * Errors   Every function that can fail returns an attn_status. If it is not ATTN_OK,
 *          no output has been written, unless the function states otherwise. The
 *          library never prints, exits or aborts.
 * Versions Structs that the caller fills begin with struct_size; initialize them with
 *          their _INIT macro. A struct of an older header is shorter: the missing fields
 *          are zero. A struct of a newer header is longer: if a field that this library
 *          does not know is not zero, the call fails with ATTN_ERR_ARGUMENT.
 * Threads  Every function may be called from any thread at any time, unless it states
 *          otherwise. Calls share no state.
 * Bits     On one instruction set, equal inputs give bit-identical results for any number
 *          of threads, batch size, slice of whole key/value heads, alignment and workspace
 *          contents. Requesting the weights may change the bits of o. All rules are in
 *          docs/semantics.md.
 *
 * References: [Vaswani17] arXiv 1706.03762; [Milakov18] arXiv 1805.02867;
 *             [Rabe21] arXiv 2112.05682; [Dao22] arXiv 2205.14135;
 *             [Bahdanau14] arXiv 1409.0473; [Luong15] arXiv 1508.04025;
 *             [Press22] arXiv 2108.12409; [Salmon11] SC'11; [Kwon23] arXiv 2309.06180;
 *             docs/references.md.
 */
#ifndef ATTN_ATTN_H
#define ATTN_ATTN_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ATTN_API __attribute__((visibility("default")))
#else
#define ATTN_API
#endif

#define ATTN_VERSION_MAJOR 0
#define ATTN_VERSION_MINOR 1
#define ATTN_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Status and errors -------------------------------------------------- */

/** The result of a call. The values are stable; the gaps are reserved for related errors. */
typedef enum attn_status {
  ATTN_OK = 0,
  ATTN_ERR_ARGUMENT = 10,    /* an invalid value: a NaN scale, an unknown flag */
  ATTN_ERR_SHAPE = 20,       /* shapes that do not match */
  ATTN_ERR_TYPE = 30,        /* an element type that this argument does not accept */
  ATTN_ERR_MEMORY = 40,      /* an allocation failed, or a workspace is too small */
  ATTN_ERR_FILE = 50,        /* the operating system failed to open, read, write or rename a file */
  ATTN_ERR_FORMAT = 60,      /* the contents of a file violate its format */
  ATTN_ERR_CPU = 70,         /* ATTN_ISA names instructions that this CPU lacks */
  ATTN_ERR_EMPTY_ROW = 80,   /* a query sees no key and empty_row is ATTN_EMPTY_ERROR */
  ATTN_ERR_INTERRUPTED = 90, /* the caller's progress function returned nonzero */
  ATTN_ERR_DIVERGED = 100,   /* training: the loss was not finite for several consecutive steps */
} attn_status;

/**
 * Describes why a call failed. Every err parameter may be NULL. Written only on failure.
 * Owned by the caller; holds no memory to release.
 */
typedef struct attn_error {
  attn_status status;
  char argument[32];  /* the name of the argument as in the header, or "" */
  char message[256];  /* what is wrong, with the value, and what is accepted */
  int64_t line;       /* text input: 1-based line, else 0 */
  int64_t column;     /* text input: 1-based column in characters, else 0 */
  int64_t offset;     /* binary input: byte offset, else -1 */
} attn_error;

/**
 * Returns "ATTN_ERR_SHAPE" for ATTN_ERR_SHAPE, "ATTN_ERR_UNKNOWN" for an unknown value. Never NULL.
 */
ATTN_API const char *attn_status_name(attn_status status);

/**
 * Returns the version of the library at run time, "0.1.0"; the macros are the header's. Never NULL.
 */
ATTN_API const char *attn_version_string(void);

/* ---- Tensors ------------------------------------------------------------ */

#define ATTN_RANK_MAX 8

/**
 * Element types in DLPack's layout, code | bits << 8 | lanes << 16: a DLDataType can be
 * copied with memcpy on a little-endian machine.
 */
typedef enum attn_dtype {
  ATTN_I32 = 0x00012000,
  ATTN_I64 = 0x00014000,
  ATTN_I8 = 0x00010800,
  ATTN_U8 = 0x00010801,
  ATTN_F16 = 0x00011002,
  ATTN_F32 = 0x00012002,
  ATTN_F64 = 0x00014002,
  ATTN_BF16 = 0x00011004,
  ATTN_BOOL = 0x00010806, /* one byte: 0 is false, any other value is true */
} attn_dtype;

/**
 * A view of memory that the caller owns. shape[n] and strides[n] are used for n < rank.
 * Strides of inputs may be 0 (broadcast) or negative. Elements of an output must not share
 * memory; this is not checked. The data of an input is never written, although the
 * pointer is not const.
 */
typedef struct attn_tensor {
  void *data; /* element (0, 0, ..), aligned to its size; may be NULL if a dimension is 0 */
  attn_dtype dtype;
  int32_t rank;
  int64_t shape[ATTN_RANK_MAX];
  int64_t strides[ATTN_RANK_MAX];
} attn_tensor;

/** Returns a contiguous row-major view of shape (n0, n1, n2, n3). Checks nothing. */
ATTN_API attn_tensor attn_tensor_dense(attn_dtype dtype, void *data, int64_t n0, int64_t n1,
                                       int64_t n2, int64_t n3);

/** Returns the bytes of one element; 0 for an unknown type. */
ATTN_API size_t attn_dtype_size(attn_dtype dtype);

/**
 * Returns the NumPy name of a type, "float32" for ATTN_F32; "unknown" for an unknown type. Never
 * NULL.
 */
ATTN_API const char *attn_dtype_name(attn_dtype dtype);

/* ---- Threads and memory of the host -------------------------------------- */

/**
 * A thread pool of the host, used instead of the library's own.
 *
 * The library's pool starts threads on first use: as many as the CPUs that the process may
 * run on, or ATTN_THREADS in the environment (1 to 1024). They sleep between calls, block all
 * signals and run until the process ends (the library is never unloaded). One call at a time
 * uses the pool; a concurrent call runs on its own thread alone.
 *
 * parallel_for(context, count, body, argument) calls body(argument, index, worker) exactly
 * once for each index in 0 .. count-1, in any order, on any threads, and returns when all
 * calls have returned. worker is in 0 .. workers-1; calls with the same worker never overlap
 * in time. Results do not depend on workers or on the order. A thread needs 64 KiB of stack.
 *
 * This struct and attn_allocator are frozen: no fields will be added.
 */
typedef struct attn_executor {
  void *context;
  int32_t workers; /* at least 1 */
  void (*parallel_for)(void *context, int64_t count,
                       void (*body)(void *argument, int64_t index, int32_t worker),
                       void *argument);
} attn_executor;

/**
 * An allocator of the host, used instead of aligned_alloc and free. allocate returns memory
 * aligned to alignment (a power of two), or NULL.
 */
typedef struct attn_allocator {
  void *context;
  void *(*allocate)(void *context, size_t alignment, size_t bytes);
  void (*release)(void *context, void *memory);
} attn_allocator;

/* ---- Scaled dot-product attention --------------------------------------- */

/** The optional fields of attn_sdpa that are in use. An unknown bit is an error. */
typedef enum attn_sdpa_flag {
  ATTN_SDPA_SCALE = 1,    /* .scale; else 1/sqrt(E), or 1 with .additive */
  ATTN_SDPA_CAUSAL = 2,   /* query i sees key j only if j <= i + offset */
  ATTN_SDPA_WINDOW = 4,   /* .window_left, .window_right */
  ATTN_SDPA_OFFSET = 8,   /* .offset, with ATTN_ALIGN_OFFSET */
  ATTN_SDPA_SOFTCAP = 16, /* .softcap */
  ATTN_SDPA_DROPOUT = 32, /* .dropout, .seed, .origin_batch, .origin_head, .origin_query */
} attn_sdpa_flag;

/**
 * The position of query 0 among the keys: the diagonal of CAUSAL, WINDOW and ALiBi.
 * Computed for each sequence from its key length S'.
 */
typedef enum attn_align {
  ATTN_ALIGN_TOP_LEFT = 0,     /* offset 0: the first query is at the first key */
  ATTN_ALIGN_BOTTOM_RIGHT = 1, /* offset S' - L: the last query is at the last key */
  ATTN_ALIGN_OFFSET = 2,       /* .offset, which may be negative */
} attn_align;

/**
 * The output of a query that sees no key (a fully masked row). Its log-sum-exp is -inf; NaN with
 * ATTN_EMPTY_NAN.
 */
typedef enum attn_empty_row {
  ATTN_EMPTY_ZERO = 0,  /* output 0, weights 0 */
  ATTN_EMPTY_MEAN = 1,  /* the mean of all S rows of v, weights 1/S: what a mask of -1e9 gives */
  ATTN_EMPTY_NAN = 2,   /* NaN, as a softmax over -inf gives */
  ATTN_EMPTY_ERROR = 3, /* ATTN_ERR_EMPTY_ROW, before anything is written */
} attn_empty_row;

/**
 * The options of a call. All zero except struct_size: plain attention.
 *
 * The score of query i and key j is
 *
 *     s_ij = cap(scale * (q_i . k_j)) - slope_h |i + offset - j| + mask_ij
 *
 * with cap(x) = softcap tanh(x / softcap) (SOFTCAP), the slopes of alibi, and the values of a
 * float mask; a term whose option is not given is left out. additive replaces q_i . k_j by
 * sum_e a_e tanh(q_ie + k_je). sinks add one logit per head to the softmax: it takes a share of
 * the weight but has no value. DROPOUT sets each weight after the softmax to 0 with that
 * probability and divides the others by 1 - dropout.
 *
 * Key j is visible to query i if all of these hold:
 *     j < key_lengths[b]                                           with key_lengths
 *     j <= i + offset                                              with CAUSAL
 *     i + offset - window_left <= j <= i + offset + window_right   with WINDOW
 *     the boolean mask is true, or the float mask is not -inf      with mask
 *
 * An invisible key never enters the arithmetic: its NaN or Inf does not leak. A finite mask
 * value never hides a key.
 */
typedef struct attn_sdpa {
  size_t struct_size;              /* sizeof(attn_sdpa) */
  uint64_t flags;                  /* attn_sdpa_flag bits */
  double scale;                    /* finite; may be 0 or negative */
  int32_t align;                   /* attn_align */
  int32_t empty_row;               /* attn_empty_row */
  int64_t offset;
  int64_t window_left;             /* keys before and after the query's position; -1: no limit */
  int64_t window_right;
  const attn_tensor *mask;         /* in   bool (true: visible) or a float type (added);
                                      broadcasts to (B, Hq, L, S) */
  const attn_tensor *key_lengths;  /* in   int32 or int64 (B), each in 0 .. S */
  const attn_tensor *lse;          /* out  (B, Hq, L) float32 (float64 for float64 input):
                                      log-sum-exp with sinks */
  const attn_tensor *weights;      /* out  (B, Hq, L, S) of q's type; 16-bit or with a stride
                                      along S: costs a second pass over the keys */
  const attn_executor *executor;   /* NULL: the library's pool */
  const attn_allocator *allocator; /* NULL: aligned_alloc and free */
  void *workspace;                 /* NULL: allocated; else attn_sdpa_plan's workspace_bytes, any
                                      alignment */
  size_t workspace_bytes;
  int32_t threads;                 /* the maximum; 0: all workers of the executor */
  int32_t reserved;                /* 0 */
  /* NULL, or called repeatedly, by one thread at a time, with the number of rows done and in
   * total. Nonzero stops the call with ATTN_ERR_INTERRUPTED, outputs partly written. */
  int (*progress)(void *context, int64_t done, int64_t total);
  void *progress_context;
  double softcap;           /* finite, above 0 */
  const attn_tensor *alibi; /* in   (Hq) or (B, Hq) float32 or float64: slopes [Press22] */
  const attn_tensor *sinks; /* in   (Hq) float32 or float64: one logit per head; -inf: no sink
                               for that head */
  double dropout;           /* in [0, 1) */
  /* Dropout of weight (b, h, i, j) is decided by output j % 4 of Philox4x32-10 [Salmon11] with key
   * seed and counter (j / 4, origin_query + i, origin_head + h, origin_batch + b). It is the same
   * for any number of threads and block size, in the forward and the backward, and for a slice
   * whose origin_* are its first indices. Each origin is >= 0; the low 32 bits are used. */
  uint64_t seed;
  int64_t origin_batch, origin_head, origin_query;
  /* in   (E) or (Hq, E), any float type: the vector a of additive attention [Bahdanau14]. The score
   * is scale * sum_e a_e tanh(q_ie + k_je); scale is 1 unless given. attn_score_forward applies the
   * projections as well. */
  const attn_tensor *additive;
} attn_sdpa;

#ifdef __cplusplus
#define ATTN_SDPA_INIT { sizeof(attn_sdpa) }
#else
#define ATTN_SDPA_INIT { .struct_size = sizeof(attn_sdpa) }
#endif

/**
 * Computes scaled dot-product attention.
 *
 *   desc  in   NULL: plain attention
 *   q     (B, Hq, L, E)   in
 *   k     (B, H,  S, E)   in   of q's type; Hq % H == 0; head h of q uses head h / (Hq / H)
 *   v     (B, H,  S, Ev)  in   of q's type
 *   o     (B, Hq, L, Ev)  out  of q's type; must not overlap any input
 *   err   out, may be NULL
 *
 * All four have the same rank: 4, 3 (heads, length, width) or 2 (length, width). Types:
 * float32; bfloat16 and float16, computed in float32 and rounded once (lse is float32), bfloat16
 * on AVX512-BF16 by dot products with rounded weights (attn_sdpa_plan names the kernel);
 * float64 (computed by the reference equations, slowly). Any strides; a contiguous last dimension
 * is fastest. Any dimension may be 0; with S = 0 every row is empty.
 *
 * Accuracy  float32: |o - exact| <= sum_j p_j |v_j| (exp(b_j) - 1) per element, a proved worst
 *           case (docs/accuracy.md). b_j is at most 2^-24 (34 + 2 (E + 1) M + 3 d + 5 c + 2 tau),
 *           where M bounds |scale| sum_e |q_e k_je|, d is the range of the scores, c =
 *           ceil(log2 S) + 1 and tau = min(n, 96) + min(n, ceil(S / 96)) - 2 for n visible keys;
 *           a float mask, ALiBi, softcap and additive increase E + 1, softcap increases 34 by 8.
 *           Weights below 2^(2c - 126) may be 0. 16-bit types: the same and one rounding to the
 *           type. On AVX512-BF16 bfloat16 has 2^-7 more in b_j: weights are rounded to bfloat16
 *           and divided by their rounded sum; lse has float32's bound. A NaN in q_i reaches row i;
 *           in k_j the rows that see j; in v_j that column of these rows.
 * Cost      2 B Hq L S (E + Ev) operations, about half with CAUSAL; memory O(L). Additive scores:
 *           B Hq L S E evaluations of tanh.
 * Errors    ATTN_ERR_ARGUMENT, _SHAPE, _TYPE, _MEMORY, _CPU, _EMPTY_ROW: outputs unchanged.
 *           _INTERRUPTED: outputs partly written.
 * Threads   reentrant; outputs of concurrent calls must not overlap.
 * Source    [Vaswani17 eq. 1]; streamed over blocks of keys [Milakov18 alg. 3,
 *           Rabe21, Dao22 alg. 1].
 */
ATTN_API attn_status attn_sdpa_forward(const attn_sdpa *desc, const attn_tensor *q,
                                       const attn_tensor *k, const attn_tensor *v,
                                       const attn_tensor *o, attn_error *err);

/**
 * The gradients that a backward call writes (NULL: not computed), and d_lse, which it reads (NULL:
 * zero).
 */
typedef struct attn_sdpa_gradients {
  size_t struct_size;            /* sizeof(attn_sdpa_gradients) */
  const attn_tensor *d_q;        /* out  (B, Hq, L, E)  of q's type */
  const attn_tensor *d_k;        /* out  (B, H, S, E)   of k's type; summed over the query heads
                                    that share it */
  const attn_tensor *d_v;        /* out  (B, H, S, Ev)  of v's type */
  const attn_tensor *d_mask;     /* out  of a float mask's shape, float32 or float64; summed
                                    where the mask broadcasts, by one thread */
  const attn_tensor *d_sinks;    /* out  (Hq) float32 or float64; a row that sees no key
                                    contributes its d_lse, but nothing with ATTN_EMPTY_NAN */
  const attn_tensor *d_lse;      /* in   (B, Hq, L) of lse's type: the gradient of the
                                    log-sum-exp */
  const attn_tensor *d_additive; /* out  of additive's shape, float32 or float64; summed over
                                    batch and rows */
} attn_sdpa_gradients;

#ifdef __cplusplus
#define ATTN_SDPA_GRADIENTS_INIT { sizeof(attn_sdpa_gradients) }
#else
#define ATTN_SDPA_GRADIENTS_INIT { .struct_size = sizeof(attn_sdpa_gradients) }
#endif

/**
 * Computes the gradients of attn_sdpa_forward(desc, q, k, v, o).
 *
 *   desc       in   the forward's, with .lse, which is read here: the forward's log-sum-exp;
 *                   .weights must be NULL
 *   q, k, v    in   the forward's
 *   o          in   the forward's output
 *   d_o        in   (B, Hq, L, Ev) of q's type: the gradient of o
 *   gradients  in   the results; they are overwritten, not accumulated
 *
 * The weights are recomputed from lse; memory is O(L + S). Rows that see no key contribute
 * nothing, whatever empty_row is. Dropout is the forward's. desc's progress function counts
 * the rows of q.
 *
 * Accuracy  float32: a proved bound per element (docs/accuracy.md, Theorem 2). Apart from the
 *           errors of the scores it does not grow with the scores: rows whose mask is -1e9 or
 *           -1e30 at every key get the gradients of equal weights. If |lse| is above 64, float32
 *           cannot represent the sum next to it: the sum of that row is recomputed. bfloat16 on
 *           AVX512-BF16: weights and their gradients are rounded to bfloat16 for the products with
 *           d_o, k and q (Theorem 5); d_mask and d_sinks are of unrounded ones.
 * Cost      5/2 of the forward's products and one exponential per weight. A softcap adds one tanh
 *           per weight; rows with |lse| above 64 add half of the forward's products and one
 *           exponential per weight. Memory: 16 bytes for each of the B Hq L rows; for each thread k
 *           and v of a head, in float32 or twice in bfloat16, and two sums for their gradients, or,
 *           where heads are fewer than threads, up to eight such sums for each head.
 * Errors    as attn_sdpa_forward; ATTN_ERR_ARGUMENT if lse is missing: results unchanged.
 *           _INTERRUPTED: results partly written.
 * Threads   reentrant; the same bits for any number of threads.
 * Source    [Dao22 sec. B.2].
 */
ATTN_API attn_status attn_sdpa_backward(const attn_sdpa *desc, const attn_tensor *q,
                                        const attn_tensor *k, const attn_tensor *v,
                                        const attn_tensor *o, const attn_tensor *d_o,
                                        const attn_sdpa_gradients *gradients, attn_error *err);

/**
 * Computes attention over packed sequences of different lengths (varlen): sequence n has the
 * queries cu_seqlens_q[n] .. cu_seqlens_q[n+1] - 1 and the keys of cu_seqlens_k likewise.
 *
 *   q (Hq, T, E)  k (H, U, E)  v (H, U, Ev)  in    T queries, U keys in total
 *   o (Hq, T, Ev)                            out
 *   cu_seqlens_q, cu_seqlens_k  in  (sequences + 1) int32 or int64, cumulative lengths:
 *                                   0, .., T and 0, .., U
 *
 * The results are bit-identical to one call per sequence, with origin_batch + n. desc's mask
 * broadcasts to (Hq, T, U); only the blocks of a sequence with itself are read. lse is (Hq, T).
 * key_lengths (sequences) limits the keys of each sequence. weights must be NULL. A workspace
 * must suffice for each sequence alone: use attn_sdpa_plan of the largest. desc's progress
 * function is called for one sequence after the other.
 *
 * Errors  as attn_sdpa_forward, found for every sequence before the first is computed:
 *         outputs unchanged. ATTN_ERR_MEMORY if an allocation fails, _INTERRUPTED:
 *         outputs partly written.
 */
ATTN_API attn_status attn_sdpa_forward_packed(const attn_sdpa *desc, const attn_tensor *q,
                                              const attn_tensor *k, const attn_tensor *v,
                                              const attn_tensor *o,
                                              const attn_tensor *cu_seqlens_q,
                                              const attn_tensor *cu_seqlens_k, attn_error *err);

/**
 * Computes the gradients of attn_sdpa_forward_packed, as attn_sdpa_backward does, with the
 * shapes of the packed tensors. d_mask has the mask's shape: pairs of different sequences get 0;
 * where the mask broadcasts, sequences are summed too, in order. So is d_sinks.
 *
 * Errors  as attn_sdpa_backward, found for every sequence before the first is computed:
 *         results unchanged. ATTN_ERR_MEMORY if an allocation fails, _INTERRUPTED:
 *         results partly written.
 */
ATTN_API attn_status attn_sdpa_backward_packed(const attn_sdpa *desc, const attn_tensor *q,
                                               const attn_tensor *k, const attn_tensor *v,
                                               const attn_tensor *o, const attn_tensor *d_o,
                                               const attn_tensor *cu_seqlens_q,
                                               const attn_tensor *cu_seqlens_k,
                                               const attn_sdpa_gradients *gradients,
                                               attn_error *err);

/** The statistics of the weights to compute. NULL: not computed. No two may share memory. */
typedef struct attn_sdpa_summary {
  size_t struct_size;             /* sizeof(attn_sdpa_summary) */
  const attn_tensor *column_sums; /* out  (B, Hq, S) float32 or float64: sum over i of p_ij */
  const attn_tensor *top_keys;    /* out  (B, Hq, L, K) int32 or int64: the keys of the K largest
                                     weights of a row, in descending order, ties by the lower
                                     index; -1 beyond the visible keys */
  const attn_tensor *top_weights; /* out  (B, Hq, L, K) float32 or float64: their weights; 0 for
                                     key -1 */
  const attn_tensor *entropy;     /* out  (B, Hq, L) float32 or float64: -sum p ln p, in nats,
                                     over the keys and the sink */
  const attn_tensor *max_logit;   /* out  (B, Hq, L) float32 or float64: the largest visible
                                     s_ij, after scale, softcap, ALiBi and mask; -inf if no key
                                     is visible */
} attn_sdpa_summary;

#ifdef __cplusplus
#define ATTN_SDPA_SUMMARY_INIT { sizeof(attn_sdpa_summary) }
#else
#define ATTN_SDPA_SUMMARY_INIT { .struct_size = sizeof(attn_sdpa_summary) }
#endif

/**
 * Computes statistics of the weights of attn_sdpa_forward(desc, q, k, ...) without an L x S
 * tensor.
 *
 *   desc     in   as the forward's; .lse and .weights must be NULL, .workspace is not used
 *   q, k     in   as the forward's
 *   summary  in   the results
 *
 * The weights are those before dropout. A row that sees no key has the weights that the
 * forward gives it. ATTN_EMPTY_ZERO: it adds nothing, lists no keys, and has entropy 0; _MEAN:
 * its weights are 1/S, its keys the first K, its entropy ln S; _NAN: NaN weights for every key.
 * Its max_logit is its log-sum-exp: -inf, or NaN with _NAN. A row that is NaN lists the first
 * visible keys with weights NaN, makes their column sums NaN, and has NaN for the rest.
 *
 * Accuracy  docs/accuracy.md. Without sinks, top_weights in float32 are bit-identical to the
 *           forward's float32 weights; the choice of keys is exact for those weights.
 * Cost      4 B Hq L S E operations, about half with CAUSAL, and one logarithm per weight for the
 *           entropy. Memory of desc's allocator, for each thread or task, whichever are fewer:
 *           about 66 S + 160 E floats (float64: 2 S doubles) and 16 min(K, S) bytes; column_sums
 *           add S doubles for each of at most 4 threads + 32 tasks.
 * Errors    as attn_sdpa_forward; outputs unchanged except with _INTERRUPTED.
 * Threads   reentrant; the same bits for any number of threads, batch and slice.
 */
ATTN_API attn_status attn_sdpa_summarize(const attn_sdpa *desc, const attn_tensor *q,
                                         const attn_tensor *k, const attn_sdpa_summary *summary,
                                         attn_error *err);

/* ---- The KV cache ---------------------------------------------------------- */

/**
 * A paged KV cache in the caller's memory: token j of sequence b is row j % T of page
 * page_table[b][j / T].
 */
typedef struct attn_pages {
  size_t struct_size;            /* sizeof(attn_pages) */
  const attn_tensor *k;          /* in (pages, H, T, E) float32, float16, bfloat16 or int8; T at
                                    least 1 */
  const attn_tensor *v;          /* in (pages, H, T, Ev) of k's type */
  const attn_tensor *k_scales;   /* in (pages, H, T) float32, for int8 only: a key is
                                    scale * element */
  const attn_tensor *v_scales;   /* in likewise */
  const attn_tensor *page_table; /* in (B, N) int32 or int64; entries in use are in 0 .. pages-1 */
  const attn_tensor *lengths;    /* in (B) int32 or int64: the number of tokens of each sequence,
                                    0 .. N T */
} attn_pages;

#ifdef __cplusplus
#define ATTN_PAGES_INIT { sizeof(attn_pages) }
#else
#define ATTN_PAGES_INIT { .struct_size = sizeof(attn_pages) }
#endif

/**
 * Computes attn_sdpa_forward over a paged KV cache [Kwon23].
 *
 *   desc   in   as there, with key_lengths NULL; for mask and weights S is the longest length.
 *               For queries that are the last tokens of their sequence use CAUSAL with
 *               ATTN_ALIGN_BOTTOM_RIGHT
 *   q      in   (B, Hq, L, E); for one sequence also (Hq, L, E), with one head (L, E). float32,
 *               float16 or bfloat16, independent of k's type
 *   pages  in
 *   o      out  (B, Hq, L, Ev) of q's type
 *
 * Each sequence is computed as a call of its own with S its length: the bits do not depend on the
 * number, size and order of the pages. Rows beyond its length are not read.
 *
 * Accuracy  as attn_sdpa_forward over the contents of the pages; an int8 element is read as
 *           scale * element, rounded once to float32.
 * Cost      as attn_sdpa_forward; float32 pages with T a multiple of 96 are read in place. The
 *           workspace of attn_sdpa_plan for dense k and v with S the longest length suffices.
 * Errors    as attn_sdpa_forward; ATTN_ERR_ARGUMENT for an entry of page_table out of range.
 * Threads   reentrant; outputs of concurrent calls must not overlap.
 * Source    [Kwon23].
 */
ATTN_API attn_status attn_sdpa_forward_paged(const attn_sdpa *desc, const attn_tensor *q,
                                             const attn_pages *pages, const attn_tensor *o,
                                             attn_error *err);

/** The sizes of a cache. */
typedef struct attn_cache_config {
  size_t struct_size;                /* sizeof(attn_cache_config) */
  int64_t num_kv_heads;              /* H, heads of keys and values, at least 1 */
  int64_t head_dim, value_head_dim;  /* E of a key, Ev of a value, at least 1 */
  int64_t sequences;                 /* the number of sequences, at least 1 */
  int64_t capacity;                  /* the maximum number of tokens of one sequence, at least 1 */
  int64_t page_size;                 /* T, tokens per page; 0: capacity, one contiguous page per
                                        sequence. Pages of 64 are read almost as fast as contiguous
                                        memory, smaller ones are slower */
  int64_t pages;                     /* pages in total; 0: enough for all sequences at capacity
                                        without sharing */
  attn_dtype dtype;                  /* float32, float16, bfloat16, int8 */
  int32_t reserved;                  /* 0 */
  const attn_allocator *allocator;   /* NULL: aligned_alloc and free */
  void *memory;                      /* NULL: allocated; else the caller's, of any alignment, for
                                        this cache alone */
  size_t memory_bytes;               /* of memory: at least attn_cache_measure's result */
} attn_cache_config;

#ifdef __cplusplus
#define ATTN_CACHE_CONFIG_INIT { sizeof(attn_cache_config) }
#else
#define ATTN_CACHE_CONFIG_INIT { .struct_size = sizeof(attn_cache_config) }
#endif

/**
 * A paged KV cache of several sequences that grow token by token. All sequences begin empty.
 *
 * int8: each row of each head is stored as round(x / scale) with scale = max |x| / 127: the error
 * of an element is at most scale / 2 (docs/accuracy.md). A row that holds NaN or Inf becomes NaN.
 * Threads: a function that changes a cache must not run concurrently with any other on it.
 */
typedef struct attn_cache attn_cache;

/** Computes the bytes of a cache; it never grows. Errors: ATTN_ERR_ARGUMENT, ATTN_ERR_TYPE. */
ATTN_API attn_status attn_cache_measure(const attn_cache_config *config, size_t *bytes,
                                        attn_error *err);

/**
 * Creates a cache with one allocation, or none if config->memory is given. Release it with
 * attn_cache_free. Errors: ATTN_ERR_ARGUMENT, ATTN_ERR_TYPE, ATTN_ERR_MEMORY: *cache is unchanged.
 */
ATTN_API attn_status attn_cache_new(const attn_cache_config *config, attn_cache **cache,
                                    attn_error *err);

/** Frees a cache. NULL is allowed. */
ATTN_API void attn_cache_free(attn_cache *cache);

/**
 * Appends L tokens to each of several sequences; on failure to none.
 *
 *   sequences  in  count distinct sequences; NULL: 0 .. count-1
 *   k          in  (count, H, L, E), or (H, L, E) if count is 1: float32, float64, float16 or
 *                  bfloat16; rounded to the cache's type
 *   v          in  (count, H, L, Ev) likewise; its type may differ from k's
 *
 * A page that sequences share is copied before the first of them writes to it.
 *
 * Cost    one pass over k and v.
 * Errors  ATTN_ERR_ARGUMENT (a sequence out of range or repeated; "capacity": a sequence would be
 *         too long), ATTN_ERR_SHAPE, ATTN_ERR_TYPE, ATTN_ERR_MEMORY ("pages": too few are free).
 * Threads changes the cache: must not run concurrently with any other call on it.
 */
ATTN_API attn_status attn_cache_append(attn_cache *cache, const int64_t *sequences, int64_t count,
                                       const attn_tensor *k, const attn_tensor *v, attn_error *err);

/** Returns the number of tokens of a sequence; -1 if there is no such sequence. */
ATTN_API int64_t attn_cache_length(const attn_cache *cache, int64_t sequence);

/** Returns the number of pages that no sequence uses. */
ATTN_API int64_t attn_cache_num_free_pages(const attn_cache *cache);

/** Truncates a sequence to its first length tokens. Errors: ATTN_ERR_ARGUMENT if it has fewer. */
ATTN_API attn_status attn_cache_truncate(attn_cache *cache, int64_t sequence, int64_t length,
                                         attn_error *err);

/**
 * Replaces sequence `to` by a copy of `from`. The pages are shared until one of the sequences
 * writes to them (copy on write, for beam search); no data is moved. Errors: ATTN_ERR_ARGUMENT.
 */
ATTN_API attn_status attn_cache_fork(attn_cache *cache, int64_t from, int64_t to, attn_error *err);

/**
 * Reads a sequence as attention does: k (H, length, E) and v (H, length, Ev), out, float32; either
 * may be NULL. Errors: ATTN_ERR_ARGUMENT, ATTN_ERR_SHAPE, ATTN_ERR_TYPE.
 */
ATTN_API attn_status attn_cache_read(const attn_cache *cache, int64_t sequence,
                                     const attn_tensor *k, const attn_tensor *v, attn_error *err);

/**
 * Computes attn_sdpa_forward_paged over a cache.
 *
 *   sequences  in   count sequences, which may repeat; NULL: 0 .. count-1
 *   q          in   (count, Hq, L, E): row b attends to sequences[b]; if count is 1 also (Hq, L, E)
 *   o          out  (count, Hq, L, Ev) of q's type
 *
 * Accuracy, cost, errors  as there; ATTN_ERR_ARGUMENT for a sequence out of range.
 * Threads  reads the cache: calls may run concurrently.
 */
ATTN_API attn_status attn_sdpa_forward_cached(const attn_sdpa *desc, const attn_tensor *q,
                                              const attn_cache *cache, const int64_t *sequences,
                                              int64_t count, const attn_tensor *o, attn_error *err);

/* ---- Other score functions ----------------------------------------------- */

/** The score function of a query and a key. */
typedef enum attn_score_kind {
  ATTN_SCORE_DOT = 0,      /* q . k; scale 1/sqrt(E) unless given */
  ATTN_SCORE_GENERAL = 1,  /* q^T W k; scale 1 unless given [Luong15] */
  ATTN_SCORE_ADDITIVE = 2, /* a . tanh(W^T q + U^T k); scale 1 unless given [Bahdanau14] */
} attn_score_kind;

/**
 * A score function and its parameters, of any float type. Those that the kind does not use must be
 * NULL.
 */
typedef struct attn_score {
  size_t struct_size;   /* sizeof(attn_score) */
  int32_t kind;         /* attn_score_kind */
  int32_t reserved;     /* 0 */
  const attn_tensor *w; /* in   GENERAL (Eq, Ek) or (Hq, Eq, Ek); ADDITIVE (Eq, A) or (Hq, Eq, A) */
  const attn_tensor *u; /* in   ADDITIVE (Ek, A) or (H, Ek, A) */
  const attn_tensor *a; /* in   ADDITIVE (A) or (Hq, A) */
} attn_score;

/** Gradients of the parameters of a score function. NULL: not computed. */
typedef struct attn_score_gradients {
  size_t struct_size;     /* sizeof(attn_score_gradients) */
  const attn_tensor *d_w; /* out  of w's shape, float32 or float64; summed over all that shares w */
  const attn_tensor *d_u; /* out  of u's shape, likewise */
  const attn_tensor *d_a; /* out  of a's shape, likewise */
} attn_score_gradients;

#ifdef __cplusplus
#define ATTN_SCORE_INIT { sizeof(attn_score) }
#define ATTN_SCORE_GRADIENTS_INIT { sizeof(attn_score_gradients) }
#else
#define ATTN_SCORE_INIT { .struct_size = sizeof(attn_score) }
#define ATTN_SCORE_GRADIENTS_INIT { .struct_size = sizeof(attn_score_gradients) }
#endif

/**
 * Computes attention with another score function.
 *
 *   desc   in   as attn_sdpa_forward; .additive must be NULL; a .workspace must suffice for
 *               attn_sdpa_forward of the projected tensors
 *   score  in   NULL: the dot product
 *   q      (B, Hq, L, Eq)  in
 *   k      (B, H,  S, Ek)  in   of q's type; with ATTN_SCORE_DOT Eq = Ek
 *   v      (B, H,  S, Ev)  in   of q's type
 *   o      (B, Hq, L, Ev)  out  of q's type; must not overlap any input
 *
 * Ranks, strides and types as attn_sdpa_forward. W^T q and U^T k are summed in double, rounded
 * once to q's type and stored in O(L + S) memory of desc's allocator; then attn_sdpa_forward
 * runs on them. No L x S tensor is allocated.
 *
 * Accuracy  that of attn_sdpa_forward on the rounded projections.
 * Cost      that of attn_sdpa_forward and 2 B (Hq L Eq + H S Ek) A operations.
 * Errors    as attn_sdpa_forward.
 * Threads   reentrant; the same bits for any number of threads.
 * Source    [Luong15 sec. 3.1, Bahdanau14 A.1.2].
 */
ATTN_API attn_status attn_score_forward(const attn_sdpa *desc, const attn_score *score,
                                        const attn_tensor *q, const attn_tensor *k,
                                        const attn_tensor *v, const attn_tensor *o,
                                        attn_error *err);

/**
 * Computes the gradients of attn_score_forward(desc, score, q, k, v, o).
 *
 *   desc, o, d_o, gradients  as attn_sdpa_backward; .d_additive must be NULL
 *   score_gradients          in, may be NULL; the results are overwritten, not accumulated
 *
 * The gradients of the projections are rounded once to q's type. Sums over rows are in double, in
 * a fixed order. A row with gradient 0, such as that of an invisible key, contributes nothing to
 * d_w and d_u, even if it holds NaN.
 *
 * Errors  as attn_sdpa_backward.
 * Threads reentrant; the same bits for any number of threads.
 */
ATTN_API attn_status attn_score_backward(const attn_sdpa *desc, const attn_score *score,
                                         const attn_tensor *q, const attn_tensor *k,
                                         const attn_tensor *v, const attn_tensor *o,
                                         const attn_tensor *d_o,
                                         const attn_sdpa_gradients *gradients,
                                         const attn_score_gradients *score_gradients,
                                         attn_error *err);

/** How attn_sdpa_forward would run a call. */
typedef struct attn_plan {
  size_t struct_size;     /* in: sizeof(attn_plan) */
  char kernel[32];        /* "f32 avx512", "f32 avx2", "f32 scalar", "bf16 avx512_bf16",
                             "bf16 amx_bf16", "reference f64" */
  char reason[256];       /* why this kernel was chosen */
  size_t workspace_bytes; /* the workspace of attn_sdpa_forward for this call */
  int64_t row_block;      /* queries per block */
  int64_t key_block;      /* keys per block */
  int64_t tasks;          /* independent tasks */
  int32_t workers;        /* threads that run them */
  int32_t reserved;
  double flops;           /* multiplications and additions over the keys that CAUSAL, WINDOW and
                             key_lengths leave visible; above 4096 rows estimated from a sample */
} attn_plan;

/**
 * Describes how attn_sdpa_forward(desc, q, k, v, o) would run, without running it. The checks and
 * errors are the same, except ATTN_ERR_EMPTY_ROW and a workspace that is too small. Reads no data
 * except that of key_lengths, alibi and sinks. plan->struct_size must be set. o and err may be
 * NULL. Reentrant.
 */
ATTN_API attn_status attn_sdpa_plan(const attn_sdpa *desc, const attn_tensor *q,
                                    const attn_tensor *k, const attn_tensor *v,
                                    const attn_tensor *o, attn_plan *plan, attn_error *err);

/* ---- Verification --------------------------------------------------------- */

/** The result of attn_sdpa_verify. */
typedef struct attn_sdpa_report {
  size_t struct_size; /* in: sizeof(attn_sdpa_report) */
  int64_t rows;       /* rows compared */
  int64_t rows_total;
  int64_t elements;   /* output elements compared */
  int64_t outside;    /* elements outside the documented bound, unexpected NaN included */
  double worst;       /* largest |o - exact| / bound */
  int64_t worst_index[4]; /* its (b, h, i, e) */
  double worst_got, worst_exact, worst_bound;
  double max_error, rms_error; /* absolute */
} attn_sdpa_report;

/**
 * Compares o (and desc->lse, desc->weights if given) with the reference equations in double
 * precision, each element against its documented bound.
 *
 *   row_limit  0: every row; else at most that many rows, a random sample
 *              drawn with seed
 *
 * Cost     2 (E + Ev) S operations per row, in double, on desc's executor; 24 S + 40 Ev bytes per
 *          worker and at most 40 KiB, from desc's allocator (its workspace is not used). desc's
 *          progress function counts rows.
 * Errors   as attn_sdpa_forward; ATTN_ERR_ARGUMENT for a negative row_limit: *report is
 *          unchanged.
 * Threads  reentrant; the same report for any number of threads.
 */
ATTN_API attn_status attn_sdpa_verify(const attn_sdpa *desc, const attn_tensor *q,
                                      const attn_tensor *k, const attn_tensor *v,
                                      const attn_tensor *o, int64_t row_limit, uint64_t seed,
                                      attn_sdpa_report *report, attn_error *err);

/* ---- The machine --------------------------------------------------------- */

/** Instruction sets of the kernels; each includes those before it on its architecture. */
typedef enum attn_isa {
  ATTN_ISA_SCALAR = 0,
  ATTN_ISA_AVX2 = 10,        /* AVX2, FMA and F16C */
  ATTN_ISA_AVX512 = 20,      /* AVX-512 F, BW, DQ, VL */
  ATTN_ISA_AVX512_BF16 = 25, /* and AVX512-BF16 */
  ATTN_ISA_AMX_BF16 = 27,    /* and AMX-TILE, AMX-BF16, on Linux: the process requests permission */
} attn_isa;

/** The CPU and how the library uses it. */
typedef struct attn_machine {
  size_t struct_size;  /* in: sizeof(attn_machine) */
  char cpu[64];        /* the brand string of the CPU */
  char features[192];  /* the instruction sets of the CPU, separated by spaces */
  int32_t isa;         /* attn_isa in use; ATTN_ISA in the environment overrides isa_best */
  int32_t isa_best;    /* the best attn_isa that the CPU and this build support */
  int32_t threads;     /* workers of the library's pool */
  int32_t isa_invalid; /* 1: ATTN_ISA names an unsupported one; calls fail with ATTN_ERR_CPU */
} attn_machine;

/**
 * Fills machine, whose struct_size must be set. Errors: ATTN_ERR_ARGUMENT for an invalid
 * struct_size.
 */
ATTN_API attn_status attn_machine_query(attn_machine *machine);

/** Returns "avx2" for ATTN_ISA_AVX2, "unknown" for an unknown value. Never NULL. */
ATTN_API const char *attn_isa_name(int32_t isa);

/** Returns a one-line description of kernel number index (from 0); NULL past the end. */
ATTN_API const char *attn_kernel_describe(int32_t index);

/**
 * Measures one thread: *gflops, fused multiply-adds in registers with the instruction set in use
 * (2 operations each); *gbytes, sequential reads of 128 MiB. Takes about 0.4 s. Either may be NULL.
 * Errors: ATTN_ERR_MEMORY, ATTN_ERR_CPU: neither is written.
 */
ATTN_API attn_status attn_machine_measure(double *gflops, double *gbytes);

/**
 * Measures products of bfloat16 in registers on one thread (AVX512_BF16's dot products, AMX-BF16's
 * products of tiles; 2 operations for each product and addition); *gflops is 0 if the CPU lacks them or ATTN_ISA selects a smaller set. Takes
 * about 0.2 s. Errors: ATTN_ERR_CPU: *gflops is unchanged.
 */
ATTN_API attn_status attn_machine_measure_bf16(double *gflops);

#ifdef __cplusplus
}
#endif
#endif
