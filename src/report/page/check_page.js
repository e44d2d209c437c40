// A marked number has data-how, its right computation.
const working = document.querySelector('.working')
let kept = null // stays chosen when the pointer leaves

function show(mark) {
  for (const one of document.querySelectorAll('mark.chosen')) one.classList.remove('chosen')
  working.hidden = !mark
  if (!mark) return
  mark.classList.add('chosen')
  working.textContent = mark.dataset.how
}

for (const mark of document.querySelectorAll('mark[data-how]')) {
  mark.tabIndex = mark.matches('.wrong, .carried, .doubtful') ? 0 : -1
  mark.addEventListener('pointerenter', () => show(mark))
  mark.addEventListener('pointerleave', () => show(kept))
  mark.addEventListener('focus', () => show(mark))
  mark.addEventListener('blur', () => show(kept))
  mark.addEventListener('click', () => show(kept = kept === mark ? null : mark))
}
document.addEventListener('keydown', event => { if (event.key === 'Escape') show(kept = null) })
document.querySelector('.hint').hidden = false
