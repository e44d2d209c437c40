// What the pages share: a worker that can be ended, the states, the frame of a page that the module writes, languages, files.
// A page defines first(), the first message of a worker; isAsked(), whether something waits for it; present(answer); setLanguage();
// open(file) and paste(text).
const part = id => document.getElementById(id)
const report = part('report')
const workerAddress = URL.createObjectURL(new Blob([part('worker').textContent], {type: 'text/javascript'}))

let module, worker
let isBusy = false
let began = 0

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
  worker.postMessage({module, ...first()})
}

function request(message) {
  if (isBusy) start()
  began = performance.now()
  isBusy = true
  setTimeout(() => { if (isBusy) show('busy') }, 150)
  worker.postMessage(message)
}

function answer(data) {
  if (data.state === 'ready' && isAsked()) return
  if (data.state && data.state !== 'failed') return show(data.state)
  isBusy = false
  report.hidden = part('marked').hidden = true
  if (data.state) {
    start()
    return show(data.state)
  }
  for (const one of document.querySelectorAll('[data-state=done] output')) one.textContent = Math.ceil(performance.now() - began)
  show('done')
  report.textContent = data.text
  present(data)
  report.hidden = false
  if (data.page) showPage(data.page)
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

// ---- Events ----

for (const name of ['to-ja', 'to-en']) part(name).addEventListener('change', changeLanguage)
part('open').addEventListener('click', () => part('file').click())
part('file').addEventListener('change', ({target}) => { if (target.files[0]) open(target.files[0]); target.value = '' })
for (const type of ['dragenter', 'dragover', 'dragleave', 'drop'])
  addEventListener(type, event => {
    event.preventDefault()
    document.body.classList.toggle('dropping', type === 'dragenter' || type === 'dragover')
    if (type !== 'drop') return
    const [file] = event.dataTransfer.files
    if (file) return open(file)
    paste(event.dataTransfer.getData('text'))
  })

// ---- Start ----

function changeLanguage() {
  document.documentElement.lang = part('to-ja').checked ? 'ja' : 'en'
  setLanguage()
}

const decoded = base64 => Uint8Array.from(atob(base64), c => c.charCodeAt(0))

function begin(then) {
  if (location.hash === '#ja' || (location.hash !== '#en' && navigator.language.startsWith('ja'))) part('to-ja').checked = true
  changeLanguage()
  WebAssembly.compile(decoded(part('module').textContent)).then(compiled => {
    module = compiled
    start()
    then()
  }, () => show('unsupported'))
}
