// Pointing at a cell or moving to it by keyboard shows how it is computed, the cells that it is computed from, and
// those that it reaches.
const steps = () => [...document.querySelectorAll('.step')]
const workingLine = document.querySelector('.working')
let kept = null // the cell that stays chosen when the pointer leaves
let timer = null

// ---- Sources and reach ----

const cellAt = (s, i, j) => document.getElementById(`${s.id}-${i}-${j}`)

function markSources(e, s, row, col) {
  for (const [n, top, left, bottom, right] of sources(e, s, row, col))
    for (let i = top; i <= bottom; i++) for (let j = left; j <= right; j++) cellAt(s.from[n], i, j)?.classList.add('from')
}

// Marks what depends on a cell: directly, and over later steps. A masked weight is 0 whatever the scores are.
function markReach(e, s, row, col) {
  const reached = new Map([[s, new Set([row * s.value.cols + col])]])
  let count = 0
  for (const one of e.steps.slice(e.steps.indexOf(s) + 1)) {
    if (!one.from.some(from => reached.has(from))) continue
    const own = new Set()
    for (let i = 0; i < one.value.rows; i++)
      for (let j = 0; j < one.value.cols; j++) {
        const hits = sources(e, one, i, j).filter(([n, ...block]) => hasAny(reached.get(one.from[n]), one.from[n].value.cols, block))
        if (!hits.length || (s.name !== 'mask' && isHidden(one, i, j))) continue
        own.add(i * one.value.cols + j)
        cellAt(one, i, j)?.classList.add(hits.some(([n]) => one.from[n] === s) ? 'to' : 'reached')
      }
    if (own.size) reached.set(one, own)
    count += own.size
  }
  return {count, steps: [...reached.keys()].slice(1)}
}

function hasAny(cells, cols, [top, left, bottom, right]) {
  for (let i = top; cells && i <= bottom; i++) for (let j = left; j <= right; j++) if (cells.has(i * cols + j)) return true
  return false
}

function show(td) {
  for (const one of document.querySelectorAll('.from, .to, .reached, .chosen')) one.classList.remove('from', 'to', 'reached', 'chosen')
  workingLine.hidden = !td || !isLive
  if (!td || !isLive) return
  const {e, s} = stepOf(td), [row, col] = placeOf(td)
  td.classList.add('chosen')
  markSources(e, s, row, col)
  const reach = markReach(e, s, row, col)
  workingLine.querySelector('.how').replaceChildren(...both(language => working(e, s, row, col, language)))
  workingLine.querySelector('.reach').replaceChildren(...both(language => reach.count
    ? say(language, 'PAGE_REACHES', reach.count, reach.steps.map(one => one.symbol).join(say(language, 'COMMA')))
    : say(language, 'PAGE_REACHES_NOTHING')))
}

function keep(td) {
  kept = td
  show(td)
  document.documentElement.style.setProperty('--bar', `${workingLine.offsetHeight}px`) // it must not cover the controls
  writeAddress(td ? td.id : '')
}

// ---- Moving ----

// One cell of each table can be reached by Tab; arrow keys move on.
function enter(td) {
  for (const one of td.closest('table').querySelectorAll('td[tabindex="0"]')) one.tabIndex = -1
  td.tabIndex = 0
  td.focus()
}

function neighbour(td, key) {
  const row = td.parentElement, all = [...row.querySelectorAll('td[id]')], at = all.indexOf(td)
  if (key === 'ArrowLeft') return all[at - 1]
  if (key === 'ArrowRight') return all[at + 1]
  const other = key === 'ArrowUp' ? row.previousElementSibling : row.nextElementSibling
  return other ? other.querySelectorAll('td[id]')[at] : undefined
}

// Of steps side by side, the first.
function current() {
  const tops = steps().map(step => step.getBoundingClientRect().top), below = tops.findIndex(top => top > innerHeight / 3)
  return tops.indexOf(tops[below === -1 ? tops.length - 1 : Math.max(below - 1, 0)])
}

function mark() {
  const now = steps()[current()]?.id
  for (const link of document.querySelectorAll('.rail a'))
    link.classList.toggle('now', link.hash === '#' + now)
}

let last = 0 // the step that "next" continues from
function go(by) {
  last = Math.min(Math.max(last + by, 0), steps().length - 1)
  const step = steps()[last]
  step.scrollIntoView({block: 'start'})
  step.focus({preventScroll: true})
  writeAddress(step.id)
  return last
}

function play(on) {
  clearInterval(timer)
  timer = on ? setInterval(() => { if (go(1) === steps().length - 1) play(false) }, 4000) : null
  document.getElementById('play').setAttribute('aria-pressed', String(Boolean(on)))
}

// ---- Events ----

const cellOf = event => event.target.closest?.('.step td[id]')
story.addEventListener('pointerover', event => { if (event.pointerType !== 'touch' && !before) show(cellOf(event) ?? kept) })
story.addEventListener('pointerleave', () => { if (!before) show(kept) })
story.addEventListener('focusin', event => { if (cellOf(event) && !before) show(cellOf(event)) })
story.addEventListener('focusout', () => { if (!before) show(kept) })
story.addEventListener('click', event => {
  const td = cellOf(event), th = event.target.closest('.step th')
  if (event.target.matches('input')) return
  if (td && isEditable(td)) { enter(td); keep(td); editCell(td) }
  else if (td) { enter(td); keep(kept === td ? null : td) }
  else if (th && tokenKey(th)) editToken(th)
})

function pressCell(td, event) {
  const editable = isEditable(td)
  if (event.key.startsWith('Arrow')) { const next = neighbour(td, event.key); if (next) enter(next) }
  else if (editable && (event.key === 'Enter' || event.key === 'F2')) { keep(td); editCell(td) }
  else if (editable && /^[-+.0-9]$/.test(event.key)) { keep(td); editCell(td, event.key) }
  else if (event.key === 'Enter' || event.key === ' ') keep(kept === td ? null : td)
  else return false
  return true
}

function press(event) {
  const td = event.target.closest('td[id]'), th = event.target.closest('th[tabindex]')
  if (event.key === 'Escape') keep(null)
  else if (td && pressCell(td, event)) return true
  else if (th && (event.key === 'Enter' || event.key === 'F2')) editToken(th)
  else if (event.key === 'ArrowLeft') go(-1)
  else if (event.key === 'ArrowRight') go(1)
  else return false
  return true
}

document.addEventListener('keydown', event => {
  if (event.target.matches('input, textarea, summary') || control('text').open) return
  const modified = event.ctrlKey || event.metaKey, key = event.key.toLowerCase()
  if (isLive && modified && !event.altKey && (key === 'z' || key === 'y')) {
    event.preventDefault()
    return key === 'y' || event.shiftKey ? redo() : undo()
  }
  if (!event.altKey && !modified && press(event)) event.preventDefault()
})
document.getElementById('previous').addEventListener('click', () => go(-1))
document.getElementById('next').addEventListener('click', () => go(1))
document.getElementById('play').addEventListener('click', () => play(!timer))
document.addEventListener('scroll', mark, {passive: true})
for (const scrolling of ['wheel', 'touchmove']) // by the reader, unlike the scrolling of go()
  document.addEventListener(scrolling, () => { last = current() }, {passive: true})
addEventListener('hashchange', follow)

// "#scores-0-2" is a cell, "#scores" a step; changes follow a question mark.
function follow() {
  const [id, query] = location.hash.slice(1).split(/\?(.*)/s)
  if (isLive && query !== undefined) {
    const next = changesOf(query)
    if (JSON.stringify(next) !== JSON.stringify(changes)) past.push(changes), future = [], changes = next, draw()
  }
  target = decodeURIComponent(id)
  const found = document.getElementById(target)
  if (found?.matches('.step td[id]')) { kept = found; enter(found); show(found); found.scrollIntoView({block: 'center'}) }
  else if (steps().includes(found)) { last = steps().indexOf(found); if (query !== undefined) found.scrollIntoView() }
  if (isLive && query === undefined) writeAddress()
}

for (const td of document.querySelectorAll('.step td[id]'))
  td.tabIndex = td.matches('tbody tr:first-child td:nth-child(2)') ? 0 : -1
for (const part of document.querySelectorAll('.controls')) part.hidden = false
document.querySelector('.hint').hidden = !isLive
document.querySelector('.still').hidden = isLive
if (isLive) {
  startControls()
  draw()
}
follow()
past = []
if (isLive) drawControls()
mark()
