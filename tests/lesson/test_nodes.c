/* test_nodes.c -- grids, nodes and lists of relations: which cells fit, what is carried on, what is
 * made once, and where work ends. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h> /* needs those above */
/* clang-format on */

#include <math.h>

#include "failing_calloc.h"
#include "known.h"

/* ---- grids ---- */

#define is_near(x, y) assert_true(fabs((x) - (y)) < 1e-9)

/* Half a unit of a number is that of the block's last digit: trailing zeros may be stripped. */
static void test_half_a_unit_is_that_of_the_block(void **state) {
  const struct attn_grid *g = grid(*state, "0.5 0.25; 1 2");
  assert_int_equal(g->decimals, 2);
  for (int n = 0; n < 4; n++) is_near(g->half[n], .005);
}

static void test_a_scientific_number_has_its_own_unit(void **state) {
  const struct attn_grid *g = grid(*state, "1e-3 2.55e-1 0.5");
  assert_int_equal(g->decimals, 1);
  is_near(g->half[0], .0005);
  is_near(g->half[1], .0005);
  is_near(g->half[2], .05);
}

static void test_a_fraction_is_exact(void **state) {
  const struct attn_grid *g = grid(*state, "1/3 0.25");
  is_near(g->value[0], 1 / 3.0);
  assert_true(g->half[0] == 0);
}

/* A blank and a printed infinity both count as hidden; only one of them has no number. */
static void test_blanks_and_infinities(void **state) {
  const struct attn_grid *g = grid(*state, "0.5 ?; 1.5 -∞");
  assert_true(g->value[1] == -INFINITY && g->value[3] == -INFINITY);
  assert_true(g->blank[1] && !g->blank[3] && !g->blank[0]);
  assert_int_equal(g->decimals, 1);
  is_near(g->bits[1], 1);
}

/* Bits: log2 of the block's range over a number's unit; a sign doubles it; 16 at most. */
static void test_bits_of_a_number(void **state) {
  is_near(grid(*state, "8.0 1.0")->bits[1], log2(1 + 8 / .1));
  is_near(grid(*state, "8.0 -1.0")->bits[1], log2(1 + 16 / .1));
  is_near(grid(*state, "0.1 0.2")->bits[1], log2(1 + .5 / .1));
  is_near(grid(*state, "0.12345678 0.2")->bits[0], 16);
}

static void test_a_transposed_grid(void **state) {
  struct known *k = *state;
  int block = page_block(&k->page, "1 2 3; 4 5 6");
  const struct attn_grid *g = attn_grid_of(k->page.relations, &k->page.scan, block, 0, 1);
  assert_int_equal(g->rows, 3);
  assert_int_equal(g->cols, 2);
  is_near(g->value[1], 4);
  is_near(g->value[4], 3);
  assert_ptr_equal(g, attn_grid_of(k->page.relations, &k->page.scan, block, 0, 1));
}

/* ---- nodes ---- */

/* A given is exact, or what rounds to it; an integer is exact in both. */
static void test_a_given_is_exact_or_rounded(void **state) {
  struct known *k = *state;
  const struct attn_grid *g = grid(k, "0.5 1"), *whole = grid(k, "2 1");
  const struct attn_node *exact = attn_node_given(k->page.relations, g, 0);
  const struct attn_node *rounded = attn_node_given(k->page.relations, g, 1);
  is_near(exact->carried.lo.at[0], .5);
  is_near(exact->carried.hi.at[0], .5);
  is_near(rounded->carried.lo.at[0], .45);
  is_near(rounded->carried.hi.at[1], 1.05);
  is_near(attn_node_given(k->page.relations, whole, 1)->carried.hi.at[0], 2);
  assert_true(exact->share == 1 && !exact->slipped && !exact->expected.lo.at);
  assert_ptr_equal(exact, attn_node_given(k->page.relations, g, 0));
}

/* 1.25 prints as 1.2 or as 1.3, not as 1.1. */
static void test_a_cell_fits_within_half_a_unit(void **state) {
  struct known *k = *state;
  give(k, ATTN_ROLE_X, "0.5 0; 0 0.5");
  give(k, ATTN_ROLE_W_Q, "2.5 1; 1 2.5");
  const struct attn_node *good = find(k, ATTN_ROLE_Q, "1.2 0.5; 0.5 1.3").node;
  const struct attn_node *bad = find(k, ATTN_ROLE_Q, "1.1 0.5; 0.5 1.3").node;
  assert_true(good->share == 1 && !good->slipped && !good->right);
  is_near(bad->share, .75);
  assert_true(bad->slipped);
  assert_true(good->bits > bad->bits + 5);
}

/* Once something follows, it may be computed from the printed number, from the exact one, or
 * anything between. */
static void test_what_fits_carries_printed_to_expected(void **state) {
  struct known *k = *state;
  give_scores(k);
  const struct attn_node *node =
      find(k, ATTN_ROLE_SCALED, "1.41 2.12 3.54; 0.71 0.71 1.41; 9.99 2.83 4.95").node;
  assert_null(node->carried.lo.at);
  assert_true(attn_node_follow(k->page.relations, node));
  is_near(node->carried.lo.at[0], 1.41);
  is_near(node->carried.hi.at[0], sqrt(2));
  is_near(node->carried.lo.at[6], 9.985); /* what does not fit: any number that prints so */
  is_near(node->carried.hi.at[6], 9.995);
}

/* The numbers that should be there are kept for what follows. */
static void test_a_slip_has_the_right_numbers(void **state) {
  struct known *k = *state;
  give_scores(k);
  const struct attn_node *one =
      find(k, ATTN_ROLE_SCALED, "1.41 2.12 3.54; 0.71 0.71 1.41; 9.99 2.83 4.95").node;
  assert_true(one->slipped && !one->right);
  assert_true(attn_node_follow(k->page.relations, one));
  assert_non_null(one->right);
  assert_ptr_equal(one->right->shadow_of, one);
  is_near(one->right->carried.lo.at[6], 3 / sqrt(2));
  struct found all = find(k, ATTN_ROLE_SCALED, "1.00 1.50 2.50; 0.50 0.50 1.00; 1.50 2.00 3.50");
  assert_int_equal(all.relation->cause, ATTN_CAUSE_SCALE_BY_DK);
  assert_true(all.node->share == 1 && all.node->slipped);
  assert_true(attn_node_follow(k->page.relations, all.node));
  is_near(all.node->right->carried.lo.at[0], sqrt(2));
}

static void test_copies(void **state) {
  struct known *k = *state;
  const struct attn_node *of = give(k, ATTN_ROLE_X, "0.25 0.5; 1 2; 3 4");
  const struct attn_grid *rounder = grid(k, "0.3 0.5; 1.0 2.0; 3.0 4.0");
  const struct attn_grid *turned = grid(k, "0.25 1 3; 0.5 2 4");
  const struct attn_grid *other = grid(k, "0.25 0.5; 1 2; 3 5");
  assert_true(attn_node_copy(k->page.relations, rounder, of, ATTN_COPY)->share == 1);
  assert_true(attn_node_copy(k->page.relations, turned, of, ATTN_COPY_TRANSPOSED)->share == 1);
  is_near(attn_node_copy(k->page.relations, other, of, ATTN_COPY)->share, 5 / 6.0);
  assert_null(attn_node_copy(k->page.relations, turned, of, ATTN_COPY));
  assert_null(attn_node_copy(k->page.relations, rounder, of, ATTN_COPY_TRANSPOSED));
}

/* A weight that is 0 because its score is hidden may be left blank; another may not. */
static void test_a_hidden_weight_may_be_blank(void **state) {
  struct known *k = *state;
  give_scaled(k);
  expect(k, ATTN_ROLE_WEIGHTS, "1 ? ?; 0.5 0.5 ?; 0.050 0.102 0.848",
         "softmax(mask(scaled, causal))", ATTN_CAUSE_NONE);
  take(k, ATTN_ROLE_WEIGHTS);
}

/* Which bits a misfit costs, and that few fits cost more. */
static void test_misfits_cost_bits(void **state) {
  struct known *k = *state;
  give_scores(k);
  double all = find(k, ATTN_ROLE_SCALED, SCALED_3).node->bits;
  double most = find(k, ATTN_ROLE_SCALED, "1.414 2.121 3.536; 0.707 0.707 1.414; 2.121 2.828 9.950")
                    .node->bits;
  double none = find(k, ATTN_ROLE_SCALED, "9 8 7; 9 8 7; 8 8 9").node->bits;
  assert_true(all > most + 5);
  assert_true(none < -14);
}

/* ---- after a slip ---- */

/* Scores are divided by d_k, weights computed as if they were not. */
static void test_an_author_continues_from_the_right_numbers(void **state) {
  struct known *k = *state;
  give_scores(k);
  expect(k, ATTN_ROLE_SCALED, "1.00 1.50 2.50; 0.50 0.50 1.00; 1.50 2.00 3.50",
         "divide(scores, 2.000)", ATTN_CAUSE_SCALE_BY_DK);
  struct found f = find(k, ATTN_ROLE_WEIGHTS, WEIGHTS_3);
  assert_string_equal(words_of(k, f.relation), "softmax(right scaled)");
  assert_int_equal(f.relation->cause, ATTN_CAUSE_NONE);
  assert_true(f.node->slipped && f.relation->cost > 0);
}

/* Or from those that are printed. */
static void test_an_author_continues_from_the_printed_numbers(void **state) {
  struct known *k = *state;
  give_scores(k);
  expect(k, ATTN_ROLE_SCALED, "1.00 1.50 2.50; 0.50 0.50 1.00; 1.50 2.00 3.50",
         "divide(scores, 2.000)", ATTN_CAUSE_SCALE_BY_DK);
  const struct attn_node *node =
      expect(k, ATTN_ROLE_WEIGHTS, "0.140 0.231 0.629; 0.274 0.274 0.452; 0.100 0.164 0.736",
             "softmax(scaled)", ATTN_CAUSE_NONE);
  assert_true(node->slipped);
}

/* Every slip knows the right relation of its list. */
static void test_a_slip_knows_its_standard(void **state) {
  struct known *k = *state;
  give_scores(k);
  struct found f = find(k, ATTN_ROLE_SCALED, "1.00 1.50 2.50; 0.50 0.50 1.00; 1.50 2.00 3.50");
  assert_non_null(f.relation->standard);
  assert_string_equal(words_of(k, f.relation->standard), "divide(scores, 1.414)");
  assert_int_equal(f.relation->standard->cause, ATTN_CAUSE_NONE);
}

/* ---- lists ---- */

static void test_nothing_follows_from_nothing(void **state) {
  struct known *k = *state;
  for (int role = 0; role < ATTN_ROLES; role++) expect_none(k, role, "1.0 2.0; 3.0 4.0");
}

static void test_other_shapes_are_not_listed(void **state) {
  struct known *k = *state;
  give_weights(k);
  expect_none(k, ATTN_ROLE_SCORES, "1.0 2.0; 3.0 4.0");
  expect_none(k, ATTN_ROLE_OUTPUT, "1.0 2.0 3.0; 3.0 4.0 5.0; 1.0 1.0 1.0");
  expect_none(k, ATTN_ROLE_X, X_3); /* always given */
}

/* The same question has the same answer, made once; other operands have another. */
static void test_a_list_is_made_once(void **state) {
  struct known *k = *state;
  const struct attn_relation *first, *again, *other;
  give_scores(k);
  const struct attn_grid *g = grid(k, SCALED_3);
  struct attn_relations *r = k->page.relations;
  attn_relations_list(r, &k->state, 0, ATTN_ROLE_SCALED, g, &k->hints, &first);
  attn_relations_list(r, &k->state, 0, ATTN_ROLE_SCALED, g, &k->hints, &again);
  assert_ptr_equal(first, again);
  assert_ptr_equal(attn_node_of(r, g, first), attn_node_of(r, g, again));
  give(k, ATTN_ROLE_SCORES, "1 1 1; 2 2 2; 3 3 3");
  attn_relations_list(r, &k->state, 0, ATTN_ROLE_SCALED, g, &k->hints, &other);
  assert_ptr_not_equal(first, other);
}

/* ---- limits of work ---- */

static void test_a_large_product_is_not_tried(void **state) {
  struct known *k = *state;
  struct attn_relations *r = k->page.relations;
  int x = page_zeros(&k->page, 400, 101), w = page_zeros(&k->page, 101, 101);
  int q = page_zeros(&k->page, 400, 101);
  set(k, 0, ATTN_ROLE_X, attn_node_given(r, attn_grid_of(r, &k->page.scan, x, 0, 0), 0));
  set(k, 0, ATTN_ROLE_W_Q, attn_node_given(r, attn_grid_of(r, &k->page.scan, w, 0, 0), 0));
  const struct attn_grid *g = attn_grid_of(r, &k->page.scan, q, 0, 0);
  assert_int_equal(find_in(k, 0, ATTN_ROLE_Q, g).count, 0);
  assert_false(attn_relations_failed(r));
}

/* A document that asks for too much in all gets no more relations, and no failure. */
static void test_work_of_a_document_is_limited(void **state) {
  struct known *k = *state;
  struct attn_relations *r = k->page.relations;
  const struct attn_relation *list;
  give_scores(k);
  const struct attn_grid *g = grid(k, SCALED_3), *late = grid(k, WEIGHTS_3);
  assert_true(attn_relations_list(r, &k->state, 0, ATTN_ROLE_SCALED, g, &k->hints, &list) > 0);
  assert_true(attn_relations_afford(r, 1e6));
  assert_false(attn_relations_afford(r, 1e9));
  assert_null(attn_node_of(r, g, &list[0]));
  assert_int_equal(find_in(k, 0, ATTN_ROLE_WEIGHTS, late).count, 0);
  assert_false(attn_relations_failed(r));
}

/* ---- memory ---- */

/* Without memory a relation has no node, and that is noted. */
static void test_a_failed_allocation_is_noted(void **state) {
  struct known *k = *state;
  struct attn_relations *r = k->page.relations;
  give_scores(k);
  const struct attn_grid *g = grid(k, SCALED_3);
  const struct attn_relation *list;
  assert_true(attn_relations_list(r, &k->state, 0, ATTN_ROLE_SCALED, g, &k->hints, &list) > 0);
  while (attn_pool_take(k->page.memory, 1 << 10) && calls_left) calls_left = 0;
  while (attn_pool_take(k->page.memory, 16)) continue;
  const struct attn_node *node = attn_node_of(r, g, &list[0]);
  const struct attn_relation *none;
  int count = attn_relations_list(r, &k->state, 0, ATTN_ROLE_WEIGHTS, g, &k->hints, &none);
  calls_left = -1;
  assert_null(node);
  assert_int_equal(count, 0);
  assert_true(attn_relations_failed(r));
}

#define law(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
  const struct CMUnitTest tests[] = {
      law(test_half_a_unit_is_that_of_the_block),
      law(test_a_scientific_number_has_its_own_unit),
      law(test_a_fraction_is_exact),
      law(test_blanks_and_infinities),
      law(test_bits_of_a_number),
      law(test_a_transposed_grid),
      law(test_a_given_is_exact_or_rounded),
      law(test_a_cell_fits_within_half_a_unit),
      law(test_what_fits_carries_printed_to_expected),
      law(test_a_slip_has_the_right_numbers),
      law(test_copies),
      law(test_a_hidden_weight_may_be_blank),
      law(test_misfits_cost_bits),
      law(test_an_author_continues_from_the_right_numbers),
      law(test_an_author_continues_from_the_printed_numbers),
      law(test_a_slip_knows_its_standard),
      law(test_nothing_follows_from_nothing),
      law(test_other_shapes_are_not_listed),
      law(test_a_list_is_made_once),
      law(test_a_large_product_is_not_tried),
      law(test_work_of_a_document_is_limited),
      law(test_a_failed_allocation_is_noted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
