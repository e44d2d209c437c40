/* replaced as the room is built */ typedef int attn_empty_kernel;
