// The controls of the changes, and the address that holds them: #weights-2-0?X-0-1=3&temperature=2.
const control = id => document.getElementById('x-' + id)
const allSteps = data.examples.flatMap(e => e.steps)
const ownDivisor = () => {
  const s = allSteps.find(one => one.op === 'divide')
  return s ? Number(s.scalar[0]) : 1
}
const rootOf = () => allSteps.find(one => one.op === 'divide')?.root ?? 0

// Rows that are one token each.
const hasOrder = s => s.op === 'given' && s.axes[0] && !s.axes[1] && s.rows > 1
const isEntryOf = (e, s) => isEntry({...s, from: s.from.map(n => e.steps[n])})
const entries = data.examples.flatMap(e => e.steps.filter(s => isEntryOf(e, s)))
const has = {
  scaled: allSteps.some(s => s.op === 'divide'), scale: entries.length > 0, temperature: entries.length > 0,
  causal: entries.some(s => s.rows === s.cols && s.rows > 1), other: entries.length > 0,
  plain: data.examples.some(e => e.steps.some(s => canBePlain({...s, from: s.from.map(n => e.steps[n])}))),
  order: allSteps.some(s => hasOrder(s)), by_dk: rootOf() > 1, forgotten: allSteps.some(s => s.op === 'divide'),
}

// A slip is a set of changes.
const slips = {unscaled: {forgotten: true}, by_dk: {scale: rootOf()}, columns: {other: true}, plain: {plain: true}}
const hasSlip = {unscaled: has.scaled, by_dk: has.by_dk, columns: has.other, plain: has.plain}
const isOn = slip => Object.entries(slips[slip]).every(([key, value]) => changes[key] === value)

const isCausal = () => {
  const masks = examples.flatMap(e => e.steps.filter(isMask).map(s => s.from[1]))
  return masks.length > 0 && masks.every(m => m.rows === m.cols && m.value.at.every((x, n) => {
    const i = Math.floor(n / m.cols), j = n % m.cols
    return (x !== 0) === (m.axes[0] === 'k' ? i <= j : j <= i)
  }))
}

function drawControls() {
  if (!isLive) return
  control('undo').disabled = !past.length
  control('redo').disabled = !future.length
  control('reset').disabled = !isChanged()
  control('scaled').checked = changes.scaled && !changes.forgotten
  control('causal').checked = isCausal()
  const down = data.examples.some(e => e.columns)
  control('axis-columns').checked = changes.other !== down
  control('axis-rows').checked = changes.other === down
  const scale = changes.scale ?? ownDivisor()
  control('scale').value = Math.log2(scale)
  control('scale').nextElementSibling.textContent = '÷ ' + number(scale)
  control('scale').disabled = !control('scaled').checked
  control('temperature').value = Math.log2(changes.temperature)
  control('temperature').nextElementSibling.textContent = number(changes.temperature)
  for (const button of document.querySelectorAll('[data-slip]')) button.setAttribute('aria-pressed', String(isOn(button.dataset.slip)))
}

// ---- The address ----

function addressOfChanges() {
  const query = new URLSearchParams()
  for (const [id, x] of Object.entries(changes.cells)) query.set(id, String(x))
  for (const [key, token] of Object.entries(changes.tokens)) query.set(key, token)
  for (const key of ['scale', 'temperature']) if (changes[key] !== unchanged()[key]) query.set(key, String(changes[key]))
  for (const key of ['scaled', 'forgotten', 'causal', 'other', 'plain']) if (changes[key] !== unchanged()[key]) query.set(key, changes[key] ? '1' : '0')
  return String(query)
}

let target = '' // the cell or step of the address
function writeAddress(to = target) {
  target = to
  const query = isLive ? addressOfChanges() : ''
  history.replaceState(null, '', location.href.replace(/#.*/s, '') + (target || query ? `#${target}${query ? '?' + query : ''}` : ''))
}

const bounded = (text, low, high) => {
  const x = parseNumber(text ?? '')
  return x !== null && x >= low && x <= high ? x : null
}

function changesOf(query) {
  const found = unchanged(), given = new Map(allSteps.filter(s => s.op === 'given').map(s => [s.id, s]))
  for (const [key, text] of new URLSearchParams(query)) {
    const cell = key.match(/^(.+)-(\d+)-(\d+)$/), token = key.match(/^([qk])\.(\d+)\.(\d+)$/), s = cell && given.get(cell[1])
    const x = parseNumber(text)
    if (cell && x !== null && (s ? cell[2] < s.rows && cell[3] < s.cols : cell[1].endsWith('mask'))) found.cells[key] = x
    else if (token && data.examples[token[2]]?.[token[1]]?.[token[3]] && displayable(text).trim()) found.tokens[key] = displayable(text).trim().slice(0, 40)
    else if (key === 'scale') found.scale = bounded(text, 0.01, 1024)
    else if (key === 'temperature') found.temperature = bounded(text, 0.01, 100) ?? 1
    else if (['scaled', 'forgotten', 'causal', 'other', 'plain'].includes(key) && has[key]) found[key] = text === '1'
  }
  return found
}

// The tokens and their given rows from the last to the first; what is as the document has it is no change.
function reversed() {
  const cells = {...changes.cells}, tokens = {...changes.tokens}
  const keep = (all, key, now, own) => now === own ? delete all[key] : all[key] = now
  data.examples.forEach((own, n) => {
    for (const s of examples[n].steps.filter(hasOrder))
      for (let i = 0; i < s.rows; i++)
        for (let j = 0; j < s.cols; j++)
          keep(cells, `${s.id}-${i}-${j}`, at(s.value, s.rows - 1 - i, j), own.steps.find(one => one.id === s.id).values[i * s.cols + j])
    for (const kind of ['q', 'k'])
      own[kind].forEach((token, k) => keep(tokens, `${kind}.${n}.${k}`, examples[n][kind].at(-1 - k), token))
  })
  return {cells, tokens}
}

// ---- Text to copy ----

function showText(title, text) {
  const dialog = control('text')
  dialog.querySelector('h2').replaceChildren(...[...title.childNodes].map(one => one.cloneNode(true)))
  dialog.querySelector('textarea').value = text
  dialog.querySelector('output').textContent = ''
  dialog.showModal()
  dialog.querySelector('textarea').select()
  dialog.querySelector('textarea').scrollTop = 0
}

async function copyText() {
  const area = control('text').querySelector('textarea')
  area.select()
  const done = await navigator.clipboard?.writeText(area.value).then(() => true, () => false) || document.execCommand('copy')
  if (done) control('text').querySelector('output').replaceChildren(...both(language => say(language, 'PAGE_COPIED')))
}

function share() {
  writeAddress()
  showText(control('share'), location.href)
}

// ---- Start ----

const octave = event => Number((2 ** Number(event.target.value)).toFixed(2))

function startControls() {
  for (const [id, act] of Object.entries({undo, redo, reset: () => set(unchanged()), reverse: () => set(reversed()), share, document: () => showText(control('document'), documentText()),
    copy: copyText, close: () => control('text').close()})) control(id).addEventListener('click', act)
  control('scaled').addEventListener('change', event => set({scaled: event.target.checked, forgotten: false}))
  control('causal').addEventListener('change', event => set({causal: event.target.checked}))
  const down = data.examples.some(e => e.columns)
  control('axis-rows').addEventListener('change', () => set({other: down}))
  control('axis-columns').addEventListener('change', () => set({other: !down}))
  control('scale').addEventListener('input', event => preview({...changes, scale: octave(event)}))
  control('temperature').addEventListener('input', event => preview({...changes, temperature: octave(event)}))
  for (const id of ['scale', 'temperature']) control(id).addEventListener('change', finish)
  for (const button of document.querySelectorAll('[data-slip]')) {
    const slip = button.dataset.slip
    button.hidden = !hasSlip[slip]
    button.addEventListener('click', () => set(isOn(slip)
      ? Object.fromEntries(Object.keys(slips[slip]).map(key => [key, unchanged()[key]])) : slips[slip]))
  }
  for (const part of document.querySelectorAll('[data-for]')) part.hidden = !has[part.dataset.for]
  control('share').hidden = location.protocol === 'about:' // within another page: no address to share
  document.querySelector('.live').hidden = false
  if (innerWidth < 720) document.querySelector('.live').open = false
}
