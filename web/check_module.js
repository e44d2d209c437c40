// The checker: document.h in WebAssembly. Each document gets an instance of its own, so that one that runs out of memory or
// traps leaves nothing for the next.
const outputs = ['check', 'explain', 'checkPage', 'explainPage'] // enum attn_document_output

// Reads and checks a document (bytes) under a file name. Throws where the memory or the stack does not suffice.
async function openDocument(module, bytes, name) {
  const {c, copied, string, text} = await instantiate(module)
  const document = c.attn_document_open(copied(bytes, 0), bytes.length, string(name))
  if (!document) throw new RangeError('no memory')
  return {
    // {status, text}: the exit status and the output of the command
    write(output, language, width = 80) {
      const status = c.attn_document_write(document, outputs.indexOf(output), language === 'ja' ? 1 : 0, width)
      if (status < 0) throw new RangeError('no memory')
      return {status, text: text(c.attn_document_output(document), c.attn_document_output_bytes(document))}
    },
  }
}
