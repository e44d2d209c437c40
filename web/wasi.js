// What wasi-libc imports. There are no files and no environment: a write goes nowhere, and the time seeds a hash table.
function wasi(memory) {
  const badDescriptor = 8
  return {
    clock_time_get(clock, precision, at) {
      new DataView(memory().buffer).setBigUint64(at, BigInt(Date.now()) * 1000000n, true)
      return 0
    },
    environ_get: () => 0,
    environ_sizes_get(count, bytes) {
      new DataView(memory().buffer).setUint32(count, 0, true)
      new DataView(memory().buffer).setUint32(bytes, 0, true)
      return 0
    },
    fd_close: () => badDescriptor,
    fd_fdstat_get: () => badDescriptor,
    fd_pread: () => badDescriptor,
    fd_seek: () => badDescriptor,
    fd_write: () => badDescriptor,
    proc_exit() { throw new Error('exit') },
  }
}

// An instance of the module; throws where the memory does not suffice. copied(bytes, end): the address of a copy, with `end` zeros.
async function instantiate(module) {
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
  return {c, copied, string: text => copied(new TextEncoder().encode(text), 1),
    text: (at, bytes) => new TextDecoder().decode(new Uint8Array(c.memory.buffer, at, bytes))}
}
