/* cmd_info.c -- attn info: the machine, the kernels, models, tensor files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attn/model.h"
#include "command.h"
#include "console.h"
#include "help_files.h"
#include "json_output.h"
#include "model_info.h"

/* ---- Tensor files ---- */

/* The library's name of the type, or the file's if the library does not support it. */
static const char *type_name(const attn_array_entry *e) {
  return e->dtype ? attn_dtype_name((attn_dtype)e->dtype) : e->type;
}

static int is_optimizer_state(const attn_array_entry *e) { return !strncmp(e->name, "adamw.", 6); }

static void print_tensor_json(const char *file, const attn_array_entry *e) {
  attn_cli_json_begin_object(NULL);
  attn_cli_json_string("file", file);
  attn_cli_json_string("name", e->name);
  attn_cli_json_string("dtype", type_name(e));
  attn_cli_json_shape("shape", e->shape, e->rank);
  attn_cli_json_int("offset", e->offset);
  attn_cli_json_int("bytes", e->bytes);
  attn_cli_json_end_object();
}

static void print_tensor(const char *file, const attn_array_entry *e) {
  attn_cli_print_text(file, stdout);
  if (*e->name) putchar(':');
  attn_cli_print_text(e->name, stdout);
  printf(": ");
  attn_cli_print_text(type_name(e), stdout);
  putchar(' '), attn_cli_print_shape(e->shape, e->rank), putchar('\n');
}

/* Prints the tensors of a list, or those called name, optimizer state last. Returns how many. */
static int64_t print_list(const char *file, const char *name, const attn_array_list *list,
                          int json) {
  int64_t found = 0;
  for (int optimizer = 0; optimizer < 2; optimizer++)
    for (int64_t n = 0; n < list->count; n++) {
      const attn_array_entry *e = &list->entry[n];
      if ((name && strcmp(name, e->name)) || is_optimizer_state(e) != optimizer) continue;
      found++;
      (json ? print_tensor_json : print_tensor)(file, e);
    }
  return found;
}

static int print_tensors(const char *path, int json) {
  attn_array_list list;
  attn_error err;
  const char *name;
  size_t length = attn_array_path_split(path, &name);
  if (attn_array_list_read(path, &list, &err)) return attn_cli_report_error(path, &err);
  char *file = strndup(path, length);
  int64_t found = file ? print_list(file, name, &list, json) : 0;
  int failed = !file || (name && !found);
  if (!file)
    attn_cli_print_no_memory();
  else if (failed)
    attn_cli_print_error("%s has no tensor \"%s\"; attn info --tensors %s lists them", file, name,
                         file);
  else if (!list.count && !json)
    attn_cli_print_text(path, stdout), attn_cli_print_line(": no tensors");
  attn_array_list_free(&list);
  free(file);
  return failed ? EXIT_TROUBLE : EXIT_OK;
}

/* FILE:NAME is a tensor even if the file is a model. */
static int is_model(const char *path, int tensors) {
  const char *name;
  attn_array_path_split(path, &name);
  return !tensors && !name && attn_model_probe(path);
}

/* Prints the tensor files among paths, then the models. Returns the highest exit status. */
static int print_files(char **paths, int files, int tensors, int json) {
  int highest = EXIT_OK;
  if (json) attn_cli_json_begin_object(NULL), attn_cli_json_string("schema", "attn-info/1");
  for (int models = 0; models < 2; models++) {
    if (json) attn_cli_json_begin_array(models ? "models" : "tensors");
    for (int n = 0; n < files; n++) {
      if (is_model(paths[n], tensors) != models) continue;
      int status = models ? attn_info_print_model(paths[n], json) : print_tensors(paths[n], json);
      if (status > highest) highest = status;
    }
    if (json) attn_cli_json_end_array();
  }
  if (json) attn_cli_json_end_object(), attn_cli_json_end_line();
  return highest;
}

/* ---- The machine ---- */

enum { LABEL = 10 };

/* Begins a line: its name, to the column of the values. */
static void print_label(const char *name) { attn_cli_print_cell(name, -LABEL); }

static void print_environment(const char *name) {
  const char *value = getenv(name);
  if (!value) return;
  print_label("set"), printf("%s=", name);
  attn_cli_print_text(value, stdout), putchar('\n');
}

static void print_instruction_set(const attn_machine *m) {
  const char *isa = attn_isa_name(m->isa);
  const int threads = (int)m->threads;
  print_label("uses");
  if (m->isa_invalid)
    attn_cli_print_line("%s (ATTN_ISA is not available on this CPU: calls will fail), %d threads",
                        isa, threads);
  else if (m->isa != m->isa_best)
    attn_cli_print_line("%s (selected by ATTN_ISA), %d threads", isa, threads);
  else
    attn_cli_print_line("%s, the best of this CPU and this build, %d threads", isa, threads);
}

static void print_measured(double gflops, double gbytes, double bf16) {
  if (gflops > 0) {
    print_label("measured");
    attn_cli_print_line("%.1f GFLOP/s of float32 multiply-adds, %.1f GB/s read, one thread", gflops,
                        gbytes);
  }
  if (bf16 > 0) {
    print_label("");
    attn_cli_print_line("%.1f GFLOP/s of bf16 dot products", bf16);
  }
}

static void print_machine(const attn_machine *m, double gflops, double gbytes, double bf16) {
  print_label("attn");
  attn_cli_print_line("%s (header %d.%d.%d)", attn_version_string(), ATTN_VERSION_MAJOR,
                      ATTN_VERSION_MINOR, ATTN_VERSION_PATCH);
  print_label("cpu"), attn_cli_print_text(m->cpu, stdout), putchar('\n');
  print_label("features"), puts(m->features);
  print_instruction_set(m);
  print_environment("ATTN_ISA");
  print_environment("ATTN_THREADS");
  print_environment("ATTN_FASHION_MNIST");
  for (int n = 0; attn_kernel_describe(n); n++) {
    print_label(n ? "" : "kernels");
    attn_cli_print_line("%s", attn_kernel_describe(n));
  }
  print_measured(gflops, gbytes, bf16);
}

static void print_machine_json(const attn_machine *m, double gflops, double gbytes, double bf16) {
  attn_cli_json_begin_object(NULL);
  attn_cli_json_string("schema", "attn-info/1");
  attn_cli_json_string("version", attn_version_string());
  attn_cli_json_string("cpu", m->cpu);
  attn_cli_json_string("features", m->features);
  attn_cli_json_string("isa", attn_isa_name(m->isa));
  attn_cli_json_string("isa_best", attn_isa_name(m->isa_best));
  attn_cli_json_bool("isa_invalid", m->isa_invalid);
  attn_cli_json_int("threads", m->threads);
  attn_cli_json_begin_array("kernels");
  for (int n = 0; attn_kernel_describe(n); n++) attn_cli_json_string(NULL, attn_kernel_describe(n));
  attn_cli_json_end_array();
  if (gflops > 0) {
    attn_cli_json_number("gflops", gflops);
    attn_cli_json_number("gbytes", gbytes);
    attn_cli_json_number("bf16_gflops", bf16);
  }
  attn_cli_json_end_object(), attn_cli_json_end_line();
}

int attn_cmd_info(int argc, char **argv) {
  int measure = 0, tensors = 0, json = 0, files;
  const struct attn_cli_option table[] = {{"--tensors", OPTION_FLAG, &tensors, NULL},
                                          {"--measure", OPTION_FLAG, &measure, NULL},
                                          {"--json", OPTION_FLAG, &json, NULL}};
  const int ended = attn_cli_parse_options(argc, argv, info_txt, ATTN_CLI_TABLE(table), &files);
  if (ended >= 0) return ended;
  if (files) return print_files(argv + 1, files, tensors, json);
  attn_machine machine = {.struct_size = sizeof machine};
  double gflops = 0, gbytes = 0, bf16 = 0;
  attn_machine_query(&machine);
  if (measure && (attn_machine_measure(&gflops, &gbytes) || attn_machine_measure_bf16(&bf16)))
    return attn_cli_print_error("cannot measure: no memory, or ATTN_ISA is not available here");
  (json ? print_machine_json : print_machine)(&machine, gflops, gbytes, bf16);
  return EXIT_OK;
}
