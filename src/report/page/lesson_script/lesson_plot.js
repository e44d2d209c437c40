// Queries and keys of two components as arrows in the plane, as src/graphics/arrow_plot.c draws them.
const PLOT = 260, TOP = 12
const SVG = 'http://www.w3.org/2000/svg'

function svg(tag, attributes, text = '') {
  const one = document.createElementNS(SVG, tag)
  for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, typeof value === 'number' ? number(value, 2) : value)
  one.append(text)
  return one
}

function roundStep(span) {
  const ten = 10 ** Math.floor(Math.log10(span / 5))
  return ([1, 2, 5].find(n => n * ten >= span / 5.0001) ?? 10) * ten
}

// The same scale on both axes, including the origin.
function planeOf(points, left) {
  const low = [0, 1].map(k => Math.min(0, ...points.map(p => p[k]))), high = [0, 1].map(k => Math.max(0, ...points.map(p => p[k])))
  const wide = Math.max(high[0] - low[0], high[1] - low[1]), step = roundStep(wide > 1e-150 ? wide : 1)
  const from = low.map(x => step * (Math.floor(x / step) - 0.5))
  const span = Math.max(step, ...high.map((x, k) => step * (Math.ceil(x / step) + 0.5) - from[k])), per = PLOT / span
  return {from, step, left, lines: Math.floor(PLOT / (step * per) + 0.51),
    place: ([x, y]) => [left + (x - from[0]) * per, TOP + PLOT - (y - from[1]) * per]}
}

function drawGrid(plane) {
  const parts = []
  for (const axis of [0, 1])
    for (let n = 0; n < plane.lines; n++) {
      const value = plane.from[axis] + (n + 0.5) * plane.step, origin = Math.abs(value) < 0.25 * plane.step
      const [x, y] = plane.place([value, value]), paint = {class: origin ? 'faint' : 'grid', 'stroke-width': origin ? 1.5 : 1}
      const text = {'font-size': 11, class: 'faint'}
      if (axis) parts.push(svg('line', {x1: plane.left, y1: y, x2: plane.left + PLOT, y2: y, ...paint}),
        svg('text', {x: plane.left - 6, y: y + 4, 'text-anchor': 'end', ...text}, number(origin ? 0 : value, 6)))
      else parts.push(svg('line', {x1: x, y1: TOP + PLOT, x2: x, y2: TOP, ...paint}),
        svg('text', {x, y: TOP + PLOT + 15, 'text-anchor': 'middle', ...text}, number(origin ? 0 : value, 6)))
    }
  return parts
}

// Keys are thinner and dashed.
function arrow([x1, y1], [x2, y2], key) {
  const length = Math.hypot(x2 - x1, y2 - y1), half = key ? 4 : 6, head = Math.min(key ? 9 : 12, length), paint = key ? 'second' : 'first'
  if (length < 1) return [svg('rect', {x: x1 - half / 2, y: y1 - half / 2, width: half, height: half, class: paint})]
  const [dx, dy] = [(x2 - x1) / length, (y2 - y1) / length], [nx, ny] = [x2 - head * dx, y2 - head * dy]
  const line = svg('line', {x1, y1, x2: nx, y2: ny, 'stroke-width': key ? 2 : 4, class: paint})
  if (key) line.setAttribute('stroke-dasharray', '6 4')
  const corners = [[x2, y2], [nx - half * dy, ny + half * dx], [nx + half * dy, ny - half * dx]]
  return [line, svg('polygon', {points: corners.map(c => c.map(v => number(v, 2)).join()).join(' '), class: paint})]
}

// Names do not cover one another.
function nameAt([x1, y1], [x2, y2], text, paint, placed) {
  const length = Math.hypot(x2 - x1, y2 - y1), dx = length < 1 ? 1 : (x2 - x1) / length, dy = length < 1 ? 0 : (y2 - y1) / length
  const right = dx > -0.3, wide = width(text) * 7, rise = Math.abs(dy) < 0.2 ? -10 : 10 * dy
  const box = {x: x2 + (right ? 5 : -5 - wide), y: y2 + rise - 8}
  const covers = other => box.x < other.x + other.wide && other.x < box.x + wide && box.y < other.y + 16 && other.y < box.y + 16
  for (let tries = 0, other; tries < 24 && (other = placed.find(covers)); tries++) box.y = other.y + 16
  placed.push({...box, wide})
  return svg('text', {x: right ? box.x : box.x + wide, y: box.y + 12, 'font-size': 13, 'font-weight': 600, class: `${paint} halo`,
    'text-anchor': right ? 'start' : 'end', 'stroke-width': 4, 'stroke-linejoin': 'round', 'paint-order': 'stroke'}, text)
}

const pointsOf = s => Array.from({length: s.value.rows}, (_, i) => [at(s.value, i, 0), at(s.value, i, 1)])

function drawPlot(figure, e, s) {
  const picture = figure.querySelector('svg'), other = e.steps.find(one => one.head === s.head && one.name === (s.name === 'Q' ? 'K' : 'Q'))
  const [q, k] = s.name === 'Q' ? [s, other] : [other, s], points = [...pointsOf(q), ...pointsOf(k)]
  const names = [...points.keys()].map(n => n < q.value.rows ? 'q ' + labelOf({e, language: 0}, 'q', n) : 'k ' + labelOf({e, language: 0}, 'k', n - q.value.rows))
  const key = JSON.stringify([points, names])
  figure.original ??= {key, children: [...picture.childNodes], legend: [...picture.childNodes].slice([...picture.childNodes].findLastIndex(one => one.matches?.('.halo')) + 1)}
  if (figure.key === key) return
  figure.key = key
  const left = Math.min(...[...picture.querySelectorAll('line')].map(line => Number(line.getAttribute('x1'))))
  if (key === figure.original.key || !points.flat().every(x => Math.abs(x) < 1e150)) return picture.replaceChildren(...figure.original.children)
  const plane = planeOf(points, left), origin = plane.place([0, 0]), placed = [], isKey = n => n >= q.value.rows
  picture.replaceChildren(...drawGrid(plane), ...points.flatMap((p, n) => arrow(origin, plane.place(p), isKey(n))),
    ...points.map((p, n) => nameAt(origin, plane.place(p), names[n], isKey(n) ? 'second' : 'first', placed)), ...figure.original.legend)
  const cells = figure.querySelectorAll('details tbody td')
  points.flat().forEach((x, n) => { if (cells[n]) cells[n].textContent = number(x) })
}
