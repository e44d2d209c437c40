// The page: a document goes to the worker, and what the command would print comes back.
const part = id => document.getElementById(id)
const text = part('text'), report = part('report')
const lessons = JSON.parse(part('lessons').textContent)
const workerAddress = URL.createObjectURL(new Blob([part('worker').textContent], {type: 'text/javascript'}))
const TYPING_MS = 200 // a pause, after which the text is checked

let module, worker
let current = null // {bytes, name} of the document
let isBusy = false
let timer = null, began = 0

function show(state) {
  for (const one of part('state').children) one.hidden = one.dataset.state !== state
}

// ---- The worker ----

function start() {
  worker?.terminate()
  isBusy = false
  worker = new Worker(workerAddress)
  worker.onmessage = ({data}) => answer(data)
  worker.onerror = event => { event.preventDefault(); show('unsupported') }
  worker.postMessage({module, sample: Object.values(lessons)[0]})
}

// What fits in the report: the command's width on a wide page, fewer columns on a phone.
function columns() {
  const ruler = part('ruler'), room = text.clientWidth - 2 * parseFloat(getComputedStyle(text).paddingLeft) - 8
  return Math.max(20, Math.min(80, Math.floor(room / ruler.getBoundingClientRect().width * ruler.textContent.length)))
}

// isSame: the worker has read the document already.
function ask(isSame) {
  clearTimeout(timer)
  if (!module || !current) return
  const isKept = isSame && !isBusy && !report.hidden
  if (isBusy) start()
  began = performance.now()
  isBusy = true
  setTimeout(() => { if (isBusy) show('busy') }, 150)
  worker.postMessage({bytes: isKept ? null : current.bytes, name: current.name, width: columns(),
    mode: part('mode-check').checked ? 'check' : 'explain', language: document.documentElement.lang})
}

function answer({state, status, text, page}) {
  if (state === 'ready' && current) return
  if (state && state !== 'failed') return show(state)
  isBusy = false
  report.hidden = part('marked').hidden = true
  if (state) {
    start()
    return show(state)
  }
  for (const one of document.querySelectorAll('[data-state=done] output')) one.textContent = Math.ceil(performance.now() - began)
  show('done')
  report.textContent = text
  report.dataset.status = part('mode-check').checked ? status : ''
  report.hidden = false
  if (page) showPage(page)
}

// The report and the languages are outside the frame.
const inFrame = '<style>h1,.report,header{display:none}</style>'

// A new frame each time: another document in the same one would be an entry of the browser's history.
function showPage(page) {
  const frame = document.createElement('iframe')
  frame.sandbox = 'allow-scripts'
  frame.title = part('page').title
  frame.id = 'page'
  frame.srcdoc = page.replace('</head>', () => inFrame + '</head>')
  part('marked').hidden = false
  part('page').replaceWith(frame)
}

// ---- The document ----

function check(bytes, name) {
  current = {bytes, name}
  ask(false)
}

function checkText() {
  if (text.value.trim()) return check(new TextEncoder().encode(text.value), 'document.md')
  clearTimeout(timer)
  current = null
  if (isBusy) start()
  report.hidden = part('marked').hidden = true
  show('ready')
}

async function open(file) {
  const bytes = new Uint8Array(await file.arrayBuffer())
  text.value = new TextDecoder().decode(bytes)
  part('lesson').value = ''
  check(bytes, file.name)
}

// ---- Events ----

function setLanguage() {
  document.documentElement.lang = part('to-ja').checked ? 'ja' : 'en'
  ask(true)
}

text.addEventListener('input', event => {
  clearTimeout(timer)
  part('lesson').value = ''
  if (event.inputType?.startsWith('insertFromPaste')) checkText()
  else timer = setTimeout(checkText, TYPING_MS)
})
for (const name of ['to-ja', 'to-en']) part(name).addEventListener('change', setLanguage)
for (const name of ['mode-check', 'mode-explain']) part(name).addEventListener('change', () => ask(true))
part('open').addEventListener('click', () => part('file').click())
part('file').addEventListener('change', ({target}) => { if (target.files[0]) open(target.files[0]); target.value = '' })
part('clear').addEventListener('click', () => { text.value = part('lesson').value = ''; checkText(); text.focus() })
part('lesson').addEventListener('change', ({target}) => {
  text.value = lessons[target.value] ?? ''
  if (text.value) check(new TextEncoder().encode(text.value), target.value)
  else checkText()
})
for (const type of ['dragenter', 'dragover', 'dragleave', 'drop'])
  addEventListener(type, event => {
    event.preventDefault()
    document.body.classList.toggle('dropping', type === 'dragenter' || type === 'dragover')
    if (type !== 'drop') return
    const [file] = event.dataTransfer.files
    if (file) return open(file)
    text.value = event.dataTransfer.getData('text')
    checkText()
  })

// ---- Start ----

if (location.hash === '#ja' || (location.hash !== '#en' && navigator.language.startsWith('ja'))) part('to-ja').checked = true
setLanguage()
for (const name of Object.keys(lessons)) part('lesson').append(new Option(name))
WebAssembly.compile(Uint8Array.from(atob(part('module').textContent), c => c.charCodeAt(0))).then(compiled => {
  module = compiled
  start()
  if (text.value) checkText() // kept by the browser when the page is loaded again
}, () => show('unsupported'))
