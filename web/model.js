// A model: a text goes to the worker, and what the model generates comes back, with its attention as a page.
const text = part('text')
const TYPING_MS = 150 // a pause, after which the model runs

let checkpoint = null // {bytes, name}
let timer = null

const first = () => ({...checkpoint, language: document.documentElement.lang})
const isAsked = () => !checkpoint || text.value
const present = ({status}) => { report.dataset.status = status ? '1' : '' }

function ask() {
  clearTimeout(timer)
  if (!module || !checkpoint) return
  if (text.value) return request({text: text.value, language: document.documentElement.lang})
  if (isBusy) start()
  report.hidden = part('marked').hidden = true
  show('ready')
}

function use(bytes, name) {
  checkpoint = {bytes, name}
  part('name').textContent = name
  if (module) start()
  if (text.value) ask()
}

const open = async file => use(new Uint8Array(await file.arrayBuffer()), file.name)

function paste(content) {
  text.value = content
  ask()
}

const setLanguage = () => { if (text.value) ask() }

text.addEventListener('input', () => {
  clearTimeout(timer)
  timer = setTimeout(ask, TYPING_MS)
})
const own = part('checkpoint')
if (own.textContent) use(decoded(own.textContent), own.dataset.name)
begin(() => { checkpoint ? ask() : show('empty') })
