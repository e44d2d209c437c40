// A model: live_model.h in WebAssembly. Throws where the memory does not suffice.
async function openModel(module, bytes, name) {
  const {c, copied, string, text} = await instantiate(module)
  const model = c.attn_live_model_open(copied(bytes, 0), bytes.length, string(name))
  if (!model) throw new RangeError('no memory')
  return {
    isOpen: c.attn_live_model_is_open(model) !== 0,
    // {status, text, output}: the exit status of the command, what the model generates, and the page or an error
    run(input, language) {
      const given = string(input), status = c.attn_live_model_run(model, given, language === 'ja' ? 1 : 0)
      c.free(given)
      if (status < 0) throw new RangeError('no memory')
      return {status, text: text(c.attn_live_model_text(model), c.attn_live_model_text_bytes(model)),
        output: text(c.attn_live_model_output(model), c.attn_live_model_output_bytes(model))}
    },
  }
}
