// Selection: an input, a kind of attention, a layer and a head (or what combines them), a query, a key.
const views = ['map', 'lines', 'table']
const view = () => views.find(name => the(`view-${name}`).checked)
let drawing = 0 // the thumbnails of a former selection are not drawn any more

// ---- Thumbnails: the largest weight of each part of a map ----

const THUMB = 40

function drawThumb(canvas, k, levels) {
  const rows = k.queries.length, columns = k.keys.length
  const width = Math.min(columns, THUMB), height = Math.min(rows, THUMB), top = new Float32Array(width * height)
  for (let i = 0, n = 0; i < rows; i++) {
    const y = Math.floor(i * height / rows) * width
    for (let j = 0; j < columns; j++, n++) {
      const at = y + (j * width / columns | 0)
      if (levels[n] > top[at]) top[at] = levels[n]
    }
  }
  canvas.width = width, canvas.height = height
  const context = canvas.getContext('2d'), image = context.createImageData(width, height)
  const to = new Uint32Array(image.data.buffer), full = largestOf(top) || 1
  for (let n = 0; n < to.length; n++) to[n] = pixels[colorOf(top[n], full)]
  context.putImageData(image, 0, 0)
}

// Nothing before the weights are loaded: build draws them then.
function drawThumbs() {
  if (!kind().levels) return
  const buttons = [...the('grid').querySelectorAll('button')], k = kind(), mine = ++drawing
  const step = () => {
    const start = performance.now()
    while (mine === drawing && buttons.length && performance.now() - start < 12) {
      const button = buttons.shift()
      if (!button.firstChild) button.append(make('canvas'))
      drawThumb(button.firstChild, k, levelsOf(k, button.at.layer, button.at.head))
    }
    if (mine === drawing && buttons.length) requestAnimationFrame(step)
  }
  requestAnimationFrame(step)
}

function thumbButton(layer, head) {
  const button = make('button', {type: 'button'})
  button.at = {layer, head}
  button.addEventListener('click', () => select({layer, head}))
  return button
}

// Heads of a layer, then what combines them; the last row combines all layers.
function buildGrid() {
  const k = kind(), others = k.rollouts ? ['mean', 'max', 'rollout'] : ['mean', 'max']
  const heads = [...headsOf(k), ...others], layers = [...layersOf(k), 0]
  const head = make('tr', {}, make('td'), ...heads.map(name => {
    const th = make('th', {scope: 'col', className: name === 'mean' ? 'other' : ''})
    if (typeof name === 'number') th.textContent = name
    else th.append(both(...headName(name)))
    return th
  }))
  const rows = layers.map(layer => make('tr', {}, make('th', {scope: 'row'}, layer ? both(`layer ${layer}`, `第${layer}層`) : both('all', '全層')),
    ...heads.map(name => {
      const isThere = typeof name === 'number' ? k.maps.some(map => map.layer === layer && map.head === name)
        : layer || name !== 'rollout'
      return make('td', {className: name === 'mean' ? 'other' : ''}, ...isThere ? [thumbButton(layer, name)] : [])
    })))
  const room = Math.min(innerWidth - 110, 430)
  the('grid').style.setProperty('--t', `${clamp(Math.floor(room / heads.length) - 6, 26, 56)}px`)
  the('grid').replaceChildren(make('thead', {}, head), make('tbody', {}, ...rows))
}

function thumbText({layer, head}) {
  const k = kind(), map = k.maps.find(one => one.layer === layer && one.head === head), name = mapName(layer, head)[language()]
  if (!map) return name
  const [i, j, weight] = map.largest[0] || [0, 0, 0], entropy = map.entropy.toFixed(2)
  return language() ? `${name}、エントロピー ${entropy} nat、最大 ${k.queries[i]} → ${k.keys[j]} ${weight.toFixed(2)}`
    : `${name}, entropy ${entropy} nats, largest ${k.queries[i]} → ${k.keys[j]} ${weight.toFixed(2)}`
}

function markThumbs() {
  for (const button of the('grid').querySelectorAll('button')) {
    const isNow = button.at.layer === state.layer && button.at.head === state.head
    button.setAttribute('aria-pressed', String(isNow))
    button.tabIndex = isNow ? 0 : -1
    button.title = thumbText(button.at)
    button.setAttribute('aria-label', button.title)
  }
}

function moveInGrid(event) {
  const steps = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key]
  if (!steps || !event.target.at || event.altKey || event.ctrlKey || event.metaKey) return
  const rows = [...the('grid').tBodies[0].rows], td = event.target.parentElement
  let row = rows.indexOf(td.parentElement) + steps[0], column = td.cellIndex + steps[1], next
  while (rows[row] && rows[row].cells[column] && !(next = rows[row].cells[column].querySelector('button')))
    row += steps[0], column += steps[1]
  event.preventDefault()
  if (!next) return
  select(next.at)
  next.focus()
}

// ---- Texts, generated results, kinds ----

function drawTexts() {
  const one = input(), best = one.results[0], output = one.target || (best ? best.text : '')
  the('source').textContent = one.source
  the('source').parentElement.replaceChildren(the('source'), ...output
    ? [make('span', {className: 'arrow', textContent: one.source ? '→' : ''}), make('bdi', {id: 'output', textContent: output})] : [])
  the('results').replaceChildren(...one.results.length > 1 ? [resultTable(one.results)] : [])
  const unit = `1/${one.levels}`, error = Math.ceil((0.5 / one.levels + 0.5 * 10 ** -digits()) * 1e5) / 1e5
  the('accuracy').replaceChildren(both(
    `Weights are stored in steps of ${unit}; a printed weight differs from the model's by at most ${error}. Rollout follows Abnar and Zuidema (2020): ` +
    'the product over the layers of half the mean of the heads plus half the identity.',
    `重みは ${unit} 刻みで保存しています。表示値とモデルの値の差は ${error} 以下です。ロールアウトは Abnar と Zuidema（2020）によるもので、` +
    '各層のヘッド平均と単位行列の平均を、層の順に掛け合わせます。'))
}

function resultTable(results) {
  const head = [['Hypothesis', '候補'], ['Output', '出力'], ['Score', 'スコア'], ['log p', 'log p']]
  const rows = results.map((one, n) => make('tr', {}, make('td', {textContent: n + 1}),
    make('td', {className: 'text'}, make('bdi', {textContent: one.text + (one.finished ? '' : ' …')})),
    make('td', {textContent: one.score.toFixed(4)}), make('td', {textContent: one.log_prob.toFixed(4)})))
  const summary = make('summary', {}, both(`${results.length} hypotheses of the beam search; the maps are those of the first`,
    `ビームサーチの候補 ${results.length} 件（図は 1 件目のもの）`))
  return make('details', {}, summary, make('table', {}, make('thead', {}, make('tr', {},
    ...head.map(words => make('th', {scope: 'col'}, both(...words))))), make('tbody', {}, ...rows)))
}

function buildKinds() {
  const kinds = input().kinds
  the('kinds').hidden = kinds.length < 2
  the('kinds').replaceChildren(...kinds.map((k, n) => {
    const tab = make('button', {type: 'button', role: 'tab'}, both(...kindNames[k.kind]))
    tab.setAttribute('aria-controls', 'work')
    tab.addEventListener('click', () => select({kind: n}))
    return tab
  }))
}

function markKinds() {
  [...the('kinds').children].forEach((tab, n) => {
    tab.setAttribute('aria-selected', String(n === state.kind))
    tab.tabIndex = n === state.kind ? 0 : -1
  })
}

function moveInKinds(event) {
  const step = {ArrowLeft: -1, ArrowRight: 1}[event.key], tabs = the('kinds').children
  if (!step) return
  event.preventDefault()
  const n = clamp(state.kind + step, 0, tabs.length - 1)
  select({kind: n}).then(() => tabs[n].focus())
}

// ---- Selection ----

function drawView() {
  if (!built) return // the first weights are being loaded
  const now = view(), k = kind(), isCross = k.kind === 2
  for (const name of views) {
    the(name).hidden = name !== now
    for (const tool of document.querySelectorAll(`.on-${name}`)) tool.hidden = name !== now
  }
  the('title').replaceChildren(both(...mapName(state.layer, state.head)))
  the('axes').replaceChildren(isCross ? both('Rows (left): output tokens, the queries. Columns (right): input tokens, the keys.',
    '行（左）：出力トークン（クエリ）、列（右）：入力トークン（キー）')
    : both('Rows (left): queries. Columns (right): keys.', '行（左）：クエリ、列（右）：キー'))
  if (now === 'map') { drawHeat(); sizeCells() }
  if (now === 'lines') { drawLines(); drawBands() }
  if (now === 'table') buildTable()
  drawDetail()
}

function drawPointed() {
  if (view() === 'lines') drawLines()
  drawBands()
  drawDetail()
}

function announce() {
  const k = kind(), i = state.query, name = mapName(state.layer, state.head)[language()]
  if (i === null) return void (the('status').textContent = name)
  const top = sortedKeys(i).slice(0, 3).map(([j, weight]) => `${k.keys[j]} ${number(weight)}`).join(', ')
  const at = state.key !== null && !isMasked(k, i, state.key) ? `; ${k.keys[state.key]} ${number(weightAt(i, state.key))}` : ''
  the('status').textContent = `${name}, ${k.queries[i]}: ${top}${at}`
}

// "#2-cross-3-1-5": text, kind, layer (0: all), head, query; counted from 1.
function remember() {
  const parts = [state.input + 1, kindWords[kind().kind], state.layer, state.head]
  if (state.query !== null) parts.push(state.query + 1)
  history.replaceState(null, '', `${location.href.replace(/#.*/s, '')}#${parts.join('-')}`) // in a frame the base is another page's
}

function recalled() {
  const [text, name, layer, head, query] = location.hash.slice(1).split('-'), number = Number(text) - 1
  const of = data.inputs[number], n = of ? of.kinds.findIndex(k => kindWords[k.kind] === name) : -1
  if (n < 0) return null
  return {input: number, kind: n, layer: Number(layer), head: /^\d+$/.test(head) ? Number(head) : head,
    query: query in of.kinds[n].queries && Number(query) > 0 ? Number(query) - 1 : null, key: null}
}

// The same layer and head in another kind or input, if they exist there.
function settle() {
  if (!levelsOf(kind(), state.layer, state.head)) Object.assign(state, {layer: 0, head: 'mean'})
  if (state.query !== null && state.query >= kind().queries.length) state.query = null
  if (state.key !== null && state.key >= kind().keys.length) state.key = null
}

let built = ''
function build() {
  built = `${state.input} ${state.kind}`
  drawTexts(), buildKinds(), buildGrid(), measureRoom(), buildLabels()
  the('input').value = String(state.input)
  load(state.input, kind()).then(drawThumbs)
}

// The state after a change.
function changed(from, change) {
  const isOther = ('input' in change && change.input !== from.input) || ('kind' in change && change.kind !== from.kind)
  const to = {...from, ...isOther ? {query: null, key: null} : {}, ...change}
  to.kind = Math.min(to.kind, data.inputs[to.input].kinds.length - 1)
  return to
}

let wanted = null // the state whose weights are being loaded; until then the page shows the one before
async function select(change) {
  const next = wanted = changed(wanted || state, change), k = data.inputs[next.input].kinds[next.kind]
  if (!levelsOf(k, next.layer, next.head)) await load(next.input, k)
  if (next !== wanted) return // a later choice includes this one
  wanted = pointed = null
  Object.assign(state, next)
  settle()
  if (built !== `${state.input} ${state.kind}`) build()
  markKinds(), markThumbs(), drawView(), announce(), remember()
}

function chooseQuery(query, key) {
  const isSame = state.query === query && (key === null || state.key === key)
  Object.assign(state, isSame ? {query: null, key: null} : {query, key})
  pointed = null
  drawPointed(), announce(), remember()
}

// ---- Pointer and keyboard ----

function point(query, key) {
  if (pointed ? pointed.query === query && pointed.key === key : query === null) return
  pointed = query === null ? null : {query, key}
  drawPointed()
}

function cellAt(event) {
  const box = the('cells').getBoundingClientRect(), k = kind()
  return [clamp(Math.floor((event.clientY - box.top) / box.height * k.queries.length), 0, k.queries.length - 1),
    clamp(Math.floor((event.clientX - box.left) / box.width * k.keys.length), 0, k.keys.length - 1)]
}

the('cells').addEventListener('pointermove', event => { if (event.pointerType === 'mouse') point(...cellAt(event)) })
the('cells').addEventListener('click', event => chooseQuery(...cellAt(event)))
the('cells').addEventListener('pointerleave', () => point(null))

function moveQuery(event) {
  const i = event.target.dataset ? event.target.dataset.query : undefined, list = event.target.parentElement, k = kind()
  if (i === undefined || event.altKey || event.ctrlKey || event.metaKey) return
  const down = {ArrowUp: -1, ArrowDown: 1}[event.key], right = {ArrowLeft: -1, ArrowRight: 1}[event.key]
  if (event.key === 'Escape') Object.assign(state, {query: null, key: null})
  else if (down) state.query = clamp(Number(i) + down, 0, k.queries.length - 1)
  else if (right) Object.assign(state, {query: Number(i), key: clamp((state.key === null ? -1 : state.key) + right, 0, k.keys.length - 1)})
  else return
  event.preventDefault()
  pointed = null
  const next = list.children[state.query === null ? Number(i) : state.query]
  event.target.tabIndex = -1
  next.tabIndex = 0
  next.focus()
  drawPointed(), announce(), remember()
}

for (const list of ['rows', 'left']) {
  the(list).addEventListener('pointerover', event => {
    const i = event.pointerType === 'mouse' && event.target.dataset.query
    if (i) point(Number(i), null)
  })
  the(list).addEventListener('pointerleave', () => point(null))
  the(list).addEventListener('click', event => {
    if (event.target.dataset.query) chooseQuery(Number(event.target.dataset.query), null)
  })
  the(list).addEventListener('keydown', moveQuery)
  the(list).addEventListener('focusin', event => {
    if (!event.target.dataset.query || !event.target.matches(':focus-visible')) return
    state.query = Number(event.target.dataset.query)
    pointed = null
    drawPointed(), announce()
  })
}
the('grid').addEventListener('keydown', moveInGrid)
the('kinds').addEventListener('keydown', moveInKinds)
the('input').addEventListener('change', () => select({input: Number(the('input').value)}))
the('zoom').addEventListener('input', () => { cell = Number(the('zoom').value); sizeCells() })
the('fit').addEventListener('click', () => { cell = fitCell(1); sizeCells() })
the('threshold').addEventListener('input', drawLines)
the('absolute').addEventListener('change', drawView)
for (const name of views) the(`view-${name}`).addEventListener('change', drawView)
for (const one of document.getElementsByName('language')) one.addEventListener('change', () => { markThumbs(); announce() })
dark.addEventListener('change', () => { readColors(); drawLegend(); drawThumbs(); drawView() })
addEventListener('resize', () => { if (built) { measureRoom(); drawView() } })
addEventListener('hashchange', () => { const to = recalled(); if (to) select(to) })

function drawLegend() {
  const context = the('legend').getContext('2d'), image = context.createImageData(64, 1)
  new Uint32Array(image.data.buffer).set(pixels)
  context.putImageData(image, 0, 0)
}

function first() {
  const kinds = data.inputs[0].kinds.map(k => k.kind)
  return {input: 0, kind: kinds.indexOf(data.kind), layer: data.layer, head: data.head || 'mean'}
}

async function start() {
  loadFirst()
  await select(recalled() || first())
  requestAnimationFrame(() => setTimeout(() => performance.mark('first-view')))
}

the('input').append(...data.inputs.map((one, n) => make('option', {value: String(n), textContent: one.source || one.target})))
the('choose').hidden = data.inputs.length < 2
the('threshold').value = 40
the('app').hidden = false
readColors(), drawLegend()
if (typeof DecompressionStream === 'undefined')
  the('title').append(both('This browser is too old for this page: it has no DecompressionStream.', 'このブラウザは古く、DecompressionStream がないため表示できません。'))
else start()
