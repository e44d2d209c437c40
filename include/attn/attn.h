/**
 * attn.h -- exact attention on the CPU. The core of libattn.
 *
 *     o = softmax(scale * q k^T + mask) v                     [Vaswani17 eq. 1]
 *
 * One call does it; the rest of this header is what that call can be told.
 *
 *     attn_tensor q = attn_tensor_dense(ATTN_F32, q_data, 1, heads, length, width); ...
 *     attn_status status = attn_sdpa_forward(NULL, &q, &k, &v, &o, NULL);
 *
 * Shapes   B batch, Hq query heads, H key/value heads (Hq a multiple of H),
 *          L queries, S keys, E width of q and k, Ev width of v.
 *          Index letters: b h i j e. Strides count elements, not bytes.
 * Memory   Tensors are views: the caller owns every byte. No tensor of size
 *          L x S exists unless the caller asks for the weights.
 * Errors   Every function that can fail returns an attn_status. On anything
 *          but ATTN_OK no output has been touched, save where a function says
 *          otherwise. The library never prints, exits or aborts.
 * Versions Structs that a caller fills begin with struct_size; start them with
 *          their _INIT. An older header's are shorter: what they lack is zero.
 *          A newer header's are longer: they are refused where a field that
 *          this library does not know is not zero (ATTN_ERR_ARGUMENT).
 * Threads  Every function may be called from any thread at any time, except
 *          where it says otherwise. Nothing here keeps state of a call.
 * Bits     On one instruction set the same input gives the same bits for any
 *          number of threads, batch, slice of whole key/value heads, alignment
 *          and workspace contents. Asking for weights may change the bits of o.
 *          docs/semantics.md states all rules.
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

/** What became of a call. Values are pinned; gaps leave room for kin. */
typedef enum attn_status {
  ATTN_OK = 0,
  ATTN_ERR_ARGUMENT = 10,    /* a value that no call may have: NaN scale, unknown flag */
  ATTN_ERR_SHAPE = 20,       /* shapes that do not fit each other */
  ATTN_ERR_TYPE = 30,        /* an element type that this argument cannot have */
  ATTN_ERR_MEMORY = 40,      /* an allocation failed, or a workspace is too small */
  ATTN_ERR_FILE = 50,        /* the operating system refused: open, read, write, rename */
  ATTN_ERR_FORMAT = 60,      /* a file's bytes are not what its format allows */
  ATTN_ERR_CPU = 70,         /* instructions asked for that this CPU lacks */
  ATTN_ERR_EMPTY_ROW = 80,   /* a query sees no key and the caller asked for an error */
  ATTN_ERR_INTERRUPTED = 90, /* the caller's progress function asked to stop */
  ATTN_ERR_DIVERGED = 100,   /* training: steps in a row whose loss was not finite */
} attn_status;

/**
 * Where and why a call failed; always optional (NULL: not wanted).
 * Written only on failure. Owned by the caller; a plain value, no release.
 */
typedef struct attn_error {
  attn_status status;
  char argument[32];  /* the argument's name as the header spells it, or "" */
  char message[256];  /* one English sentence: what it is, what it must be */
  int64_t line;       /* text input: 1-based line, else 0 */
  int64_t column;     /* text input: 1-based column in characters, else 0 */
  int64_t offset;     /* binary input: byte offset, else -1 */
} attn_error;

/** "ATTN_ERR_SHAPE" for ATTN_ERR_SHAPE; "ATTN_ERR_UNKNOWN" for no known value. Never NULL. */
ATTN_API const char *attn_status_name(attn_status status);

/** The version of the library that runs, "0.1.0"; the macros tell the header's. Never NULL. */
ATTN_API const char *attn_version_string(void);

/* ---- Tensors ------------------------------------------------------------ */

#define ATTN_RANK_MAX 8

/**
 * Element types, in DLPack's own layout: code | bits << 8 | lanes << 16,
 * so that a DLDataType is copied with memcpy on a little-endian machine.
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
  ATTN_BOOL = 0x00010806, /* one byte: 0 or 1; any other value reads as true */
} attn_dtype;

/**
 * A view of memory that somebody else owns. shape[n] and strides[n] are used
 * for n < rank. Strides may be 0 (broadcast) or negative for inputs; for
 * outputs no two elements may share memory (that is not checked).
 * An input's data is never written, although the pointer is not const.
 */
typedef struct attn_tensor {
  void *data; /* the element with all indices 0, aligned to its size; may be NULL where a dimension is 0 */
  attn_dtype dtype;
  int32_t rank;
  int64_t shape[ATTN_RANK_MAX];
  int64_t strides[ATTN_RANK_MAX];
} attn_tensor;

/** A dense row-major view of rank 4: (n0, n1, n2, n3), the last index fastest. Checks nothing. */
ATTN_API attn_tensor attn_tensor_dense(attn_dtype dtype, void *data, int64_t n0, int64_t n1,
                                       int64_t n2, int64_t n3);

/** Bytes of one element; 0 for no known type. */
ATTN_API size_t attn_dtype_size(attn_dtype dtype);

/** "float32" for ATTN_F32, as NumPy spells it; "unknown" otherwise. Never NULL. */
ATTN_API const char *attn_dtype_name(attn_dtype dtype);

/* ---- What a host may supply --------------------------------------------- */

/**
 * The host's threads instead of the library's own pool.
 *
 * Without one the library starts threads when they are first needed, as many as the CPUs that
 * the process may run on, or ATTN_THREADS in the environment (1 to 1024). They sleep between
 * calls, take no signals, and last as long as the process (the library is never unloaded). One
 * call at a time has them: a second, concurrent one runs on its own thread alone.
 *
 * This struct and attn_allocator are frozen: they will never have more fields.
 *
 * parallel_for(context, count, body, argument) calls body(argument, index,
 * worker) exactly once for each index in 0 .. count-1, in any order, on any
 * threads, and returns when all have returned. worker is in 0 .. workers-1 and
 * no two calls with the same worker overlap in time. Results do not depend on
 * workers or on the order. A thread needs 64 KiB of stack.
 */
typedef struct attn_executor {
  void *context;
  int32_t workers; /* at least 1 */
  void (*parallel_for)(void *context, int64_t count,
                       void (*body)(void *argument, int64_t index, int32_t worker),
                       void *argument);
} attn_executor;

/**
 * The host's memory instead of aligned_alloc and free.
 * allocate returns bytes aligned to alignment (a power of two), or NULL.
 */
typedef struct attn_allocator {
  void *context;
  void *(*allocate)(void *context, size_t alignment, size_t bytes);
  void (*release)(void *context, void *memory);
} attn_allocator;

/* ---- Scaled dot-product attention --------------------------------------- */

/** Which optional fields of attn_sdpa are live. An unknown bit is an error. */
typedef enum attn_sdpa_flag {
  ATTN_SDPA_SCALE = 1,   /* .scale; else 1/sqrt(E), or 1 with .additive. A scale of 1: the plain dot product */
  ATTN_SDPA_CAUSAL = 2,  /* query i sees key j only if j <= i + offset */
  ATTN_SDPA_WINDOW = 4,  /* .window_left, .window_right */
  ATTN_SDPA_OFFSET = 8,  /* .offset, with ATTN_ALIGN_OFFSET */
  ATTN_SDPA_SOFTCAP = 16, /* .softcap */
  ATTN_SDPA_DROPOUT = 32, /* .dropout, .seed, .origin_batch, .origin_head, .origin_query */
} attn_sdpa_flag;

/**
 * Where query 0 stands among the keys: the offset of causal and window.
 * Resolved for each sequence, after its key length.
 */
typedef enum attn_align {
  ATTN_ALIGN_TOP_LEFT = 0,     /* offset 0: query 0 stands at key 0 */
  ATTN_ALIGN_BOTTOM_RIGHT = 1, /* offset S' - L: the last query stands at the last key */
  ATTN_ALIGN_OFFSET = 2,       /* offset as given; may be negative */
} attn_align;

/** What a query that sees no key gets. LSE is -inf in every case but ATTN_EMPTY_NAN (NaN). */
typedef enum attn_empty_row {
  ATTN_EMPTY_ZERO = 0,  /* output 0, weights 0 */
  ATTN_EMPTY_MEAN = 1,  /* the mean of all S rows of v, weights 1/S: what a finite fill gives */
  ATTN_EMPTY_NAN = 2,   /* NaN, as softmax of nothing but -inf gives */
  ATTN_EMPTY_ERROR = 3, /* ATTN_ERR_EMPTY_ROW, before anything is written */
} attn_empty_row;

/**
 * All that a call can be told. Zero beside struct_size is plain attention.
 *
 * Score of query i and key j, in this order:
 *
 *     s_ij = cap(scale * (q_i . k_j)) - slope_h |i + offset - j| + mask_ij
 *
 * where cap(x) = softcap tanh(x / softcap) with SOFTCAP, the slopes are alibi's and mask_ij
 * is a float mask's; what is not given is left out. With additive, sum_e a_e tanh(q_ie + k_je)
 * stands for q_i . k_j. With sinks the softmax has one more
 * logit for each head, which takes its share and has no value. With DROPOUT each weight
 * is, behind the softmax, 0 with that probability, else divided by 1 - dropout.
 *
 * and j is visible to i when all of these hold:
 *     j < key_lengths[b]                                   where given
 *     j <= i + offset                                      with CAUSAL
 *     i + offset - window_left <= j <= i + offset + window_right   with WINDOW
 *     the boolean mask is true there, or the float mask is not -inf
 *
 * A key that is not visible is never read into the arithmetic: NaN or Inf
 * there cannot leak. A finite mask value never hides a key.
 */
typedef struct attn_sdpa {
  size_t struct_size; /* sizeof(attn_sdpa) */
  uint64_t flags;     /* attn_sdpa_flag bits */
  double scale;       /* finite; may be 0 or negative */
  int32_t align;      /* attn_align */
  int32_t empty_row;  /* attn_empty_row */
  int64_t offset;
  int64_t window_left;  /* neighbours on either side besides self; >= 0, or -1: no limit */
  int64_t window_right;
  const attn_tensor *mask;        /* in   bool or a float type; broadcasts to (B, Hq, L, S) as NumPy does */
  const attn_tensor *key_lengths; /* in   int32 or int64 (B), each in 0 .. S */
  const attn_tensor *lse;         /* out  (B, Hq, L) float32 (float64 for float64 input); natural logarithm; sinks count */
  const attn_tensor *weights;     /* out  (B, Hq, L, S) of q's type; costs L x S memory and a second pass */
  const attn_executor *executor;  /* NULL: the library's pool */
  const attn_allocator *allocator; /* NULL: aligned_alloc and free */
  void *workspace;        /* NULL: the library allocates; else attn_sdpa_plan's bytes, any alignment */
  size_t workspace_bytes;
  int32_t threads; /* at most this many at a time; 0: as many as the executor has */
  int32_t reserved; /* 0 */
  /* NULL, or called now and then, by one thread at a time, with the rows done and in all;
   * nonzero stops the call with ATTN_ERR_INTERRUPTED, outputs partly written. */
  int (*progress)(void *context, int64_t done, int64_t total);
  void *progress_context;
  double softcap;           /* finite, above 0 */
  const attn_tensor *alibi; /* in   (Hq) or (B, Hq) float32 or float64: slopes [Press22] */
  const attn_tensor *sinks; /* in   (Hq) float32 or float64: a logit each; -inf: none for that head */
  double dropout;           /* in [0, 1) */
  /* Weight (b, h, i, j) is dropped or kept by Philox4x32-10 [Salmon11] of seed and the counter
   * (j / 4, origin_query + i, origin_head + h, origin_batch + b), word j % 4: the same for any
   * threads, blocks, pass and slice that is told where it begins. Each is >= 0; 32 bits count. */
  uint64_t seed;
  int64_t origin_batch, origin_head, origin_query;
  /* in   (E) or (Hq, E), any float type: a. The score is scale * sum_e a_e tanh(q_ie + k_je) instead
   * of scale * q_i . k_j, and scale is 1 unless given [Bahdanau14]. attn_score_forward does the
   * projections too. */
  const attn_tensor *additive;
} attn_sdpa;

#ifdef __cplusplus
#define ATTN_SDPA_INIT { sizeof(attn_sdpa) }
#else
#define ATTN_SDPA_INIT { .struct_size = sizeof(attn_sdpa) }
#endif

/**
 * Scaled dot-product attention, forward.
 *
 *   desc  in, NULL: plain attention
 *   q     (B, Hq, L, E)   in
 *   k     (B, H,  S, E)   in   of q's type; Hq % H == 0; head h of q uses head h / (Hq / H)
 *   v     (B, H,  S, Ev)  in   of q's type
 *   o     (B, Hq, L, Ev)  out  of q's type; must not overlap any input
 *   err   out, may be NULL
 *
 * Rank 4 each, or rank 3 (heads, length, width) or 2 (length, width), alike in
 * all four. Types: float32; bfloat16 and float16, computed in float32 and rounded once (lse is
 * float32 then); float64 (by the reference equations, not fast).
 * Any strides; a contiguous last dimension is the fast path.
 * Any dimension may be 0: then the output, if it has elements, is of empty rows.
 *
 * Accuracy  float32: |o - exact| <= sum_j p_j |v_j| (exp(b_j) - 1) per element, a worst case that is
 *           proved: b_j is defined in docs/accuracy.md and at most 2^-24 (34 + 2 (E + 1) M + 3 d + 5 c +
 *           2 tau), where M bounds |scale| sum_e |q_e k_je|, d is how far the scores lie apart, c =
 *           ceil(log2 S) + 1 and tau = min(n, 96) + ceil(S / 96) for n visible keys; a mask of numbers, ALiBi,
 *           softcap and additive add to E + 1, softcap 8 to the 34. Weights below 2^(2c - 126) may be 0. 16-bit types that and
 *           one rounding of theirs. A live NaN in q_i reaches row i; in k_j the rows that see j; in v_j
 *           those rows, in that column.
 * Cost      2 B Hq L S (E + Ev) operations, causal about half; memory O(L). Additive scores take
 *           a tanh for each of the B Hq L S E.
 * Errors    ATTN_ERR_ARGUMENT, _SHAPE, _TYPE, _MEMORY, _CPU, _EMPTY_ROW:
 *           outputs untouched. _INTERRUPTED: outputs partly written.
 * Threads   reentrant; outputs of concurrent calls must not overlap.
 * Source    [Vaswani17 eq. 1]; streamed over blocks of keys [Milakov18 alg. 3,
 *           Rabe21, Dao22 alg. 1].
 */
ATTN_API attn_status attn_sdpa_forward(const attn_sdpa *desc, const attn_tensor *q,
                                       const attn_tensor *k, const attn_tensor *v,
                                       const attn_tensor *o, attn_error *err);

/** Where gradients go, and those that come in beside dO. NULL: not wanted, or zero. */
typedef struct attn_sdpa_gradients {
  size_t struct_size;          /* sizeof(attn_sdpa_gradients) */
  const attn_tensor *d_q;      /* out  (B, Hq, L, E)  of q's type */
  const attn_tensor *d_k;      /* out  (B, H, S, E)   of k's type; summed over the heads that share it */
  const attn_tensor *d_v;      /* out  (B, H, S, Ev)  of v's type */
  const attn_tensor *d_mask;   /* out  of a float mask's shape, summed where it broadcasts; float32 or
                                       float64. Broadcast masks are summed by one thread */
  const attn_tensor *d_sinks;  /* out  (Hq) float32 or float64; a row that sees no key gives its d_lse, with
                                       ATTN_EMPTY_NAN nothing */
  const attn_tensor *d_lse;    /* in   (B, Hq, L) of lse's type: a gradient of the log-sum-exp */
  const attn_tensor *d_additive; /* out  of additive's shape, summed over what shares it; float32 or float64 */
} attn_sdpa_gradients;

#ifdef __cplusplus
#define ATTN_SDPA_GRADIENTS_INIT { sizeof(attn_sdpa_gradients) }
#else
#define ATTN_SDPA_GRADIENTS_INIT { .struct_size = sizeof(attn_sdpa_gradients) }
#endif

/**
 * Gradients of attn_sdpa_forward(desc, q, k, v, o).
 *
 *   desc       in   the forward's, with .lse, which is read here: the forward's log-sum-exp;
 *                   .weights must be NULL
 *   q, k, v    in   the forward's
 *   o          in   the forward's output
 *   d_o        in   (B, Hq, L, Ev) of q's type: the gradient of o
 *   gradients  in   where the results go; each is written whole, not added to
 *
 * Probabilities are recomputed from lse; memory is O(L + S). Rows that see no key give
 * nothing, whatever empty_row is. Dropout draws what the forward drew. desc's progress
 * function is told rows of the passes that the wanted gradients need: of q, then of k and v.
 *
 * Accuracy  float32: a proved bound per element, docs/accuracy.md, Theorem 2. Errors of the scores aside,
 *           which no later step can undo, it does not grow with the scores: rows of a mask that are filled
 *           with -1e9 or -1e30 get the gradients of equal weights. Where |lse| is above 64, float32 has no room for
 *           a sum beside it: such a row's sum is made anew from its scores.
 * Cost      7/2 of the forward's products and two exponentials for each weight; a softcap
 *           costs half of the forward's products and four tanh more, rows whose |lse| is above 64
 *           half of the forward's products and an exponential for each weight more. Memory: 16
 *           bytes for each of the B Hq L rows.
 * Errors    as attn_sdpa_forward; ATTN_ERR_ARGUMENT where lse is missing. Nothing is
 *           written then. _INTERRUPTED: results partly written.
 * Threads   reentrant; the same bits for any number of threads.
 * Source    [Dao22 sec. B.2].
 */
ATTN_API attn_status attn_sdpa_backward(const attn_sdpa *desc, const attn_tensor *q,
                                        const attn_tensor *k, const attn_tensor *v,
                                        const attn_tensor *o, const attn_tensor *d_o,
                                        const attn_sdpa_gradients *gradients, attn_error *err);

/**
 * Sequences of different lengths, end to end: sequence n has the queries
 * cu_seqlens_q[n] .. cu_seqlens_q[n+1] - 1 and the keys of cu_seqlens_k alike.
 *
 *   q (Hq, T, E)  k (H, U, E)  v (H, U, Ev)  in    T, U tokens in all
 *   o (Hq, T, Ev)                            out
 *   cu_seqlens_q, cu_seqlens_k  in  (sequences + 1) int32 or int64: 0, .., T and 0, .., U
 *
 * The same bits as a call for each sequence alone, with origin_batch + n. desc's mask
 * broadcasts to (Hq, T, U) and is read where a sequence meets itself; lse is (Hq, T);
 * key_lengths (sequences) shortens within them; weights must be NULL.
 *
 * A workspace must do for each sequence alone: attn_sdpa_plan of the most demanding one
 * tells. desc's progress
 * function is told of one sequence after the other.
 *
 * Errors  as attn_sdpa_forward, found for every sequence before the first is computed:
 *         outputs untouched. ATTN_ERR_MEMORY where an allocation fails, _INTERRUPTED:
 *         outputs partly written.
 */
ATTN_API attn_status attn_sdpa_forward_packed(const attn_sdpa *desc, const attn_tensor *q,
                                              const attn_tensor *k, const attn_tensor *v,
                                              const attn_tensor *o,
                                              const attn_tensor *cu_seqlens_q,
                                              const attn_tensor *cu_seqlens_k, attn_error *err);

/**
 * Gradients of attn_sdpa_forward_packed; as attn_sdpa_backward, of the same shapes as the
 * packed tensors. d_mask has the mask's own shape: pairs of different sequences get 0, and
 * where the mask broadcasts sequences are summed too, in their order; so is d_sinks.
 *
 * Errors  as attn_sdpa_backward, found for every sequence before the first is computed:
 *         nothing is written. ATTN_ERR_MEMORY where an allocation fails, _INTERRUPTED:
 *         results partly written.
 */
ATTN_API attn_status attn_sdpa_backward_packed(const attn_sdpa *desc, const attn_tensor *q,
                                               const attn_tensor *k, const attn_tensor *v,
                                               const attn_tensor *o, const attn_tensor *d_o,
                                               const attn_tensor *cu_seqlens_q,
                                               const attn_tensor *cu_seqlens_k,
                                               const attn_sdpa_gradients *gradients,
                                               attn_error *err);

/** What to tell of the weights. NULL: not wanted. No two may share memory. */
typedef struct attn_sdpa_summary {
  size_t struct_size;               /* sizeof(attn_sdpa_summary) */
  const attn_tensor *column_sums;   /* out  (B, Hq, S) float32 or float64: sum over i of p_ij, who is looked at */
  const attn_tensor *top_keys;      /* out  (B, Hq, L, K) int32 or int64: the keys of the K largest weights of a row,
                                            largest first, equals by the lower index; -1 where it sees fewer */
  const attn_tensor *top_weights;   /* out  (B, Hq, L, K) float32 or float64: their weights; 0 there */
  const attn_tensor *entropy;       /* out  (B, Hq, L) float32 or float64: -sum p ln p, in nats; a sink's share is
                                            one of the p */
  const attn_tensor *max_logit; /* out  (B, Hq, L) float32 or float64: the largest visible s_ij, after scale,
                                            softcap, ALiBi and mask; -inf where there is none */
} attn_sdpa_summary;

#ifdef __cplusplus
#define ATTN_SDPA_SUMMARY_INIT { sizeof(attn_sdpa_summary) }
#else
#define ATTN_SDPA_SUMMARY_INIT { .struct_size = sizeof(attn_sdpa_summary) }
#endif

/**
 * What the weights of attn_sdpa_forward(desc, q, k, ...) say, without L x S of them.
 *
 *   desc     in   as the forward's; .lse and .weights must be NULL, .workspace is not used
 *   q, k     in   as the forward's
 *   summary  in   where the results go
 *
 * The weights are those before dropout. A row that sees no key counts as the forward fills
 * its weights. empty_row ZERO: it adds nothing, lists no keys, entropy 0; MEAN: weights of
 * 1/S, so the first K keys, and entropy ln S; NAN: NaN weights, for every key. Its largest
 * logit is its log-sum-exp: -inf, for NAN NaN. A row that is NaN lists the keys it sees from
 * the first on, with weights NaN, makes those columns NaN, and has NaN for the rest.
 *
 * Accuracy  docs/accuracy.md. top_weights in float32 are the bits of the forward's float32 weights
 *           where there are no sinks; which keys are named is exact for those weights.
 * Cost      4 B Hq L S E operations, causal about half, and a logarithm for each weight where
 *           the entropy is wanted. Memory by desc's allocator, for each thread, or task if there
 *           are fewer: about 66 S + 160 E floats (float64: 2 S doubles) and min(K, S) times 16
 *           bytes; for column_sums S doubles more for each of at most 4 threads + 32 tasks.
 * Errors    as attn_sdpa_forward; outputs untouched but for _INTERRUPTED.
 * Threads   reentrant; the same bits for any number of threads, batch and slice.
 */
ATTN_API attn_status attn_sdpa_summarize(const attn_sdpa *desc, const attn_tensor *q,
                                         const attn_tensor *k, const attn_sdpa_summary *summary,
                                         attn_error *err);

/* ---- Keys and values that are kept: the KV cache -------------------------- */

/**
 * Keys and values in pages: token j of sequence b is row j % T of page table[b][j / T].
 * Views of the caller's memory, as in every call.
 */
typedef struct attn_pages {
  size_t struct_size;          /* sizeof(attn_pages) */
  const attn_tensor *k;        /* in (pages, H, T, E) float32, float16, bfloat16 or int8; T >= 1 */
  const attn_tensor *v;        /* in (pages, H, T, Ev) of k's type */
  const attn_tensor *k_scales; /* in (pages, H, T) float32, with int8 alone: a key is scale * number */
  const attn_tensor *v_scales; /* in likewise */
  const attn_tensor *table;    /* in (B, N) int32 or int64; entries that lengths reach are 0 .. pages-1 */
  const attn_tensor *lengths;  /* in (B) int32 or int64, each in 0 .. N T */
} attn_pages;

#ifdef __cplusplus
#define ATTN_PAGES_INIT { sizeof(attn_pages) }
#else
#define ATTN_PAGES_INIT { .struct_size = sizeof(attn_pages) }
#endif

/**
 * attn_sdpa_forward over keys in pages.
 *
 *   desc   in   as there, key_lengths NULL; mask, weights: S is the longest of lengths. A query
 *               that is its sequence's last token is CAUSAL with ATTN_ALIGN_BOTTOM_RIGHT
 *   q      in   (B, Hq, L, E) or, for one sequence, (Hq, L, E), with one head (L, E): float32,
 *               float16 or bfloat16, whatever k's type is
 *   pages  in
 *   o      out  (B, Hq, L, Ev) of q's type
 *
 * Each sequence is a call of its own with S its length: the same bits as alone, whatever its
 * pages are and wherever they lie. Rows behind its length are not read.
 * Accuracy  as attn_sdpa_forward over what the pages hold; int8 is exactly scale * number
 *           rounded to float32.
 * Cost      as attn_sdpa_forward; pages of float32 whose T is a multiple of 96 are read in place.
 *           A workspace as attn_sdpa_plan asks for dense k and v with S the longest length is enough.
 * Errors    as attn_sdpa_forward; a page that the table does not have: ATTN_ERR_ARGUMENT.
 * Threads   reentrant; outputs of concurrent calls must not overlap.
 * Source    [Kwon23].
 */
ATTN_API attn_status attn_sdpa_forward_paged(const attn_sdpa *desc, const attn_tensor *q,
                                             const attn_pages *pages, const attn_tensor *o,
                                             attn_error *err);

/** What a cache is to hold. Zero is the default where one is named. */
typedef struct attn_cache_config {
  size_t struct_size; /* sizeof(attn_cache_config) */
  int64_t heads, width, value_width; /* H, E, Ev; at least 1 */
  int64_t sequences;   /* 0 .. sequences-1 may be used; at least 1 */
  int64_t capacity;    /* tokens that one sequence can hold; at least 1 */
  int64_t page_size; /* T; 0: capacity, that is one contiguous page for each sequence */
  int64_t pages;       /* in all; 0: as many as all sequences need when full and nothing is shared */
  attn_dtype dtype;    /* float32, float16, bfloat16, int8 */
  int32_t reserved;    /* 0 */
  const attn_allocator *allocator; /* NULL: aligned_alloc and free */
  void *memory;        /* NULL: from allocator; else the caller's, of any alignment, which the cache uses alone */
  size_t memory_bytes; /* of memory: at least attn_cache_measure's */
} attn_cache_config;

#ifdef __cplusplus
#define ATTN_CACHE_CONFIG_INIT { sizeof(attn_cache_config) }
#else
#define ATTN_CACHE_CONFIG_INIT { .struct_size = sizeof(attn_cache_config) }
#endif

/**
 * Keys and values of several sequences, which grow token by token. Sequences begin empty.
 *
 * int8: each row of each head is kept as round(x / scale) with scale = max |x| / 127, so that
 * an element is off by at most scale / 2 (docs/accuracy.md); a row that holds NaN or Inf becomes NaN.
 * Threads: functions that change a cache need it alone; the others may run side by side.
 */
typedef struct attn_cache attn_cache;

/** Bytes of a cache, all it will ever use. Errors: ATTN_ERR_ARGUMENT, ATTN_ERR_TYPE. */
ATTN_API attn_status attn_cache_measure(const attn_cache_config *config, size_t *bytes,
                                        attn_error *err);

/**
 * A new cache; one allocation, or none where config->memory is given. On failure *cache is as it
 * was. Errors: ATTN_ERR_ARGUMENT, ATTN_ERR_TYPE, ATTN_ERR_MEMORY. Release it with attn_cache_free.
 */
ATTN_API attn_status attn_cache_new(const attn_cache_config *config, attn_cache **cache,
                                    attn_error *err);

/** Releases what attn_cache_new took. NULL: nothing. */
ATTN_API void attn_cache_free(attn_cache *cache);

/**
 * Appends T tokens to each of several sequences: all of it, or on failure nothing.
 *
 *   sequences  in  count different numbers; NULL: 0 .. count-1
 *   k          in  (count, H, T, E), or (H, T, E) where count is 1: float32, float64, float16 or
 *                  bfloat16; rounded to the cache's type
 *   v          in  (count, H, T, Ev) likewise; of any of these types
 *
 * A page that sequences share is copied before the first of them writes to it.
 * Cost    one pass over k and v. Threads: it needs the cache alone.
 * Errors  ATTN_ERR_ARGUMENT (a number, a sequence twice, "capacity": a sequence would be longer),
 *         ATTN_ERR_SHAPE, ATTN_ERR_TYPE, ATTN_ERR_MEMORY ("pages": too few are free).
 */
ATTN_API attn_status attn_cache_append(attn_cache *cache, const int64_t *sequences, int64_t count,
                                       const attn_tensor *k, const attn_tensor *v, attn_error *err);

/** Tokens of a sequence; -1 where there is no such sequence. */
ATTN_API int64_t attn_cache_length(const attn_cache *cache, int64_t sequence);

/** How many pages no sequence uses. */
ATTN_API int64_t attn_cache_num_free_pages(const attn_cache *cache);

/** Forgets all tokens from length on; 0 empties the sequence. ATTN_ERR_ARGUMENT where it has fewer. */
ATTN_API attn_status attn_cache_truncate(attn_cache *cache, int64_t sequence, int64_t length,
                                         attn_error *err);

/**
 * Makes sequence `to` what `from` is; what it held is forgotten. Pages are shared until one of
 * them writes (beam search). ATTN_ERR_ARGUMENT for a number that is none. Cost: no data is moved.
 */
ATTN_API attn_status attn_cache_fork(attn_cache *cache, int64_t from, int64_t to, attn_error *err);

/**
 * What a sequence holds, as attention reads it: k (H, length, E), v (H, length, Ev), out, float32;
 * NULL: not wanted. Errors: ATTN_ERR_ARGUMENT, ATTN_ERR_SHAPE, ATTN_ERR_TYPE.
 */
ATTN_API attn_status attn_cache_read(const attn_cache *cache, int64_t sequence,
                                     const attn_tensor *k, const attn_tensor *v, attn_error *err);

/**
 * attn_sdpa_forward_paged over a cache.
 *
 *   sequences  in   count numbers, one of them perhaps several times; NULL: 0 .. count-1
 *   q          in   (count, Hq, L, E): row b attends to sequences[b]; where count is 1 also (Hq, L, E)
 *   o          out  (count, Hq, L, Ev) of q's type
 *
 * Accuracy, cost, errors: as there; ATTN_ERR_ARGUMENT for a number that is none.
 * Threads  the cache is read: several calls may run side by side, but none that changes it.
 */
ATTN_API attn_status attn_sdpa_forward_cached(const attn_sdpa *desc, const attn_tensor *q,
                                              const attn_cache *cache, const int64_t *sequences,
                                              int64_t count, const attn_tensor *o, attn_error *err);

/* ---- Other score functions ----------------------------------------------- */

/** How a query and a key are compared. */
typedef enum attn_score_kind {
  ATTN_SCORE_DOT = 0,      /* q . k; scale 1/sqrt(E) unless given: 1 is the unscaled product */
  ATTN_SCORE_GENERAL = 1,  /* q^T W k; scale 1 unless given [Luong15] */
  ATTN_SCORE_ADDITIVE = 2, /* a . tanh(W^T q + U^T k); scale 1 unless given [Bahdanau14] */
} attn_score_kind;

/** A score function and what it has learned. All float types; what a kind does not use is NULL. */
typedef struct attn_score {
  size_t struct_size;   /* sizeof(attn_score) */
  int32_t kind;         /* attn_score_kind */
  int32_t reserved;     /* 0 */
  const attn_tensor *w; /* in   GENERAL (Eq, Ek) or (Hq, Eq, Ek); ADDITIVE (Eq, A) or (Hq, Eq, A) */
  const attn_tensor *u; /* in   ADDITIVE (Ek, A) or (H, Ek, A) */
  const attn_tensor *a; /* in   ADDITIVE (A) or (Hq, A) */
} attn_score;

/** Where the gradients of what was learned go. NULL: not wanted. */
typedef struct attn_score_gradients {
  size_t struct_size;     /* sizeof(attn_score_gradients) */
  const attn_tensor *d_w; /* out  of w's shape, float32 or float64, summed over what shares it */
  const attn_tensor *d_u; /* out  of u's, likewise */
  const attn_tensor *d_a; /* out  of a's, likewise */
} attn_score_gradients;

#ifdef __cplusplus
#define ATTN_SCORE_INIT { sizeof(attn_score) }
#define ATTN_SCORE_GRADIENTS_INIT { sizeof(attn_score_gradients) }
#else
#define ATTN_SCORE_INIT { .struct_size = sizeof(attn_score) }
#define ATTN_SCORE_GRADIENTS_INIT { .struct_size = sizeof(attn_score_gradients) }
#endif

/**
 * Attention with a score function of its own, forward.
 *
 *   desc   in, NULL: plain attention; everything of it holds. .additive must be NULL; a
 *          .workspace serves a call of attn_sdpa_forward of the projected tensors
 *   score  in, NULL: the dot product
 *   q      (B, Hq, L, Eq)  in
 *   k      (B, H,  S, Ek)  in   of q's type; Eq = Ek with DOT alone is required
 *   v      (B, H,  S, Ev)  in   of q's type
 *   o      (B, Hq, L, Ev)  out  of q's type; must not overlap any input
 *
 * Ranks, strides and types as attn_sdpa_forward. W^T q, and U^T k, are summed in double,
 * rounded once to q's type and kept, O(L + S) in memory, from desc's allocator; what
 * follows is attn_sdpa_forward of them, so no L x S tensor is made.
 *
 * Accuracy  attn_sdpa_forward's of the rounded projections.
 * Cost      attn_sdpa_forward's and 2 B (Hq L Eq + H S Ek) A.
 * Errors    as attn_sdpa_forward.
 * Threads   reentrant; the same bits for any number of threads.
 * Source    [Luong15 sec. 3.1, Bahdanau14 A.1.2].
 */
ATTN_API attn_status attn_score_forward(const attn_sdpa *desc, const attn_score *score,
                                        const attn_tensor *q, const attn_tensor *k,
                                        const attn_tensor *v, const attn_tensor *o,
                                        attn_error *err);

/**
 * Gradients of attn_score_forward(desc, score, q, k, v, o).
 *
 *   desc, o, d_o, gradients  as attn_sdpa_backward; .d_additive must be NULL
 *   score_gradients          in, may be NULL; each result is written whole
 *
 * The gradients of the projections are rounded once to q's type; sums over rows are in
 * double, in one order. A row whose gradient is 0, as of a hidden key, gives nothing to
 * d_w and d_u, whatever it holds.
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

/** What a call would do, and why. A plain value. */
typedef struct attn_plan {
  size_t struct_size;     /* in: sizeof(attn_plan) */
  char kernel[32];        /* "f32 avx512", "f32 avx2", "f32 scalar", "reference f64" */
  char reason[256];       /* why that one, in words */
  size_t workspace_bytes; /* what attn_sdpa_forward needs for this call */
  int64_t row_block;      /* queries of a block */
  int64_t key_block;      /* keys of a block */
  int64_t tasks;          /* pieces of independent work */
  int32_t workers;        /* threads that would run them */
  int32_t reserved;
  double flops;           /* multiplications and additions over visible keys of causal, window and lengths; beyond 4096 rows from a sample of them */
} attn_plan;

/**
 * Explains attn_sdpa_forward(desc, q, k, v, o) without running it: the same checks
 * and errors, but for ATTN_ERR_EMPTY_ROW and a workspace that is too small, which
 * only the call itself finds. Nothing is computed, no data read but key_lengths.
 * plan->struct_size must be set. o and err may be NULL. Reentrant.
 */
ATTN_API attn_status attn_sdpa_plan(const attn_sdpa *desc, const attn_tensor *q,
                                    const attn_tensor *k, const attn_tensor *v,
                                    const attn_tensor *o, attn_plan *plan, attn_error *err);

/* ---- The oracle ---------------------------------------------------------- */

/** What a comparison with the oracle found. A plain value. */
typedef struct attn_sdpa_report {
  size_t struct_size; /* in: sizeof(attn_sdpa_report) */
  int64_t rows;       /* rows compared */
  int64_t rows_total;
  int64_t elements;   /* output elements compared */
  int64_t outside;    /* of them, how many lie outside the promised bound (NaN where none belongs counts) */
  double worst;       /* largest |o - exact| / bound */
  int64_t worst_index[4]; /* its b, h, i, e */
  double worst_got, worst_exact, worst_bound;
  double max_error, rms_error; /* absolute */
} attn_sdpa_report;

/**
 * Compares o (and desc->lse, desc->weights where given) with the equations
 * evaluated in double precision, element by element against the promised bound.
 *
 *   row_limit  0: every row; else at most that many rows, a random sample
 *              drawn with seed
 *
 * Cost     2 (E + Ev) S operations a row, in double, on desc's executor; 24 S + 40 Ev
 *          bytes for each worker and at most 40 KiB, from desc's allocator (its workspace is not
 *          used). desc's progress function is told rows done.
 * Errors   as attn_sdpa_forward; ATTN_ERR_ARGUMENT for a negative row_limit; *report is
 *          then as it was.
 * Threads  reentrant; the same report for any number of threads.
 */
ATTN_API attn_status attn_sdpa_verify(const attn_sdpa *desc, const attn_tensor *q,
                                      const attn_tensor *k, const attn_tensor *v,
                                      const attn_tensor *o, int64_t row_limit, uint64_t seed,
                                      attn_sdpa_report *report, attn_error *err);

/* ---- The machine --------------------------------------------------------- */

/** Instruction sets a kernel can be compiled for, each containing those before it on its architecture. */
typedef enum attn_isa {
  ATTN_ISA_SCALAR = 0,
  ATTN_ISA_AVX2 = 10,   /* AVX2 and FMA */
  ATTN_ISA_AVX512 = 20, /* AVX-512 F, BW, DQ, VL */
} attn_isa;

/** What the machine has and what the library does with it. A plain value. */
typedef struct attn_machine {
  size_t struct_size;  /* in: sizeof(attn_machine) */
  char cpu[64];        /* the CPU's own name */
  char features[192];  /* instruction sets found, separated by spaces */
  int32_t isa;         /* attn_isa in use, after ATTN_ISA in the environment */
  int32_t isa_best;    /* the best that this CPU has and this library was built with */
  int32_t threads;     /* workers of the library's pool */
  int32_t isa_invalid; /* 1: ATTN_ISA names none that this CPU has; calls fail with ATTN_ERR_CPU */
} attn_machine;

/** Fills machine; struct_size must be set. Cheap. ATTN_ERR_ARGUMENT where struct_size is none it knows. */
ATTN_API attn_status attn_machine_query(attn_machine *machine);

/** "avx2" for ATTN_ISA_AVX2; "unknown" otherwise. Never NULL. */
ATTN_API const char *attn_isa_name(int32_t isa);

/** One line for the kernel table: entry number index (from 0), or NULL past the end. */
ATTN_API const char *attn_kernel_describe(int32_t index);

/**
 * Measures one thread: *gflops, fused multiply-adds in registers with the
 * instruction set in use (2 operations each); *gbytes, sequential reading of
 * 128 MiB. Takes about 0.4 s. Either may be NULL. ATTN_ERR_MEMORY, ATTN_ERR_CPU:
 * neither is written.
 */
ATTN_API attn_status attn_machine_measure(double *gflops, double *gbytes);

#ifdef __cplusplus
}
#endif
#endif
