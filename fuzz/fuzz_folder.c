/* fuzz_folder.c -- a model folder of Hugging Face's with any texts is opened and used, or refused
 * with an error. An input is the files of `names`, each followed by NUL; an empty one is missing.
 * The weights match config.json, so that inputs reach beyond the check of the tensors. */
#include "families.h"
#include "opened.h"

enum { MAX_PARAMETERS = 1 << 14, MAX_LENGTH = 1 << 10 };

static const char *const names[] = {"config.json",
                                    "tokenizer.json",
                                    "modules.json",
                                    "1_Pooling/config.json",
                                    "sentence_bert_config.json",
                                    "generation_config.json"};

/* The file is empty unless config.json describes a small model. */
static void write_weights(struct part json) {
  struct attn_model_config c;
  const struct attn_hf_family *f;
  struct attn_network *n = NULL;
  float *weights = NULL;
  int64_t numbers;
  char path[1100];
  put_file("model.safetensors", "", 0);
  if (attn_hf_config_parse(json.text, json.length, &c, &f, NULL) ||
      attn_network_count(&c, &numbers, NULL) || numbers > MAX_PARAMETERS ||
      c.max_positions > MAX_LENGTH || c.num_heads * c.head_dim > MAX_PARAMETERS)
    return;
  char *text = NULL;
  MUST(!attn_network_allocate(&c, &n, &weights, NULL));
  attn_network_init_weights(n, 1);
  attn_hf_weights_write(path_of(path, "model.safetensors"), f, n, NULL);
  attn_hf_config_write(f, &c, &text, NULL);
  attn_network_free(n), free(weights), free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[1100];
  struct part first = {"", 0};
  mkdir(path_of(path, "1_Pooling"), 0700);
  for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
    struct part p = next_part(&data, &size);
    if (n == 0) first = p;
    if (p.length)
      put_file(names[n], p.text, p.length);
    else
      remove_file(names[n]);
  }
  write_weights(first);
  use_model(folder);
  return 0;
}
