// The checker: document.h in WebAssembly. Each document gets an instance of its own, so that one that runs out of memory or
// traps leaves nothing for the next.
const outputs = ['check', 'explain', 'checkPage', 'explainPage'] // enum attn_document_output

const compile = bytes => WebAssembly.compile(bytes)

// What wasi-libc imports. There are no files: a write goes nowhere, and the time seeds a hash table.
function wasi(memory) {
  const badDescriptor = 8
  return {
    clock_time_get(clock, precision, at) {
      new DataView(memory().buffer).setBigUint64(at, BigInt(Date.now()) * 1000000n, true)
      return 0
    },
    fd_close: () => badDescriptor,
    fd_seek: () => badDescriptor,
    fd_write: () => badDescriptor,
  }
}

// Reads and checks a document (bytes) under a file name. Throws where the memory or the stack does not suffice.
async function openDocument(module, bytes, name) {
  const instance = await WebAssembly.instantiate(module, {wasi_snapshot_preview1: wasi(() => c.memory)})
  const c = instance.exports
  const copied = (bytes, end) => {
    const at = c.malloc(bytes.length + end + 1)
    if (!at) throw new RangeError('no memory')
    new Uint8Array(c.memory.buffer).set(bytes, at)
    new Uint8Array(c.memory.buffer).fill(0, at + bytes.length, at + bytes.length + end)
    return at
  }
  c._initialize()
  const file = copied(new TextEncoder().encode(name), 1)
  const document = c.attn_document_open(copied(bytes, 0), bytes.length, file)
  if (!document) throw new RangeError('no memory')
  return {
    // {status, text}: the exit status and the output of the command
    write(output, language, width = 80) {
      const status = c.attn_document_write(document, outputs.indexOf(output), language === 'ja' ? 1 : 0, width)
      if (status < 0) throw new RangeError('no memory')
      const at = c.attn_document_output(document), end = at + c.attn_document_output_bytes(document)
      return {status, text: new TextDecoder().decode(new Uint8Array(c.memory.buffer, at, end - at))}
    },
  }
}
