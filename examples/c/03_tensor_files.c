/* Writes q.npy, k.npy and v.npy of B x H x L x E normal random values, as input for `attn run`.
 *
 *     03_tensor_files [B H L E [FOLDER]]        default 1 8 2048 64 in this folder
 */
#include <attn/attn.h>
#include <attn/io.h>
#include <stdio.h>
#include <stdlib.h>

/* The sum of twelve uniform numbers minus six is approximately normal. */
static float normal(uint64_t *state) {
  double sum = -6;
  for (int n = 0; n < 12; n++) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    sum += (double)(*state >> 11) * 0x1p-53;
  }
  return (float)sum;
}

static int write_tensor(const char *folder, const char *name, const int64_t n[4], uint64_t seed) {
  int64_t count = n[0] * n[1] * n[2] * n[3];
  float *data = malloc((size_t)count * sizeof *data);
  if (!data) return fprintf(stderr, "out of memory: %s\n", name), 1;
  for (int64_t e = 0; e < count; e++) data[e] = normal(&seed);
  attn_tensor tensor = attn_tensor_dense(ATTN_F32, data, n[0], n[1], n[2], n[3]);
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  attn_error err;
  attn_status status = attn_array_write(path, &tensor, &err);
  if (status != ATTN_OK) fprintf(stderr, "%s: %s\n", path, err.message);
  free(data);
  return status != ATTN_OK;
}

int main(int argc, char **argv) {
  int64_t shape[4] = {1, 8, 2048, 64};
  for (int n = 0; n < 4 && n + 1 < argc; n++) shape[n] = atoll(argv[n + 1]);
  for (int n = 0; n < 4; n++)
    if (shape[n] < 1 || shape[n] > 1 << 20)
      return fprintf(stderr, "sizes must be between 1 and 2^20\n"), 2;
  const char *folder = argc > 5 ? argv[5] : ".";
  return write_tensor(folder, "q.npy", shape, 1) || write_tensor(folder, "k.npy", shape, 2) ||
         write_tensor(folder, "v.npy", shape, 3);
}
