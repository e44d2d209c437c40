// The checker: a document goes to the worker, and what the command would print comes back.
const text = part('text')
const lessons = JSON.parse(part('lessons').textContent)
const TYPING_MS = 200 // a pause, after which the text is checked

let current = null // {bytes, name} of the document
let timer = null

const first = () => ({sample: Object.values(lessons)[0]})
const isAsked = () => current

function present({status}) { report.dataset.status = part('mode-check').checked ? status : '' }

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
  request({bytes: isKept ? null : current.bytes, name: current.name, width: columns(),
    mode: part('mode-check').checked ? 'check' : 'explain', language: document.documentElement.lang})
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

function paste(content) {
  text.value = content
  checkText()
}

const setLanguage = () => ask(true)

// ---- Events ----

text.addEventListener('input', event => {
  clearTimeout(timer)
  part('lesson').value = ''
  if (event.inputType?.startsWith('insertFromPaste')) checkText()
  else timer = setTimeout(checkText, TYPING_MS)
})
for (const name of ['mode-check', 'mode-explain']) part(name).addEventListener('change', () => ask(true))
part('clear').addEventListener('click', () => { text.value = part('lesson').value = ''; checkText(); text.focus() })
part('lesson').addEventListener('change', ({target}) => {
  text.value = lessons[target.value] ?? ''
  if (text.value) check(new TextEncoder().encode(text.value), target.value)
  else checkText()
})
for (const name of Object.keys(lessons)) part('lesson').append(new Option(name))
begin(() => { if (text.value) checkText() }) // kept by the browser when the page is loaded again
