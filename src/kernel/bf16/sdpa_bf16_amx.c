/* AMX-BF16, with AVX512-BF16 between its products: four tiles of accumulators, two of each factor.
 */
#include "vec_avx512.h"
#include "vec_avx512_bf16.h"
#include "vec_amx_bf16.h"
#define KEY_TILE 1
#define COLUMN_TILE 1
#define VECTOR_TILE 4
#define SDPA attn_sdpa_bf16_amx
#include "sdpa_bf16_tiles.inc"

/* Four accumulators and four factors, as in the kernel. */
double attn_tile_bf16(int64_t rounds) {
  enum { TILES_OF_ROUND = 4, OPERATIONS = 2 * 16 * 16 * 32 };
  tiles_open();
  clear_accumulators();
  tile_clear(4);
  tile_clear(5);
  tile_clear(6);
  tile_clear(7);
  for (int64_t r = 0; r < rounds; r++) {
    tile_dot(0, 4, 6);
    tile_dot(1, 4, 7);
    tile_dot(2, 5, 6);
    tile_dot(3, 5, 7);
  }
  tiles_close();
  return (double)rounds * TILES_OF_ROUND * OPERATIONS;
}
