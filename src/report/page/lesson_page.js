// Each cell of a step has data-how, its computation, and data-from, the cells that it needs: ranges of
// "step.top.left.bottom.right". Pointing at a cell or moving to it by keyboard shows both.
const steps = [...document.querySelectorAll('.step')]
const cells = steps.flatMap(step => [...step.querySelectorAll('td[id]')])
const working = document.querySelector('.working')
let kept = null // the cell that stays chosen when the pointer leaves
let timer = null

for (const step of steps)
  for (const td of step.querySelectorAll('td[id]')) {
    const [row, col] = td.id.split('-').slice(-2).map(Number)
    td.at = {step: Number(step.dataset.n), row, col}
    td.from = (td.dataset.from || '').split(' ').filter(Boolean).map(range => {
      const [step, top, left, bottom, right] = range.split('.').map(Number)
      return {step, top, left, bottom, right}
    })
  }

const needs = (td, {step, row, col}) => td.from.some(range => range.step === step &&
  range.top <= row && row <= range.bottom && range.left <= col && col <= range.right)

function show(td) {
  for (const one of cells) one.classList.remove('from', 'to', 'chosen')
  working.hidden = !td
  if (!td) return
  td.classList.add('chosen')
  for (const one of cells) {
    if (needs(td, one.at)) one.classList.add('from')
    if (needs(one, td.at)) one.classList.add('to')
  }
  working.querySelector('.how').textContent = td.dataset.how || td.id
}

function keep(td) {
  kept = td
  show(td)
  history.replaceState(null, '', td ? '#' + td.id : location.pathname + location.search)
}

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

function current() {
  const below = steps.findIndex(step => step.getBoundingClientRect().top > innerHeight / 3)
  return below === -1 ? steps.length - 1 : Math.max(below - 1, 0)
}

function mark() {
  const now = steps[current()].id
  for (const link of document.querySelectorAll('.rail a'))
    link.classList.toggle('now', link.hash === '#' + now)
}

let last = 0 // the step that "next" continues from
function go(by) {
  last = Math.min(Math.max(last + by, 0), steps.length - 1)
  steps[last].scrollIntoView({block: 'start'})
  steps[last].focus({preventScroll: true})
  history.replaceState(null, '', '#' + steps[last].id)
  return last
}

function play(on) {
  const button = document.getElementById('play')
  clearInterval(timer)
  timer = on ? setInterval(() => { if (go(1) === steps.length - 1) play(false) }, 4000) : null
  button.setAttribute('aria-pressed', String(Boolean(on)))
}

for (const td of cells) {
  td.tabIndex = td.matches('tbody tr:first-child td:nth-child(2)') ? 0 : -1
  td.addEventListener('pointerenter', () => show(td))
  td.addEventListener('pointerleave', () => show(kept))
  td.addEventListener('focus', () => show(td))
  td.addEventListener('blur', () => show(kept))
  td.addEventListener('click', () => { enter(td); keep(kept === td ? null : td) })
}

document.addEventListener('keydown', event => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.target.matches('input, summary')) return
  const td = event.target.closest('td[id]')
  if (event.key === 'Escape') keep(null)
  else if (td && event.key.startsWith('Arrow')) { const next = neighbour(td, event.key); if (next) enter(next) }
  else if (td && (event.key === 'Enter' || event.key === ' ')) keep(kept === td ? null : td)
  else if (event.key === 'ArrowLeft') go(-1)
  else if (event.key === 'ArrowRight') go(1)
  else return
  event.preventDefault()
})
document.getElementById('previous').addEventListener('click', () => go(-1))
document.getElementById('next').addEventListener('click', () => go(1))
document.getElementById('play').addEventListener('click', () => play(!timer))
document.addEventListener('scroll', mark, {passive: true})
for (const scrolling of ['wheel', 'touchmove']) // by the reader, unlike the scrolling of go()
  document.addEventListener(scrolling, () => { last = current() }, {passive: true})
addEventListener('hashchange', follow)

// "#scores-0-2" is a cell, "#scores" a step.
function follow() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)))
  if (target && target.matches('td[id]')) { kept = target; enter(target); show(target) }
  else if (steps.includes(target)) last = steps.indexOf(target)
}

for (const part of document.querySelectorAll('.controls, .hint')) part.hidden = false
follow()
mark()
