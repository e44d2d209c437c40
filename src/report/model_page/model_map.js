// The three views of the selected map: heat map, lines, table. Pointing at a query or moving to it by keyboard shows
// its weights.
let cell = 0 // side in CSS pixels; 0: not chosen by the reader
let room = 0 // for cells, in CSS pixels
let pointed = null // {query, key} under the pointer

const shownQuery = () => pointed ? pointed.query : state.query
const shownKey = () => pointed ? pointed.key : state.key
const fullLevel = () => the('absolute').checked ? input().levels : largestOf(current()) || 1

// ---- Heat map ----

// The width for cells, measured before there are labels: their layout is done once.
function measureRoom() {
  const longest = Math.max(...kind().queries.map(token => [...token].reduce((sum, c) => sum + (c < '\u1100' ? 7 : 13), 0)))
  room = the('map').parentElement.clientWidth - Math.min(longest, 131) - 30
}

const fitCell = least => clamp(Math.floor(room / kind().keys.length), least, 40)

function sizeCells() {
  const k = kind(), map = the('map'), c = cell || fitCell(14), step = Math.ceil(12 / c)
  the('zoom').value = c
  map.style.setProperty('--c', `${c}px`)
  map.style.setProperty('--f', `${clamp(c - 1, 11, 14)}px`)
  the('cells').style.width = `${c * k.keys.length}px`
  the('cells').style.height = `${c * k.queries.length}px`
  map.classList.toggle('thin', step > 1)
  for (const list of ['rows', 'columns'])
    [...the(list).children].forEach((label, n) => label.classList.toggle('kept', n % step === 0))
  drawNumbers()
  drawBands()
}

function queryButton(k, i) {
  const button = make('button', {type: 'button', title: k.queries[i], textContent: k.queries[i]})
  button.dataset.query = i
  button.tabIndex = i === (state.query || 0) ? 0 : -1
  return button
}

const keyLabel = token => make('span', {className: token.length < 2 ? 'flat' : '', textContent: token, title: token})

// Those of the lines are made when they are first shown.
function buildLabels() {
  const k = kind()
  the('rows').replaceChildren(...k.queries.map((token, i) => queryButton(k, i)))
  the('columns').replaceChildren(...k.keys.map(keyLabel))
  the('left').replaceChildren()
}

function buildTokens() {
  const k = kind()
  if (the('left').firstChild) return
  the('left').replaceChildren(...k.queries.map((token, i) => queryButton(k, i)))
  the('right').replaceChildren(...k.keys.map(keyLabel))
}

function drawHeat() {
  const k = kind(), rows = k.queries.length, columns = k.keys.length, levels = current(), full = fullLevel()
  const heat = the('heat')
  heat.width = columns, heat.height = rows
  const context = heat.getContext('2d'), image = context.createImageData(columns, rows)
  const to = new Uint32Array(image.data.buffer)
  for (let i = 0, n = 0; i < rows; i++)
    for (let j = 0; j < columns; j++, n++) to[n] = isMasked(k, i, j) ? 0 : pixels[colorOf(levels[n], full)]
  context.putImageData(image, 0, 0)
  the('full').textContent = number(full / input().levels)
}

function drawNumbers() {
  const k = kind(), canvas = the('numbers'), c = Number(the('zoom').value)
  canvas.hidden = c < 32 || k.queries.length * k.keys.length > 900
  if (canvas.hidden) return
  const scale = Math.min(devicePixelRatio || 1, 3), levels = current(), full = fullLevel()
  canvas.width = c * k.keys.length * scale, canvas.height = c * k.queries.length * scale
  const context = canvas.getContext('2d')
  context.scale(scale, scale)
  context.font = `11px ${getComputedStyle(document.body).fontFamily}`
  context.textAlign = 'center', context.textBaseline = 'middle'
  k.queries.forEach((token, i) => k.keys.forEach((other, j) => {
    if (isMasked(k, i, j)) return
    const level = levels[i * k.keys.length + j]
    context.fillStyle = onColor[colorOf(level, full)]
    context.fillText((level / input().levels).toFixed(2), (j + 0.5) * c, (i + 0.5) * c + 0.5)
  }))
}

function drawBands() {
  const c = Number(the('zoom').value), i = shownQuery(), j = shownKey()
  const row = the('row-band'), column = the('column-band')
  row.style.display = i === null ? 'none' : 'block'
  row.style.top = `${c * i}px`
  column.style.display = j === null ? 'none' : 'block'
  column.style.left = `${c * j}px`
  for (const [list, n] of [['rows', i], ['left', i], ['columns', j], ['right', j]]) {
    const before = the(list).querySelector('.now')
    if (before) before.classList.remove('now')
    if (n !== null && the(list).children[n]) the(list).children[n].classList.add('now')
  }
}

// ---- Lines: as wide and as dark as their weights ----

// A share of the largest weight of the map.
const threshold = () => Number(the('threshold').value) / 100 * fullLevel()

function joinsOf(k, levels) {
  const query = shownQuery(), least = threshold(), joins = []
  const rows = query === null ? k.queries.keys() : [query]
  for (const i of rows)
    for (let j = 0; j < k.keys.length; j++) {
      const level = levels[i * k.keys.length + j]
      if (level > 0 && (query !== null || level >= least)) joins.push([i, j, level])
    }
  return joins.sort((a, b) => b[2] - a[2]).slice(0, 4000).reverse()
}

function drawLines() {
  const k = kind(), longest = Math.max(k.queries.length, k.keys.length), h = longest > 600 ? 14 : 22
  const canvas = the('joins'), width = canvas.clientWidth || 200
  const scale = longest * h > 8000 ? 1 : Math.min(devicePixelRatio || 1, 2), full = fullLevel()
  buildTokens()
  the('lines').style.setProperty('--h', `${h}px`)
  canvas.style.height = `${longest * h}px`
  canvas.width = width * scale, canvas.height = longest * h * scale
  const context = canvas.getContext('2d')
  context.scale(scale, scale)
  context.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue('--first')
  for (const [i, j, level] of joinsOf(k, current())) {
    context.globalAlpha = 0.08 + 0.92 * Math.min(level / full, 1)
    context.lineWidth = 0.5 + 3.5 * Math.min(level / full, 1)
    context.beginPath()
    context.moveTo(0, (i + 0.5) * h)
    context.bezierCurveTo(width / 3, (i + 0.5) * h, width * 2 / 3, (j + 0.5) * h, width, (j + 0.5) * h)
    context.stroke()
  }
  the('threshold-value').textContent = number(threshold() / input().levels)
}

// ---- Table: all weights, or the largest ten of each query ----

const TABLE_CELLS = 40000

function sortedKeys(i) {
  const k = kind(), list = []
  for (let j = 0; j < k.keys.length; j++) if (!isMasked(k, i, j)) list.push([j, weightAt(i, j)])
  return list.sort((a, b) => b[1] - a[1])
}

const header = (scope, text) => make('th', {scope, textContent: text})

function buildTable() {
  const k = kind(), isWhole = k.queries.length * k.keys.length <= TABLE_CELLS
  const head = make('tr', {}, make('td'), ...isWhole ? k.keys.map(token => header('col', token))
    : [...Array(10).keys()].map(n => header('col', String(n + 1))))
  const rows = k.queries.map((token, i) => make('tr', {}, header('row', token), ...isWhole
    ? k.keys.map((other, j) => make('td', {textContent: isMasked(k, i, j) ? '–' : number(weightAt(i, j))}))
    : sortedKeys(i).slice(0, 10).map(([j, weight]) => make('td', {textContent: `${k.keys[j]} ${number(weight)}`}))))
  the('table').replaceChildren(make('table', {}, make('caption', {className: 'note'}, ...the('title').cloneNode(true).childNodes),
    make('thead', {}, head), make('tbody', {}, ...rows)))
}

// ---- The weights of a query, and the measures of a head ----

const LISTED = 40

function weightLine([j, weight], largest) {
  const k = kind()
  const bar = make('span', {className: 'bar'})
  bar.style.width = `${largest ? 100 * weight / largest : 0}%`
  return make('li', {className: j === shownKey() ? 'key' : ''},
    make('span', {}, make('bdi', {textContent: k.keys[j]}), make('span', {className: 'index', textContent: j + 1})),
    bar, make('span', {className: 'value', textContent: number(weight)}))
}

function queryDetail(i) {
  const k = kind(), all = sortedKeys(i), shown = pointed ? all.slice(0, LISTED) : all
  const rest = all.slice(shown.length).reduce((sum, [, weight]) => sum + weight, 0)
  const title = make('h2', {}, both('Query ', 'クエリ '), make('bdi', {textContent: k.queries[i]}),
    make('span', {className: 'index', textContent: i + 1}))
  const parts = [title]
  const j = shownKey()
  if (j !== null && !isMasked(k, i, j)) parts.push(make('p', {className: 'cell'}, make('bdi', {textContent: k.queries[i]}), ' → ',
    make('bdi', {textContent: k.keys[j]}), ` = ${number(weightAt(i, j))}`))
  parts.push(make('ol', {}, ...shown.map(one => weightLine(one, all[0][1]))))
  if (rest > 0) parts.push(make('p', {className: 'note'},
    both(`${all.length - shown.length} more, together ${number(rest)}`, `ほか${all.length - shown.length}個、合計 ${number(rest)}`)))
  return parts
}

function headDetail() {
  const k = kind(), map = k.maps.find(one => one.layer === state.layer && one.head === state.head)
  const parts = [make('p', {className: 'note'}, both('Point at a query, or select one, for its weights in order.',
    'クエリを指すか選ぶと、重みが大きい順に表示されます。'))]
  if (!map) return parts
  const list = make('dl', {}, make('dt', {}, both('entropy', 'エントロピー')), make('dd', {},
    both(`${map.entropy.toFixed(2)} nats of at most ${Math.log(k.keys.length).toFixed(2)}, mean of the queries`,
      `${map.entropy.toFixed(2)} nat（最大 ${Math.log(k.keys.length).toFixed(2)}）、クエリの平均`)))
  const largest = map.largest.map(([i, j, weight]) => {
    const button = make('button', {type: 'button'}, make('bdi', {textContent: k.queries[i]}), ' → ', make('bdi', {textContent: k.keys[j]}))
    button.addEventListener('click', () => select({query: i, key: j}))
    return make('li', {}, button, make('span', {className: 'value', textContent: weight.toFixed(4)}))
  })
  return [list, make('h2', {}, both('Largest weights', '最大の重み')), make('ol', {}, ...largest), ...parts]
}

function drawDetail() {
  const i = shownQuery()
  the('detail').replaceChildren(...i === null ? headDetail() : queryDetail(i))
}
