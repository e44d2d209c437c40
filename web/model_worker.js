// Answers the page of a model, in a thread of its own.
let model

async function begin({module, bytes, name, language}) {
  if (bytes) model = await openModel(module, bytes, name)
  if (!bytes || model.isOpen) return postMessage({state: 'ready'})
  postMessage({status: 2, text: model.run('', language).output, page: ''})
}

onmessage = async ({data}) => {
  try {
    if (data.module) return await begin(data)
    const {status, text, output} = model.run(data.text, data.language)
    postMessage({status, text: status ? output : text, page: status ? '' : output})
  } catch (error) {
    postMessage({state: !data.module ? 'failed' : error instanceof RangeError ? 'large' : 'unsupported'})
  }
}
