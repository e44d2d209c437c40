// Answers the page, in a thread of its own: a long reading does not block the page, and can be ended.
let module, document

// Reads a lesson before the first document: the browser compiles what runs.
async function begin(data) {
  module = data.module
  const sample = await openDocument(module, new TextEncoder().encode(data.sample), '')
  for (const output of outputs) sample.write(output, 'en')
  postMessage({state: 'ready'})
}

onmessage = async ({data}) => {
  try {
    if (data.module) return await begin(data)
    if (data.bytes) {
      document = null
      document = await openDocument(module, data.bytes, data.name)
    }
    const text = document.write(data.mode, data.language, data.width)
    const page = document.write(data.mode + 'Page', data.language) // or why there is none
    postMessage({status: text.status, text: text.text, page: page.text.startsWith('<!DOCTYPE') ? page.text : ''})
  } catch {
    document = null
    postMessage({state: data.module ? 'unsupported' : 'failed'})
  }
}
