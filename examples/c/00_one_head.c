/* The simplest call: self-attention of three words (examples/lessons/01-first-attention.md).
 *
 *     cc 00_one_head.c $(pkg-config --cflags --libs libattn)
 */
#include <attn/attn.h>
#include <stdio.h>

enum { WORDS = 3, WIDTH = 2 };

int main(void) {
  static float q_data[WORDS][WIDTH] = {{2, 0}, {1, 1}, {2, 1}};
  static float k_data[WORDS][WIDTH] = {{1, 0}, {0, 3}, {1, 2}};
  static float v_data[WORDS][WIDTH] = {{4, 0}, {0, 3}, {1, 1}};
  float o_data[WORDS][WIDTH];

  /* Views: one sequence, one head, three rows of two elements. */
  attn_tensor q = attn_tensor_dense(ATTN_F32, q_data, 1, 1, WORDS, WIDTH);
  attn_tensor k = attn_tensor_dense(ATTN_F32, k_data, 1, 1, WORDS, WIDTH);
  attn_tensor v = attn_tensor_dense(ATTN_F32, v_data, 1, 1, WORDS, WIDTH);
  attn_tensor o = attn_tensor_dense(ATTN_F32, o_data, 1, 1, WORDS, WIDTH);

  attn_error err;
  if (attn_sdpa_forward(NULL, &q, &k, &v, &o, &err) != ATTN_OK) {
    fprintf(stderr, "%s: %s\n", attn_status_name(err.status), err.message);
    return 1;
  }
  for (int i = 0; i < WORDS; i++) printf("%.4f %.4f\n", o_data[i][0], o_data[i][1]);
  return 0;
}
