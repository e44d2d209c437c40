// The first two columns sort the documents: by name, as they were given, or by verdict, what needs attention first.
const body = document.querySelector('.index tbody')
const given = [...body.rows]
const orders = [(a, b) => given.indexOf(a) - given.indexOf(b), (a, b) => a.dataset.rank - b.dataset.rank]

document.querySelectorAll('.index thead th').forEach((th, n) => {
  if (!orders[n]) return
  const button = document.createElement('button')
  button.type = 'button'
  button.append(...th.childNodes)
  th.append(button)
  button.addEventListener('click', () => {
    const down = th.getAttribute('aria-sort') === 'ascending'
    for (const other of th.parentElement.cells) other.removeAttribute('aria-sort')
    th.setAttribute('aria-sort', down ? 'descending' : 'ascending')
    const rows = given.toSorted(orders[n])
    body.append(...(down ? rows.reverse() : rows))
  })
})
