/* fuzz_checkpoint.c -- a checkpoint with any metadata is listed, opened, used and resumed, or
 * refused with an error. An input is four texts, each followed by NUL (configuration, tokenizer,
 * training, run), and then changes of the file: an offset of two bytes, and the value to add to the
 * byte there. The weights match the configuration, so that inputs reach beyond the check of the
 * tensors. */
#include "attn/train.h"
#include "checkpoint.h"
#include "opened.h"
#include "run_record.h"
#include "safetensors.h"
#include "weights.h"

enum { MAX_PARAMETERS = 1 << 13, MAX_LENGTH = 1 << 8, KINDS = 3, NAME = 80, MAX_TENSORS = 600 };

static const char *const kinds[KINDS] = {"", "adamw.m.", "adamw.v."};

/* The moments of AdamW are 0, as before the first step. */
static int write_file(const struct attn_network *n, float *weights, json_t *metadata) {
  static float zeros[MAX_PARAMETERS];
  static char names[MAX_TENSORS][NAME];
  static attn_tensor tensors[MAX_TENSORS];
  struct attn_named_tensor named[MAX_TENSORS];
  char path[1100];
  int count = 0;
  for (int k = 0; k < KINDS; k++)
    for (int p = 0; n && p < n->count && count < MAX_TENSORS; p++, count++) {
      snprintf(names[count], NAME, "%s%s", kinds[k], n->parameters[p].name);
      tensors[count] = attn_weights_tensor(&n->parameters[p], k ? zeros : weights);
      named[count] = (struct attn_named_tensor){names[count], &tensors[count]};
    }
  return !attn_safetensors_write(path_of(path, "c.safetensors"), NULL, named, count, metadata,
                                 NULL);
}

/* Includes the weights if they are few. Returns 0 if the metadata cannot be written. */
static int create_file(struct part config, json_t *metadata) {
  struct attn_model_config c;
  struct attn_network *n = NULL;
  float *weights = NULL;
  int64_t parameter_count = 0;
  int known = !attn_model_config_parse(config.text, config.length, &c, NULL);
  int small = known && !attn_network_count(&c, &parameter_count, NULL) &&
              parameter_count <= MAX_PARAMETERS &&
              (c.max_positions <= MAX_LENGTH || c.positions == ATTN_POSITIONS_NONE) &&
              c.num_heads * c.head_dim <= MAX_PARAMETERS;
  if (small) {
    MUST(!attn_network_allocate(&c, &n, &weights, NULL));
    attn_network_init_weights(n, 1);
  }
  int written = write_file(n, weights, metadata);
  attn_network_free(n), free(weights);
  return written;
}

static void damage(const uint8_t *data, size_t size) {
  char path[1100];
  FILE *f = fopen(path_of(path, "c.safetensors"), "r+b");
  MUST(f);
  for (; size >= 3; data += 3, size -= 3) {
    long at = data[0] | data[1] << 8;
    int byte = fseek(f, at, SEEK_SET) ? EOF : getc(f);
    if (byte == EOF || fseek(f, at, SEEK_SET)) continue;
    putc(byte + data[2], f);
  }
  fclose(f);
}

static int32_t stop(void *context, const attn_train_state *state) {
  int64_t *first = context;
  if (*first < 0) *first = state->step;
  return state->step > *first;
}

/* Reads the checkpoint as resume does, and trains a step if that is quick. */
static void resume(const char *path) {
  char output[1100];
  struct attn_trainer *t;
  struct attn_checkpoint c;
  struct attn_run_record record;
  attn_error err;
  int64_t first = -1;
  attn_train_config run = ATTN_TRAIN_CONFIG_INIT;
  if (attn_checkpoint_resume(path, 1, &t, &c, &err)) {
    MUST(err.message[0]);
    return;
  }
  attn_status status = attn_run_record_parse(c.run, &record, &err);
  int quick = !status && c.trainer.gradient_accumulation_steps * c.trainer.batch_size <= 16 &&
              record.max_validation_examples <= 16;
  attn_run_record_free(&record), attn_checkpoint_close(&c), attn_trainer_free(t);
  if (!quick) return;
  run.resume = path, run.output = path_of(output, "out.safetensors"), run.replace = 1;
  run.threads = 1, run.progress = stop, run.context = &first;
  status = attn_model_train(&run, NULL, &err);
  MUST(!status || err.message[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const names[] = {"config", "tokenizer", "training", "run"};
  char path[1100];
  struct part texts[4];
  json_t *metadata = json_object();
  for (int n = 0; n < 4; n++) {
    texts[n] = next_part(&data, &size);
    if (texts[n].length) /* NULL if not UTF-8 */
      json_object_set_new(metadata, names[n], json_stringn(texts[n].text, texts[n].length));
  }
  int created = create_file(texts[0], metadata);
  json_decref(metadata);
  if (!created) return 0;
  damage(data, size);
  path_of(path, "c.safetensors");
  use_model(path);
  resume(path);
  attn_array_list list;
  if (!attn_array_list_read(path, &list, NULL)) attn_array_list_free(&list);
  return 0;
}
