/* No result of a float32 kernel exceeds the bound of docs/accuracy.md for any input. Searches
 * small problems, where few roundings make the bound tight, by hill climbing from random ones,
 * and prints how close the worst result comes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attn/attn.h"
#include "random.h"
#include "scene.h"
#include "select.h"

enum { OUTPUT, WEIGHTS, LSE, GRADIENTS, RESULTS };
static const char *const names[] = {"output", "weights", "log-sum-exp", "gradients"};

/* Few terms in everything, scores up to some tens, features one in four. */
static void draw_small(struct scene *c) {
  static const double gains[] = {0.3, 1, 4, 12};
  draw_scene(c, 4);
  c->b = c->h = 1, c->hq = 1 + chance(4), c->l = 1 + chance(4);
  c->s = chance(8) ? 90 + below(20) : 1 + below(9), c->e = 1 + below(3), c->ev = 1 + below(2);
  const int64_t full[4] = {c->b, c->hq, c->l, c->s};
  for (int n = 0; n < 4; n++) c->mask_shape[n] = c->mask_shape[n] == 1 ? 1 : full[n];
  c->has_mask = chance(4), c->desc.threads = 1;
  if (c->desc.flags & ATTN_SDPA_SOFTCAP) c->desc.softcap = gains[below(4)] * (double)(1 + below(9));
  double gain = gains[below(4)];
  fill(c->q, c->hq * c->l * c->e, gain), fill(c->k, c->s * c->e, 1);
  fill(c->v, c->s * c->ev, 1), fill(c->d_o, c->hq * c->l * c->ev, 1);
  fill(c->mask, product(c->mask_shape), gain), fill(c->sinks, c->hq, gain);
  for (int64_t n = 0; n < c->s * c->ev && chance(2); n++) c->v[n] = below(c->s) ? 0 : 1;
}

/* A random value of the problem. */
static double *any_number(struct scene *c) {
  int64_t q = c->hq * c->l;
  switch (below(8)) {
    case 0:
      return &c->q[below(q * c->e)];
    case 1:
      return &c->k[below(c->s * c->e)];
    case 2:
      return &c->v[below(c->s * c->ev)];
    case 3:
      return &c->d_o[below(q * c->ev)];
    case 4:
      return &c->mask[below(product(c->mask_shape))];
    case 5:
      return &c->d_lse[below(q)];
    case 6:
      return &c->sinks[below(c->hq)];
    default:
      return &c->additive[below(c->e * c->hq)];
  }
}

static double moved(double x) {
  if (isinf(x)) return x;
  if (chance(4)) return x * (1 + 0.5 * normal());
  if (chance(4)) return (double)below(3) - 1;
  return x * (1 + ldexp(normal(), -(int)below(24)));
}

/* How near to its bound a result of the scene comes. */
static double nearness(const struct scene *c, int result, const char *kernel) {
  struct tensors t;
  attn_sdpa_report report = {.struct_size = sizeof report};
  make_tensors(&t, c, ATTN_F32);
  if (result == WEIGHTS) t.desc.weights = &t.weights;
  if (result == OUTPUT || result == WEIGHTS) t.desc.lse = NULL;
  forward(&t);
  if (result == GRADIENTS) {
    backward(&t);
    report.worst = hold(c, &t, &t, kernel, "a climb");
  } else if (attn_sdpa_verify(&t.desc, &t.q, &t.k, &t.v, &t.o, 0, 0, &report, NULL) ||
             report.outside) {
    fail_msg("%s on %s: %.9g, not %.9g, bound %.3g", names[result], kernel, report.worst_got,
             report.worst_exact, report.worst_bound);
  }
  free_tensors(&t);
  return report.worst;
}

static double climb(int result, const char *kernel) {
  struct scene *c = &scene;
  draw_small(c);
  double best = nearness(c, result, kernel);
  for (int step = 0; step < 400; step++) {
    double *at = any_number(c), kept = *at;
    *at = moved(kept);
    double now = nearness(c, result, kernel);
    if (now >= best)
      best = now;
    else
      *at = kept;
  }
  return best;
}

static void hill_climbing_finds_no_result_outside_the_bound(void **state) {
  (void)state;
  const char *kernel;
  for (int n = 0; (kernel = select_kernel(n)); n++)
    for (int result = 0; result < RESULTS; result++) {
      double worst = 0;
      for (int round = 0; round < ROUNDS(25); round++) worst = fmax(worst, climb(result, kernel));
      printf("%s, %s: at %.3f of the bound at most\n", kernel, names[result], worst);
      assert_true(worst < 1);
    }
  select_default();
}

int main(int argc, char **argv) {
  random_begin(argc, argv);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(hill_climbing_finds_no_result_outside_the_bound)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
