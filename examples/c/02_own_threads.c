/* A custom executor: the host's threads, here two per call, do the work. The result has the same
 * bits as with the library's thread pool.
 *
 *     cc 02_own_threads.c $(pkg-config --cflags --libs libattn) -pthread
 */
#include <attn/attn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { WORKERS = 2, LENGTH = 256, WIDTH = 32 };

struct share {
  void (*body)(void *argument, int64_t index, int32_t worker);
  void *argument;
  int64_t count;
  int32_t worker;
};

static void *work(void *context) {
  struct share *s = context;
  for (int64_t n = s->worker; n < s->count; n += WORKERS) s->body(s->argument, n, s->worker);
  return NULL;
}

static void parallel_for(void *context, int64_t count, void (*body)(void *, int64_t, int32_t),
                         void *argument) {
  pthread_t thread;
  struct share mine = {body, argument, count, 0}, other = {body, argument, count, 1};
  (void)context;
  int started = !pthread_create(&thread, NULL, work, &other);
  work(&mine);
  if (started)
    pthread_join(thread, NULL);
  else
    work(&other); /* no thread available: run its share here */
}

int main(void) {
  static float x[LENGTH][WIDTH], with_pool[LENGTH][WIDTH], with_ours[LENGTH][WIDTH];
  for (int i = 0; i < LENGTH; i++)
    for (int e = 0; e < WIDTH; e++) x[i][e] = (float)((i * 37 + e * 11) % 64) / 64;
  attn_tensor in = attn_tensor_dense(ATTN_F32, x, 1, 1, LENGTH, WIDTH), pool = in, ours = in;
  pool.data = with_pool, ours.data = with_ours;

  attn_executor executor = {NULL, WORKERS, parallel_for};
  attn_sdpa call = ATTN_SDPA_INIT;
  call.executor = &executor;
  if (attn_sdpa_forward(NULL, &in, &in, &in, &pool, NULL) ||
      attn_sdpa_forward(&call, &in, &in, &in, &ours, NULL))
    return 1;
  int same = !memcmp(with_pool, with_ours, sizeof with_pool);
  printf("the same bits: %s\n", same ? "yes" : "no");
  return !same;
}
