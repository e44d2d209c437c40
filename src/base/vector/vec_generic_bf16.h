/* vec_generic_bf16.h -- the software model of vec_avx512_bf16.h. After vec_generic.h with FUSED. */

struct bf16_pair {
  uint16_t of[2];
};

typedef uint32_t vu __attribute__((vector_size(4 * VL)));

VEC_INLINE vf vf_set_pair(const struct bf16_pair *p) {
  int32_t bits;
  memcpy(&bits, p, sizeof bits);
  return (vf)((vm){0} + bits);
}

/* Subnormal values become 0. */
VEC_INLINE vf vf_flush(vf x) {
  const vm bits = (vm)x;
  return (vf)(bits & (((bits & 0x7F800000) != 0) | INT32_MIN));
}

VEC_INLINE vf vf_pair_element(vf pairs, const int n) {
  const vm bits = (vm)pairs;
  return vf_flush((vf)(n ? bits & -0x10000 : (vm)((vu)bits << 16)));
}

/* Whether a lane is set. */
VEC_INLINE int vm_any(vm m) {
  uint64_t part[VL / 2], any = 0;
  memcpy(part, &m, sizeof m);
  for (int n = 0; n < VL / 2; n++) any |= part[n];
  return any != 0;
}

/* a b + sum, 0 where the sum rounded to 24 bits of any exponent is subnormal: the result may be the
 * smallest normal value by its own rounding alone. */
VEC_LANES vf vf_fma_flushed(vf a, vf b, vf sum) {
  const vf x = vf_fma(a, b, sum);
  vf result = vf_flush(x);
  if (!vm_any(((vm)x & INT32_MAX) == 0x00800000)) return result;
  for (int lane = 0; lane < VL; lane++)
    if (fabsf(x[lane]) == 0x1p-126f &&
        fabs((double)a[lane] * (double)b[lane] + (double)sum[lane]) < 0x1p-126 - 0x1p-151)
      result[lane] = copysignf(0.0f, x[lane]);
  return result;
}

/* The pseudocode of VDPBF16PS in Intel's manual, which AMD's Zen 4 follows to the bit. */
VEC_LANES vf vf_dot_pairs(vf a, vf b, vf sum) {
  sum = vf_fma_flushed(vf_pair_element(a, 1), vf_pair_element(b, 1), vf_flush(sum));
  return vf_fma_flushed(vf_pair_element(a, 0), vf_pair_element(b, 0), sum);
}

VEC_LANES vf vf_round_pairs(vf even, vf odd) {
  vm pairs = {0};
  even = vf_flush(even), odd = vf_flush(odd);
  for (int lane = 0; lane < VL; lane++) {
    uint32_t high = attn_to_bf16(odd[lane]);
    pairs[lane] = (int32_t)(high << 16 | attn_to_bf16(even[lane]));
  }
  return (vf)pairs;
}

VEC_LANES vf vf_round_neighbours(vf low, vf high) {
  vf even = low, odd = high;
  for (int lane = 0; lane < VL; lane++) {
    const vf from = lane < VL / 2 ? low : high;
    even[lane] = from[2 * lane % VL], odd[lane] = from[2 * lane % VL + 1];
  }
  return vf_round_pairs(even, odd);
}

VEC_LANES vf vf_zip_bf16(const char *even, const char *odd) {
  vm pairs = {0};
  for (int lane = 0; lane < VL; lane++) {
    uint16_t low, high;
    memcpy(&low, even + 2 * lane, sizeof low), memcpy(&high, odd + 2 * lane, sizeof high);
    pairs[lane] = (int32_t)((uint32_t)high << 16 | low);
  }
  return (vf)pairs;
}

VEC_INLINE vf vf_keep_pairs(vm even, vm odd, vf pairs) {
  return (vf)((vm)pairs & ((even & 0xFFFF) | (odd & -0x10000)));
}

VEC_LANES vf vf_look_up(const float table[32], vf x) {
  for (int lane = 0; lane < VL; lane++) {
    uint32_t bits;
    const float one = x[lane];
    memcpy(&bits, &one, sizeof bits);
    x[lane] = table[bits & 31];
  }
  return x;
}

VEC_LANES vf vf_scale2_floor(vf p, vf n) {
  for (int lane = 0; lane < VL; lane++)
    p[lane] = n[lane] != n[lane] ? NAN : ldexpf(p[lane], (int)floorf(n[lane]));
  return p;
}
