/* cmd_info.c -- attn info: the machine, the kernels, a tensor file. */
#include <stdio.h>
#include <string.h>

#include "attn/io.h"
#include "command.h"
#include "console.h"

static const char help[] =
    "attn info - the machine, the kernels, a tensor file\n\n"
    "usage: attn info [FILE...] [--measure] [--json]\n\n"
    "  --measure   the CPU's peak of fused multiply-adds and its memory bandwidth, one thread\n"
    "  --json      one object\n\n"
    "ATTN_ISA=scalar|avx2|avx512 chooses another instruction set, ATTN_THREADS=N the threads.\n\n"
    "examples:\n  attn info --measure\n  attn info q.npy model.safetensors:layer.0.q\n";

static int print_file(const char *path) {
  attn_array array;
  attn_error err;
  attn_status status = attn_array_read(path, &array, &err);
  if (status) return attn_cli_fail("info", status == ATTN_ERR_FILE ? NULL : path, &err);
  printf("%s: %s (", path, attn_dtype_name(array.tensor.dtype));
  for (int n = 0; n < array.tensor.rank; n++)
    printf("%s%lld", n ? ", " : "", (long long)array.tensor.shape[n]);
  printf(")\n");
  attn_array_free(&array);
  return EXIT_FINE;
}

static void print_text(const attn_machine *m, double gflops, double gbytes) {
  printf("attn      %s (header %d.%d.%d)\n", attn_version_string(), ATTN_VERSION_MAJOR,
         ATTN_VERSION_MINOR, ATTN_VERSION_PATCH);
  printf("cpu       %s\nhas       %s\n", m->cpu, m->features);
  printf("uses      %s%s, %d threads\n", attn_isa_name(m->isa),
         m->isa_unknown        ? " (ATTN_ISA names none that this CPU has: calls will fail)"
         : m->isa != m->isa_best ? " (asked for by ATTN_ISA)"
                                 : ", the best that this CPU and this build have",
         (int)m->threads);
  for (int n = 0; attn_kernel_describe(n); n++)
    printf("%s%s\n", n ? "          " : "kernels   ", attn_kernel_describe(n));
  if (gflops > 0)
    printf("measured  %.1f GFLOP/s of float32 multiply-adds, %.1f GB/s read, one thread\n", gflops,
           gbytes);
}

/* Names of CPUs are plain ASCII, yet a stray quote must not break the object. */
static void json_text(const char *text) {
  putchar('"');
  for (; *text; text++)
    if ((unsigned char)*text >= 0x20) printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
  putchar('"');
}

static void print_json(const attn_machine *m, double gflops, double gbytes) {
  printf("{\"schema\": \"attn-info/1\", \"version\": \"%s\", \"cpu\": ", attn_version_string());
  json_text(m->cpu);
  printf(", \"features\": ");
  json_text(m->features);
  printf(", \"isa\": \"%s\", \"isa_best\": \"%s\", \"threads\": %d", attn_isa_name(m->isa),
         attn_isa_name(m->isa_best), (int)m->threads);
  if (gflops > 0) printf(", \"gflops\": %.1f, \"gbytes\": %.1f", gflops, gbytes);
  printf("}\n");
}

int attn_cmd_info(int argc, char **argv) {
  int measure = 0, json = 0, wants_help = 0, files, status = EXIT_FINE;
  const struct attn_cli_option table[] = {{"--measure", OPTION_FLAG, &measure, NULL},
                                          {"--json", OPTION_FLAG, &json, NULL},
                                          {"--help", OPTION_FLAG, &wants_help, NULL},
                                          {"-h", OPTION_FLAG, &wants_help, NULL}};
  if (attn_cli_options(argc, argv, table, 4, &files)) return EXIT_TROUBLE;
  if (wants_help) return fputs(help, stdout), EXIT_FINE;
  for (int n = 1; n <= files; n++) {
    int one = print_file(argv[n]);
    if (one > status) status = one;
  }
  if (files) return status;
  attn_machine machine = {.struct_size = sizeof machine};
  double gflops = 0, gbytes = 0;
  attn_machine_query(&machine);
  if (measure && attn_machine_measure(&gflops, &gbytes)) {
    fprintf(stderr, "attn info: cannot measure: no memory, or ATTN_ISA names no instruction set\n");
    return EXIT_TROUBLE;
  }
  (json ? print_json : print_text)(&machine, gflops, gbytes);
  return EXIT_FINE;
}
