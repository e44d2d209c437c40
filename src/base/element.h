/* element.h -- elements of a tensor: types and sizes, loads and stores of any float type; the
 * 16-bit floats are widened exactly and rounded to nearest, ties to even. */
#ifndef ATTN_BASE_ELEMENT_H
#define ATTN_BASE_ELEMENT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "attn/attn.h"

/* Bytes of one element; 0 for an unknown type. */
int64_t attn_element_size(attn_dtype dtype);

/* "float32" for ATTN_F32, as NumPy spells it; "unknown" for an unknown type. */
const char *attn_element_name(attn_dtype dtype);

static inline int attn_is_16_bit(attn_dtype dtype) {
  return dtype == ATTN_F16 || dtype == ATTN_BF16;
}

/* One of the four float types. */
static inline int attn_is_floating_point(attn_dtype dtype) {
  return dtype == ATTN_F32 || dtype == ATTN_F64 || attn_is_16_bit(dtype);
}

/* Bytes of one element of a float type; 0 for any other. DLPack's type holds the bits. */
static inline int64_t attn_real_size(attn_dtype dtype) {
  return attn_is_floating_point(dtype) ? (dtype >> 8 & 0xFF) / 8 : 0;
}

/* Subnormals are m * 2^-24. */
static inline float attn_from_f16(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
  uint32_t bits = sign | (exponent == 31 ? 0x7F800000 : (exponent + 112) << 23) | fraction << 13;
  float value;
  if (exponent == 0) {
    value = (float)fraction * 0x1p-24f;
    return sign ? -value : value;
  }
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline float attn_from_bf16(uint16_t h) {
  uint32_t bits = (uint32_t)h << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Adds half a unit of the last kept bit, minus one if that bit is even; the carry does the rest. */
static inline uint16_t attn_to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (value != value) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static inline uint16_t attn_to_f16(float value) {
  uint32_t bits, magnitude;
  memcpy(&bits, &value, sizeof bits);
  uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return (uint16_t)(sign | 0x7E00 | (magnitude >> 13 & 0x1FF));
  if (magnitude >= 0x477FF000) return (uint16_t)(sign | 0x7C00); /* 65520 and more */
  if (magnitude < 0x38800000) { /* subnormal: 0.5 has units of 2^-24, so the sum rounds */
    float shifted;
    memcpy(&shifted, &magnitude, sizeof shifted);
    shifted += 0.5f;
    memcpy(&bits, &shifted, sizeof bits);
    return (uint16_t)(sign | (bits - 0x3F000000));
  }
  uint32_t rounded = magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1);
  return (uint16_t)(sign | rounded >> 13);
}

/* Loads one element of any float type as double. Any other type gives NaN. */
static inline double attn_load_real(attn_dtype dtype, const char *at) {
  uint16_t half;
  float f;
  double d;
  switch (dtype) {
    case ATTN_F16:
      return memcpy(&half, at, 2), (double)attn_from_f16(half);
    case ATTN_BF16:
      return memcpy(&half, at, 2), (double)attn_from_bf16(half);
    case ATTN_F32:
      return memcpy(&f, at, 4), (double)f;
    case ATTN_F64:
      return memcpy(&d, at, 8), d;
    default:
      return (double)NAN;
  }
}

/* Loads one element of ATTN_I32 or ATTN_I64. */
static inline int64_t attn_load_integer(attn_dtype dtype, const char *at) {
  int32_t narrow;
  int64_t wide;
  if (dtype == ATTN_I32) return memcpy(&narrow, at, sizeof narrow), narrow;
  return memcpy(&wide, at, sizeof wide), wide;
}

/* Stores into float32, float16 or bfloat16; into any other type it writes nothing. */
static inline void attn_store_f32(attn_dtype dtype, char *at, float value) {
  uint16_t half = dtype == ATTN_F16 ? attn_to_f16(value) : attn_to_bf16(value);
  if (dtype == ATTN_F32)
    memcpy(at, &value, 4);
  else if (dtype == ATTN_F16 || dtype == ATTN_BF16)
    memcpy(at, &half, 2);
}

/* Rounds to odd: toward zero, with the last bit set if the result is inexact. Rounding the result
 * to a type at least two bits shorter equals rounding value once: no false ties. */
static inline float attn_round_to_odd(double value) {
  float near = (float)value;
  uint32_t bits;
  if ((double)near == value || value != value) return near;
  memcpy(&bits, &near, sizeof bits);
  if (fabs((double)near) > fabs(value)) bits--;
  bits |= 1;
  memcpy(&near, &bits, sizeof near);
  return near;
}

/* Stores into any float type, rounded once to nearest; into any other type it writes nothing. */
static inline void attn_store_real(attn_dtype dtype, char *at, double value) {
  if (dtype == ATTN_F64)
    memcpy(at, &value, sizeof value);
  else
    attn_store_f32(dtype, at, dtype == ATTN_F32 ? (float)value : attn_round_to_odd(value));
}

/* Adds to an element of float32 or float64. */
static inline void attn_add_real(attn_dtype dtype, char *at, double x) {
  double wide = attn_load_real(dtype, at) + x;
  float narrow = (float)wide;
  memcpy(at, dtype == ATTN_F32 ? (void *)&narrow : (void *)&wide, dtype == ATTN_F32 ? 4 : 8);
}

/* Runs LOOP(TYPE, BYTES) of a float type. The type is a constant in each loop: the compiler removes
 * the switch of attn_load_real. */
#define ATTN_FOR_FLOAT_TYPE(dtype, LOOP) \
  switch (dtype) {                       \
    case ATTN_F16:                       \
      LOOP(ATTN_F16, 2);                 \
      break;                             \
    case ATTN_BF16:                      \
      LOOP(ATTN_BF16, 2);                \
      break;                             \
    case ATTN_F32:                       \
      LOOP(ATTN_F32, 4);                 \
      break;                             \
    case ATTN_F64:                       \
      LOOP(ATTN_F64, 8);                 \
      break;                             \
    default:                             \
      break;                             \
  }

/* Loads count elements, step elements apart, as double. */
void attn_load_reals(attn_dtype dtype, const char *at, int64_t step, int64_t count, double *to);

/* Stores count values, step elements apart, each rounded once as attn_store_real does. */
void attn_store_reals(attn_dtype dtype, char *at, int64_t step, int64_t count, const double *from);

/* Loads count elements, step elements apart, multiplies them by scale in double and writes them,
 * rounded to float32, to_step floats apart. Inline: each kernel compiles it for its instruction
 * set. */
static inline void attn_load_floats(attn_dtype dtype, const char *at, int64_t step, int64_t count,
                                    double scale, float *to, int64_t to_step) {
#define LOAD_ALL(TYPE, BYTES)         \
  for (int64_t n = 0; n < count; n++) \
  to[n * to_step] = (float)(attn_load_real(TYPE, at + n * step * BYTES) * scale)
  ATTN_FOR_FLOAT_TYPE(dtype, LOAD_ALL)
#undef LOAD_ALL
}

#endif
