// What the reader changes, and the page that follows: changes -> steps -> tables, formulas, sentences, arrows.
const unchanged = () => ({cells: {}, tokens: {}, scaled: true, forgotten: false, scale: null, temperature: 1, causal: null, other: false, plain: false})
const isLive = data.examples.length > 0 && data.examples.every(e => e.steps.every(s => isKnown(s.op)))
const story = document.querySelector('.story')
let changes = unchanged(), examples = []
let past = [], future = [], before = null // before: the changes when an edit began that is not finished

const isChanged = () => JSON.stringify(changes) !== JSON.stringify(unchanged())

// ---- Steps ----

// Of an example n; kinds: "q", "k", or both where queries and keys are the same tokens.
const tokensWith = (own, kinds, n) => own.map((token, k) =>
  kinds.map(kind => changes.tokens[`${kind}.${n}.${k}`]).find(Boolean) ?? token)


function applyCells(s) {
  if (s.op !== 'given') return
  s.value = matrix(s.value.rows, s.value.cols, (i, j) => changes.cells[`${s.id}-${i}-${j}`] ?? at(s.value, i, j))
}

function build(source, n) {
  const alike = String(source.q) === String(source.k)
  const e = {...source, q: tokensWith(source.q, alike ? ['q', 'k'] : ['q'], n), k: tokensWith(source.k, alike ? ['k', 'q'] : ['k'], n)}
  e.steps = source.steps.map(s => ({...s, scalar: Number(String(s.scalar[0]).replace('inf', 'Infinity'))}))
  for (const s of e.steps) {
    s.from = s.from.map(k => e.steps[k])
    if (s.values) s.value = matrix(s.rows, s.cols, (i, j) => Number(String(s.values[i * s.cols + j]).replace('inf', 'Infinity')))
  }
  change(e, changes)
  e.steps.forEach(applyCells)
  for (const s of e.steps) s.value = evaluate(s)
  const rank = s => s.op !== 'given' ? 2 : s.added ? 1 : 0
  e.shown = e.steps.toSorted((a, b) => rank(a) - rank(b))
  return e
}

// ---- Elements ----

function element(tag, properties, ...children) {
  const one = Object.assign(document.createElement(tag), properties)
  one.append(...children)
  return one
}

const both = write => [0, 1].map(language => element('span', {lang: language ? 'ja' : 'en'}, write(language)))

function headingOf(s, number) {
  const name = language => `${number}. ${s.title[language]}` +
    (s.head < 0 ? '' : say(language, 'COMMA') + say(language, 'HEAD', s.head + 1))
  const axes = s.axes[0] === 'q' ? 'AXES_QUERY_KEY' : 'AXES_KEY_QUERY'
  const size = language => `${say(language, 'OPEN_BRACKET').trim()}${s.value.rows}×${s.value.cols}` +
    (isScorelike(s) ? say(language, 'SEMICOLON') + say(language, axes) : '') + say(language, 'CLOSE_BRACKET')
  const right = formula(s), parts = right ? [formulaElement('='), formulaElement(right)] : []
  return [...both(name), formulaElement(s.symbol), ...parts, element('span', {className: 'note'}, ...both(size))]
}

function drawHeading(section, s, number) {
  const key = [number, s.symbol, formula(s), s.value.rows, s.value.cols].join()
  if (section.heading === key) return
  section.heading = key
  section.querySelector('h3').replaceChildren(...headingOf(s, number))
}

const header = (e, s, axis, n) => element('th', {scope: axis ? 'col' : 'row'}, tokenOf(e, s, axis, n) ?? String(n))

function makeTable(e, s) {
  const head = element('tr', {}, element('td')), body = element('tbody')
  for (let j = 0; j < s.value.cols; j++) head.append(header(e, s, 1, j))
  for (let i = 0; i < s.value.rows; i++) {
    const row = element('tr', {}, header(e, s, 0, i))
    for (let j = 0; j < s.value.cols; j++) row.append(element('td', {id: `${s.id}-${i}-${j}`, tabIndex: i + j ? -1 : 0}, ''))
    body.append(row)
  }
  return [element('thead', {}, head), body]
}

function drawCell(td, s, i, j) {
  const hidden = isHidden(s, i, j), text = hidden ? '–' : number(at(s.value, i, j))
  if (td.firstChild?.nodeName !== 'INPUT' && td.textContent !== text) td.textContent = text
  td.classList.toggle('hidden', hidden)
  td.classList.toggle('changed', td.id in changes.cells)
  td.classList.toggle('given', s.op === 'given')
  if (s.name === 'weights' && !hidden) td.style.setProperty('--w', fixed(at(s.value, i, j), 3))
  else if (s.op === 'positions') td.style.setProperty('--w', fixed((at(s.value, i, j) + 1) / 2, 3))
  else td.style.removeProperty('--w')
}

function drawTable(section, e, s) {
  const table = section.querySelector('table'), size = `${s.value.rows}×${s.value.cols}`
  if ((section.size ?? `${s.rows}×${s.cols}`) !== size) table.replaceChildren(...makeTable(e, s))
  section.size = size
  table.classList.toggle('vector', s.value.rows === 1 && s.value.cols > 16)
  for (const td of table.querySelectorAll('td[id]')) drawCell(td, s, ...placeOf(td))
  for (const axis of [0, 1])
    table.querySelectorAll(axis ? 'thead th' : 'tbody th').forEach((th, n) => {
      const text = tokenOf(e, s, axis, n) ?? String(n)
      if (th.firstChild?.nodeName !== 'INPUT' && th.textContent !== text) th.textContent = text
      const editable = s.op === 'given' && tokenOf(e, s, axis, n) !== null
      if (th.classList.toggle('token', editable)) th.tabIndex = 0
    })
}

function drawWords(section, lines) {
  const key = lines.flat().join('\n'), words = section.querySelector('.words')
  if (section.words === key) return
  section.words = key
  for (const p of words.querySelectorAll(':scope > p')) p.remove()
  words.prepend(...lines.flatMap((own, language) => own.map(text => element('p', {lang: language ? 'ja' : 'en'}, text))))
}

function makeSection(e, s) {
  const section = element('section', {className: 'step other added', id: s.id, tabIndex: -1}, element('h3'),
    element('div', {className: 'pair'}, element('div', {className: 'wide'}, element('table', {}, ...makeTable(e, s))),
      element('div', {className: 'words'})))
  section.size = `${s.value.rows}×${s.value.cols}`
  return section
}

// ---- Drawing ----

const placeOf = td => td.id.split('-').slice(-2).map(Number)
const stepOf = td => {
  const id = td.closest('.step').id
  for (const e of examples) for (const s of e.steps) if (s.id === id) return {e, s}
  return {}
}

function sectionOf(e, s, previous) {
  const section = document.getElementById(s.id) ?? makeSection(e, s)
  if (!section.isConnected) previous.after(section)
  return section
}

function linkOf(s, previous) {
  const links = [...document.querySelectorAll('.rail li')]
  const found = links.find(li => li.firstElementChild.hash === '#' + s.id)
  if (found) return found
  const link = element('a', {href: '#' + s.id, className: 'other', ariaLabel: s.symbol}, formulaElement(s.symbol)), li = element('li', {className: 'added'}, link)
  if (previous) previous.after(li)
  else document.querySelector('.rail ol').prepend(li)
  return li
}

function removeAdded() {
  const ids = new Set(examples.flatMap(e => e.steps.map(s => s.id)))
  for (const section of document.querySelectorAll('.step.added')) if (!ids.has(section.id)) section.remove()
  for (const li of document.querySelectorAll('.rail li.added')) if (!ids.has(li.firstElementChild.hash.slice(1))) li.remove()
}

function drawExample(e, place) {
  const explanations = [0, 1].map(language => ({e, language, query: followedQuery(e), done: new Set(), lines: []}))
  let section = [...place.children].filter(one => !one.matches('.step')).at(-1), link = null
  e.shown.forEach((s, n) => {
    section = sectionOf(e, s, section)
    link = linkOf(s, link)
    drawHeading(section, s, n + 1)
    drawTable(section, e, s)
    drawWords(section, explanations.map(t => { t.lines = []; explain(t, s); return t.lines }))
    if (section.querySelector('figure')) drawPlot(section.querySelector('figure'), e, s)
  })
}

function draw() {
  examples = data.examples.map(build)
  removeAdded()
  document.body.classList.toggle('edited', isChanged())
  examples.forEach((e, n) => drawExample(e, document.querySelectorAll('.example')[n]))
  drawControls()
  if (kept && !kept.isConnected) kept = null
  show(kept)
}

// ---- Changes, undo, redo ----

// An edit in progress is drawn; finish() makes it one step of undo.
function preview(next) {
  before ??= changes
  changes = next
  draw()
}

function finish() {
  if (before && JSON.stringify(before) !== JSON.stringify(changes)) past.push(before), future = []
  before = null
  drawControls()
  writeAddress()
}

function set(next) {
  preview({...changes, ...next})
  finish()
}

function travel(from, to) {
  if (!from.length) return
  to.push(changes)
  changes = from.pop()
  draw()
  writeAddress()
}
const undo = () => travel(past, future)
const redo = () => travel(future, past)

// ---- Editing a given number or a token in place ----

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,2})?$/i
function parseNumber(text) {
  const plain = text.normalize('NFKC').replace(/\u2212/g, '-').trim(), x = Number(plain)
  return NUMBER.test(plain) && Math.abs(x) <= 1e9 ? x : null
}

function withCell(td, x) {
  const cells = {...changes.cells, [td.id]: x}, {s} = stepOf(td), [i, j] = placeOf(td)
  const own = data.examples.flatMap(e => e.steps).find(one => one.id === s.id)?.values?.[i * s.cols + j]
  if (x === own && changes.causal === null) delete cells[td.id]
  return {...changes, cells}
}

function edit(place, text, apply) {
  const old = place.textContent
  const input = element('input', {value: text, className: 'editor', autocomplete: 'off', spellcheck: false})
  let open = true
  const close = (keep, focus) => {
    if (!open) return
    open = false
    if (!keep && before) changes = before, before = null
    place.replaceChildren(old)
    draw()
    finish()
    if (focus && place.tabIndex >= -1) place.focus()
  }
  const fit = () => { input.style.width = Math.max(3, width(input.value)) + 1 + 'ch' }
  fit()
  input.setAttribute('aria-label', place.id || old)
  input.addEventListener('input', fit)
  place.replaceChildren(input)
  input.addEventListener('input', () => input.setAttribute('aria-invalid', String(!apply(input.value, input))))
  input.addEventListener('blur', () => close(true, false))
  input.addEventListener('click', event => event.stopPropagation())
  input.addEventListener('keydown', event => {
    event.stopPropagation()
    if (event.key === 'Enter') close(true, true)
    if (event.key === 'Escape') close(false, true)
    if (event.key === 'Enter' || event.key === 'Escape') event.preventDefault()
    const step = {ArrowUp: 1, ArrowDown: -1}[event.key], x = parseNumber(input.value)
    if (!step || x === null || !place.id) return
    event.preventDefault()
    input.value = String(Number((x + step * (event.shiftKey ? 0.1 : 1)).toFixed(10)))
    input.dispatchEvent(new Event('input'))
  })
  input.focus()
  input.select()
}

const isEditable = td => isLive && td.matches('td[id]') && stepOf(td).s?.op === 'given'

function editCell(td, typed) {
  const {s} = stepOf(td), isBit = s.name === 'mask'
  edit(td, typed ?? String(at(s.value, ...placeOf(td))), (text) => {
    const x = parseNumber(text)
    if (x === null || (isBit && x !== 0 && x !== 1)) return false
    preview(withCell(td, x))
    return true
  })
  if (typed !== undefined) {
    const input = td.querySelector('input')
    input.dispatchEvent(new Event('input'))
    input.setSelectionRange(typed.length, typed.length)
  }
}

// The key in changes.tokens of a header cell, or null.
function tokenKey(th) {
  const {e, s} = stepOf(th), axis = th.scope === 'col' ? 1 : 0
  const n = [...th.closest('table').querySelectorAll(axis ? 'thead th' : 'tbody th')].indexOf(th)
  return isLive && s?.op === 'given' && tokenOf(e, s, axis, n) ? `${s.axes[axis]}.${examples.indexOf(e)}.${n}` : null
}

function editToken(th) {
  const key = tokenKey(th)
  edit(th, th.textContent, text => {
    const token = displayable(text).trim().slice(0, 40)
    if (token) preview({...changes, tokens: {...changes.tokens, [key]: token}})
    return Boolean(token)
  })
}
