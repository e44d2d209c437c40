/* test_store.c -- files by name: written atomically, and read back unchanged. */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bytes.h"
#include "faults.h"
#include "lock.h"
#include "unit.h"

static char folder[64], home[4096];

static int enter(void **state) {
  (void)state;
  snprintf(folder, sizeof folder, "/tmp/attn-test-XXXXXX");
  return !getcwd(home, sizeof home) || !mkdtemp(folder) || chdir(folder);
}

static int each_file(int (*act)(const char *name)) {
  DIR *d = opendir(".");
  int sum = 0;
  for (struct dirent *e; (e = readdir(d));)
    if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) sum += act(e->d_name);
  closedir(d);
  return sum;
}

static int count_one(const char *name) { return (void)name, 1; }
static int files(void) { return each_file(count_one); }

static int leave(void **state) {
  (void)state;
  each_file(remove);
  return chdir(home) || rmdir(folder);
}

static float numbers[24];
static attn_tensor tensor;

static void fill(void) {
  for (int n = 0; n < 24; n++) numbers[n] = (float)n + 0.5f;
  tensor = (attn_tensor){numbers, ATTN_F32, 3, {2, 3, 4}, {12, 4, 1}};
}

static void expect_numbers(const char *path, int64_t i, int64_t j, int64_t k) {
  attn_array a;
  assert_int_equal(attn_array_read(path, &a, NULL), ATTN_OK);
  assert_int_equal(a.tensor.rank, 3);
  assert_int_equal(a.tensor.shape[0], i);
  assert_int_equal(a.tensor.shape[1], j);
  assert_int_equal(a.tensor.shape[2], k);
  attn_array_free(&a);
}

/* Any strides: dense, transposed, reversed, broadcast, with gaps. */
static void any_strides_are_written_in_order(void **state) {
  (void)state;
  static const attn_tensor views[] = {{numbers, ATTN_F32, 3, {2, 3, 4}, {12, 4, 1}},
                                      {numbers, ATTN_F32, 3, {4, 3, 2}, {1, 4, 12}},
                                      {numbers + 23, ATTN_F32, 3, {2, 3, 4}, {-12, -4, -1}},
                                      {numbers, ATTN_F32, 3, {2, 3, 4}, {0, 0, 1}},
                                      {numbers, ATTN_F32, 3, {2, 3, 2}, {12, 4, 2}},
                                      {numbers, ATTN_F32, 3, {2, 1, 3}, {12, 77, 1}},
                                      {numbers, ATTN_F32, 3, {2, 3, 3}, {12, 4, 1}},
                                      {numbers, ATTN_F32, 3, {0, 3, 4}, {12, 4, 1}}};
  static const char *const paths[] = {"x.npy", "x.safetensors:x"};
  fill();
  for (size_t n = 0; n < 2 * sizeof views / sizeof *views; n++) {
    const attn_tensor *t = &views[n / 2];
    attn_array a;
    assert_int_equal(attn_array_write(paths[n % 2], t, NULL), ATTN_OK);
    expect_numbers(paths[n % 2], t->shape[0], t->shape[1], t->shape[2]);
    assert_int_equal(attn_array_read(paths[n % 2], &a, NULL), ATTN_OK);
    const float *got = a.tensor.data;
    for (int64_t i = 0; i < t->shape[0]; i++)
      for (int64_t j = 0; j < t->shape[1]; j++)
        for (int64_t k = 0; k < t->shape[2]; k++)
          assert_true(
              *got++ ==
              ((float *)t->data)[i * t->strides[0] + j * t->strides[1] + k * t->strides[2]]);
    attn_array_free(&a);
  }
  assert_int_equal(files(), 2);
}

static void large_pieces_and_small_ones_keep_their_order(void **state) {
  (void)state;
  enum { ROWS = 7, WIDTH = 5000, GAP = 5003 };
  float *data = malloc(ROWS * GAP * sizeof *data);
  for (int n = 0; n < ROWS * GAP; n++) data[n] = (float)n;
  for (int width = 1; width <= WIDTH; width = width * 3 + 1) {
    attn_array a;
    const attn_tensor t = {data, ATTN_F32, 2, {ROWS, width}, {GAP, 1}};
    assert_int_equal(attn_array_write("x.npy", &t, NULL), ATTN_OK);
    assert_int_equal(attn_array_read("x.npy", &a, NULL), ATTN_OK);
    for (int i = 0; i < ROWS; i++)
      assert_memory_equal((float *)a.tensor.data + i * width, data + i * GAP,
                          (size_t)width * sizeof *data);
    attn_array_free(&a);
  }
  free(data);
}

static void a_safetensors_file_keeps_its_others(void **state) {
  (void)state;
  const char *header =
      "{\"__metadata__\":{\"by\":\"us\"},\"odd\":{\"dtype\":\"F8_E4M3\",\"shape\":[3],\"data_"
      "offsets\":["
      "0,3]},"
      "\"x\":{\"dtype\":\"F64\",\"shape\":[1],\"data_offsets\":[3,11]}}";
  struct made m = {{0}, 0};
  attn_array_list list;
  attn_array a;
  char text[400] = "";
  fill();
  add_length(&m, strlen(header), 8);
  add(&m, header, strlen(header));
  add(&m, "xyz12345678", 11);
  FILE *f = fopen("a.safetensors", "wb");
  assert_int_equal(fwrite(m.at, 1, m.size, f), m.size);
  fclose(f);
  const attn_array_output outputs[] = {{"a.safetensors:x", &tensor},
                                       {"./a.safetensors:y", &tensor}};
  assert_int_equal(attn_array_write_all(outputs, 2, NULL), ATTN_OK);
  assert_int_equal(attn_array_list_read("a.safetensors", &list, NULL), ATTN_OK);
  assert_int_equal(list.count, 3);
  for (int n = 0; n < 3; n++) {
    const attn_array_entry *e = &list.entry[n];
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s %s %d %d; ", e->name, e->type,
             e->rank, (int)e->bytes);
    assert_int_equal(e->offset % (e->dtype ? 4 : 1), 0); /* aligned to its size */
  }
  assert_string_equal(text, "x F32 3 96; y F32 3 96; odd F8_E4M3 1 3; ");
  attn_array_list_free(&list);
  attn_array_list_free(&list);
  expect_numbers("a.safetensors:x", 2, 3, 4);
  expect_numbers("a.safetensors:y", 2, 3, 4);
  assert_int_equal(attn_array_read("a.safetensors:odd", &a, NULL), ATTN_ERR_TYPE);
  f = fopen("a.safetensors", "rb");
  m.size = fread(m.at, 1, sizeof m.at - 1, f);
  fclose(f);
  m.at[m.size] = 0;
  assert_non_null(strstr((char *)m.at + 8, "\"by\":\"us\""));
  assert_memory_equal(m.at + m.size - 3, "xyz", 3);
  assert_int_equal(files(), 1);
}

/* Adding a tensor waits until another writer of the file is done. */
static _Atomic int is_done;

static void *end_soon(void *lock) {
  usleep(50000);
  is_done = 1;
  attn_lock_end(lock);
  return NULL;
}

static void a_tensor_is_added_when_others_are_done(void **state) {
  (void)state;
  struct attn_lock lock;
  pthread_t thread;
  char target[4200];
  fill();
  is_done = 0;
  snprintf(target, sizeof target, "%s/x.safetensors", folder);
  assert_int_equal(attn_lock_begin(&lock, target, 0, NULL), ATTN_OK);
  assert_int_equal(pthread_create(&thread, NULL, end_soon, &lock), 0);
  assert_int_equal(attn_array_write("x.safetensors:a", &tensor, NULL), ATTN_OK);
  assert_true(is_done);
  pthread_join(thread, NULL);
  assert_int_equal(files(), 1);
}

static void an_npy_file_is_listed(void **state) {
  (void)state;
  attn_array_list list;
  fill();
  assert_int_equal(attn_array_write("x.npy", &tensor, NULL), ATTN_OK);
  assert_int_equal(attn_array_list_read("x.npy", &list, NULL), ATTN_OK);
  assert_int_equal(list.count, 1);
  assert_string_equal(list.entry[0].name, "");
  assert_string_equal(list.entry[0].type, "<f4");
  assert_int_equal(list.entry[0].shape[2], 4);
  assert_int_equal(list.entry[0].bytes, 96);
  attn_array_list_free(&list);
}

/* For every error, after any number of valid entries, each function that opens the file reports it
 * and leaves the list empty. */
static void a_header_that_is_refused_lists_nothing(void **state) {
  (void)state;
#define SOUND "\"%c\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},"
  static const char *const wrong[] = {
      "1}",
      "{}}",
      "{\"dtype\":1,\"shape\":[0],\"data_offsets\":[0,0]}}",
      "{\"dtype\":\"U8\",\"shape\":0,\"data_offsets\":[0,0]}}",
      "{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,1]}}",
      "{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},\"__metadata__\":[]}"};
  const attn_tensor one = {numbers, ATTN_F32, 1, {1}, {1}};
  const char *const path = "x.safetensors:x";
  for (size_t n = 0; n < 3 * sizeof wrong / sizeof *wrong; n++) {
    static struct made m;
    char header[400] = "{";
    for (size_t k = 0; k < n % 3; k++) sprintf(header + strlen(header), SOUND, (int)('a' + k));
    sprintf(header + strlen(header), "\"z\":%s", wrong[n / 3]);
    m.size = 0;
    add_length(&m, strlen(header), 8);
    add(&m, header, strlen(header));
    assert_int_equal(attn_file_write("x.safetensors", m.at, m.size, NULL), ATTN_OK);
    attn_array_list list = {7, NULL};
    attn_array array;
    assert_int_equal(attn_array_list_read("x.safetensors", &list, NULL), ATTN_ERR_FORMAT);
    assert_int_equal(list.count, 0);
    assert_null(list.entry);
    attn_array_list_free(&list);
    assert_int_equal(attn_array_read("x.safetensors:z", &array, NULL), ATTN_ERR_FORMAT);
    assert_null(array.memory);
    assert_int_equal(attn_array_outputs_check(&path, 1, NULL), ATTN_ERR_FORMAT);
    assert_int_equal(attn_array_write(path, &one, NULL), ATTN_ERR_FORMAT);
  }
}

/* Outputs that must be rejected, and files that must then be unchanged. */
static void impossible_outputs_are_refused(void **state) {
  (void)state;
  attn_tensor half = {numbers, ATTN_BF16, 1, {4}, {1}}, odd = {numbers, (attn_dtype)7, 1, {4}, {1}};
  attn_tensor negative = {numbers, ATTN_F32, 1, {-4}, {1}}, nothing = {NULL, ATTN_F32, 1, {4}, {1}};
  fill();
  const struct {
    const char *path;
    const attn_tensor *tensor;
    attn_status status;
  } bad[] = {{"x.npy", &half, ATTN_ERR_TYPE},
             {"x.npy", &odd, ATTN_ERR_TYPE},
             {"x.npy", NULL, ATTN_ERR_TYPE},
             {"x.npy", &negative, ATTN_ERR_SHAPE},
             {"x.npy", &nothing, ATTN_ERR_ARGUMENT},
             {"x.safetensors", &tensor, ATTN_ERR_ARGUMENT},
             {"x.safetensors:", &tensor, ATTN_ERR_ARGUMENT},
             {"x.safetensors:__metadata__", &tensor, ATTN_ERR_ARGUMENT},
             {"x.safetensors:\xff", &tensor, ATTN_ERR_ARGUMENT},
             {"x.safetensors:\xe3\x81", &tensor, ATTN_ERR_ARGUMENT},
             {"", &tensor, ATTN_ERR_FILE},
             {"none/x.npy", &tensor, ATTN_ERR_FILE},
             {"x.npy/", &tensor, ATTN_ERR_FILE},
             {".", &tensor, ATTN_ERR_FILE},
             {"/dev/null", &tensor, ATTN_ERR_FILE},
             {"/dev/full", &tensor, ATTN_ERR_FILE}};
  for (size_t n = 0; n < sizeof bad / sizeof *bad; n++) {
    attn_error err;
    attn_status status = attn_array_write(bad[n].path, bad[n].tensor, &err);
    if (status != bad[n].status) fail_msg("%s: %s", bad[n].path, attn_status_name(status));
    assert_int_equal(err.status, status);
    assert_true(err.message[0]);
    assert_int_equal(files(), 0);
  }
  struct stat info;
  assert_int_equal(stat("/dev/null", &info), 0);
  assert_true(S_ISCHR(info.st_mode));
}

static void two_outputs_of_one_name_are_refused(void **state) {
  (void)state;
  fill();
  const attn_array_output same[][2] = {
      {{"x.npy", &tensor}, {"./x.npy", &tensor}},
      {{"x.safetensors:a", &tensor}, {"x.safetensors:a", &tensor}}};
  for (int n = 0; n < 2; n++) {
    assert_int_equal(attn_array_write_all(same[n], 2, NULL), ATTN_ERR_ARGUMENT);
    assert_int_equal(files(), 0);
  }
  assert_int_equal(attn_array_write_all(same[0], 17, NULL), ATTN_ERR_ARGUMENT);
  assert_int_equal(attn_array_write_all(same[0], -1, NULL), ATTN_ERR_ARGUMENT);
}

static void one_bad_output_leaves_none(void **state) {
  (void)state;
  fill();
  const attn_array_output outputs[] = {
      {"x.npy", &tensor}, {"x.safetensors:a", &tensor}, {"none/y.npy", &tensor}};
  assert_int_equal(attn_array_write_all(outputs, 3, NULL), ATTN_ERR_FILE);
  assert_int_equal(files(), 0);
}

static void a_broken_file_is_not_extended(void **state) {
  (void)state;
  struct stat info;
  fill();
  FILE *f = fopen("x.safetensors", "wb");
  fputs("no header at all", f);
  fclose(f);
  assert_int_equal(attn_array_write("x.safetensors:a", &tensor, NULL), ATTN_ERR_FORMAT);
  assert_int_equal(stat("x.safetensors", &info), 0);
  assert_int_equal(info.st_size, 16);
  assert_int_equal(files(), 1);
}

static void links_and_permissions_stay(void **state) {
  (void)state;
  struct stat info;
  fill();
  mode_t mask = umask(027);
  assert_int_equal(attn_array_write("real.npy", &tensor, NULL), ATTN_OK);
  umask(mask);
  assert_int_equal(stat("real.npy", &info), 0);
  assert_int_equal(info.st_mode & 0777, 0640);
  assert_int_equal(chmod("real.npy", 0604), 0);
  assert_int_equal(symlink("real.npy", "link.npy"), 0);
  assert_int_equal(attn_array_write("link.npy", &tensor, NULL), ATTN_OK);
  assert_int_equal(lstat("link.npy", &info), 0);
  assert_true(S_ISLNK(info.st_mode));
  assert_int_equal(stat("real.npy", &info), 0);
  assert_int_equal(info.st_mode & 0777, 0604);
}

static void unreadable_names_are_refused(void **state) {
  (void)state;
  attn_array a;
  attn_error err;
  assert_int_equal(mkfifo("pipe.npy", 0600), 0);
  static const char *const paths[] = {"none.npy",           ".", "pipe.npy", "/dev/zero",
                                      "none.safetensors:a", ""};
  for (size_t n = 0; n < sizeof paths / sizeof *paths; n++) {
    assert_int_equal(attn_array_read(paths[n], &a, &err), ATTN_ERR_FILE);
    assert_null(a.memory);
    assert_true(err.message[0]);
  }
}

/* Every call that can fail fails in turn; the file is complete or absent. */
static int write_two(void) {
  const attn_array_output outputs[] = {
      {"x.npy", &tensor}, {"x.safetensors:a", &tensor}, {"x.safetensors:b", &tensor}};
  return (int)attn_array_write_all(outputs, 3, NULL);
}

/* The file is complete or absent. */
static void expect_whole(const char *path, int *in_place) {
  attn_array a;
  attn_status status = attn_array_read(path, &a, NULL);
  if (status == ATTN_ERR_FILE) return;
  assert_int_equal(status, ATTN_OK);
  assert_memory_equal(a.tensor.data, numbers, sizeof numbers);
  attn_array_free(&a);
  ++*in_place;
}

static void fail_each(enum fault_kind kind, attn_status expected, int too_late) {
  int late = 0;
  for (int fail_at = 1;; fail_at++) {
    faults_begin(kind, fail_at);
    int status = write_two(), calls = faults_end(), in_place = 0;
    assert_int_equal(faults_blocks(), 0);
    if (calls < fail_at) {
      assert_int_equal(status, ATTN_OK);
      assert_true(fail_at > 8);
      assert_int_equal(late, too_late);
      assert_int_equal(files(), 2);
      each_file(remove);
      return;
    }
    assert_int_equal(status, expected);
    expect_whole("x.npy", &in_place);
    expect_whole("x.safetensors:b", &in_place);
    assert_int_equal(files(), (in_place > 0) + (in_place > 1)); /* no temporary file is left */
    late += in_place > 0;
    each_file(remove);
  }
}

static void each_call_may_fail(void **state) {
  (void)state;
  fill();
  fail_each(FAULT_MEMORY, ATTN_ERR_MEMORY, 0);
  /* Once the first is renamed into place, three calls come too late for it: its folder's fsync, the
   * other's rename and fsync. */
  fail_each(FAULT_WRITE, ATTN_ERR_FILE, 3);
}

static void each_read_may_fail(void **state) {
  (void)state;
  fill();
  assert_int_equal(write_two(), ATTN_OK);
  static const char *const paths[] = {"x.npy", "x.safetensors:b"};
  for (int n = 0; n < 2; n++) {
    for (int fail_at = 1;; fail_at++) {
      attn_array a;
      faults_begin(FAULT_READ, fail_at);
      attn_status status = attn_array_read(paths[n], &a, NULL);
      int calls = faults_end();
      attn_array_free(&a);
      assert_int_equal(faults_blocks(), 0);
      if (calls < fail_at) {
        assert_int_equal(status, ATTN_OK);
        assert_true(fail_at > 10);
        break;
      }
      assert_int_equal(status, ATTN_ERR_FILE);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define IN_FOLDER(f) cmocka_unit_test_setup_teardown(f, enter, leave)
      IN_FOLDER(any_strides_are_written_in_order),
      IN_FOLDER(large_pieces_and_small_ones_keep_their_order),
      IN_FOLDER(a_safetensors_file_keeps_its_others),
      IN_FOLDER(a_tensor_is_added_when_others_are_done),
      IN_FOLDER(an_npy_file_is_listed),
      IN_FOLDER(a_header_that_is_refused_lists_nothing),
      IN_FOLDER(impossible_outputs_are_refused),
      IN_FOLDER(two_outputs_of_one_name_are_refused),
      IN_FOLDER(one_bad_output_leaves_none),
      IN_FOLDER(a_broken_file_is_not_extended),
      IN_FOLDER(links_and_permissions_stay),
      IN_FOLDER(unreadable_names_are_refused),
      IN_FOLDER(each_call_may_fail),
      IN_FOLDER(each_read_may_fail),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
