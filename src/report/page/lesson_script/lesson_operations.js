// The operations of lessons: the only place of this page that knows them. Values are computed as in
// src/lesson/eval.c: in double precision, terms in the same order. A matrix is {rows, cols, at}, row by row.
// A step has op, from (its operands), axis (1: along rows), scalar, root (of which the scalar is the square root),
// base (of positions).

function matrix(rows, cols, value = () => 0) {
  const m = {rows, cols, at: new Float64Array(rows * cols)}
  for (let i = 0; i < rows; i++)
    for (let j = 0; j < cols; j++) m.at[i * cols + j] = value(i, j)
  return m
}

const at = (m, i, j) => m.at[i * m.cols + j]

// ---- Values ----

function product(a, ta, b, tb) {
  const inner = ta ? a.rows : a.cols
  if (inner !== (tb ? b.cols : b.rows)) throw new RangeError('shapes do not match')
  return matrix(ta ? a.cols : a.rows, tb ? b.rows : b.cols, (i, j) => {
    let sum = 0
    for (let k = 0; k < inner; k++) sum += (ta ? at(a, k, i) : at(a, i, k)) * (tb ? at(b, j, k) : at(b, k, j))
    return sum
  })
}

// Lines: rows for axis 1, columns for axis 0.
const lineLength = (m, axis) => axis ? m.cols : m.rows
const inLine = (m, axis, line, k) => axis ? at(m, line, k) : at(m, k, line)

function largest(m, axis, line) {
  let top = -Infinity
  for (let k = 0; k < lineLength(m, axis); k++) top = inLine(m, axis, line, k) > top ? inLine(m, axis, line, k) : top
  return top
}

function sumOfLine(m, axis, line, of = x => x) {
  let sum = 0
  for (let k = 0; k < lineLength(m, axis); k++) sum += of(inLine(m, axis, line, k))
  return sum
}

const byLine = (m, axis, prepare, value) => {
  const prepared = Array.from({length: axis ? m.rows : m.cols}, (_, line) => prepare(line))
  return matrix(m.rows, m.cols, (i, j) => value(at(m, i, j), prepared[axis ? i : j]))
}

const softmax = (a, axis) => byLine(a, axis,
  line => {
    const top = largest(a, axis, line)
    return {top, sum: sumOfLine(a, axis, line, x => Math.exp(x - top))}
  },
  (x, {top, sum}) => top === -Infinity ? 0 : Math.exp(x - top) / sum)

const broadcast = (m, i, j) => at(m, m.rows === 1 ? 0 : i, m.cols === 1 ? 0 : j)
const each = (a, f) => matrix(a.rows, a.cols, (i, j) => f(at(a, i, j)))
const pairs = (a, b, f) => matrix(a.rows, a.cols, (i, j) => f(at(a, i, j), broadcast(b, i, j)))

function additive(a, b, w, u, v) {
  const wa = product(a, false, w, true), ub = product(b, false, u, true)
  return matrix(a.rows, b.rows, (i, j) => {
    let sum = 0
    for (let k = 0; k < wa.cols; k++) sum += v.at[k] * Math.tanh(at(wa, i, k) + at(ub, j, k))
    return sum
  })
}

function append(parts) {
  const starts = [0]
  for (const part of parts) starts.push(starts.at(-1) + part.cols)
  return matrix(parts[0].rows, starts.at(-1), (i, j) => {
    const n = starts.findLastIndex(start => start <= j)
    return at(parts[n], i, j - starts[n])
  })
}

const frequency = (s, pair) => Math.pow(s.base, -2 * (s.scalar + pair) / s.cols)
const wave = (s, t, c) => (c % 2 ? Math.cos : Math.sin)(frequency(s, Math.floor(c / 2)) * t)

// ---- Workings: the right side of "scores[0,1] = ...". w: {e, s, row, col, terms, language} ----

const value = (w, n) => w.s.from[n].value
const here = (w, n) => broadcast(value(w, n), w.row, w.col)
const operandAddress = (w, n, row, col) => address(w.e, w.s.from[n], row, col)
const hereAddress = (w, n) =>
  operandAddress(w, n, value(w, n).rows === 1 ? 0 : w.row, value(w, n).cols === 1 ? 0 : w.col)

function series(w, count, term) {
  let text = ''
  for (let k = 0; k < count; k++) {
    if (w.terms && k >= w.terms && count > w.terms + 1) return text + ' + ' + say(w.language, 'MORE_TERMS', count)
    text += (k ? ' + ' : '') + term(k)
  }
  return text
}

const workProduct = (ta, tb) => w => {
  const a = value(w, 0), b = value(w, 1)
  return operandAddress(w, 0, ta ? -1 : w.row, ta ? w.row : -1) + '·' +
    operandAddress(w, 1, tb ? w.col : -1, tb ? -1 : w.col) + ' = ' +
    series(w, ta ? a.rows : a.cols, k => factor(ta ? at(a, k, w.row) : at(a, w.row, k)) + '×' +
      factor(tb ? at(b, w.col, k) : at(b, k, w.col)))
}

function workGeneral(w) {
  const [q, k, m] = w.s.from.map(s => s.value), qm = product(q, false, m, false)
  return operandAddress(w, 0, w.row, -1) + '·' + w.s.from[2].name + '·' + operandAddress(w, 1, w.col, -1) + ' = ' +
    series(w, m.cols, n => factor(at(qm, w.row, n)) + '×' + factor(at(k, w.col, n)))
}

function workAdditive(w) {
  const [a, b, m, u, v] = w.s.from.map(s => s.value), ma = product(a, false, m, true), ub = product(b, false, u, true)
  return series(w, v.at.length,
    n => `${factor(v.at[n])}×tanh(${factor(at(ma, w.row, n))} + ${factor(at(ub, w.col, n))})`)
}

const power = x => 'e^' + factor(x)
// What is subtracted if the exponentials are too large to show.
const shiftOf = (m, axis, line) => largest(m, axis, line) > 30 ? largest(m, axis, line) : 0

function workSoftmax(w) {
  const a = value(w, 0), axis = w.s.axis, line = axis ? w.row : w.col, shift = shiftOf(a, axis, line)
  const own = at(a, w.row, w.col) - shift
  return `${power(own)} / (${series(w, lineLength(a, axis), k => power(inLine(a, axis, line, k) - shift))}) = ` +
    `${number(Math.exp(own))} / ${number(sumOfLine(a, axis, line, x => Math.exp(x - shift)))}`
}

const workPair = sign => w =>
  `${hereAddress(w, 0)}${sign}${hereAddress(w, 1)} = ${factor(here(w, 0))}${sign}${factor(here(w, 1))}`

function workDivide(w) {
  const by = w.s.root ? `√${w.s.root}` : number(w.s.scalar)
  return `${hereAddress(w, 0)} / ${by} = ${factor(here(w, 0))} / ${factor(w.s.scalar)}`
}

const isMasked = w => broadcast(value(w, 1), w.row, w.col) === 0

function workMask(w) {
  const seen = isMasked(w) ? '' : hereAddress(w, 0) + ' = '
  return `${seen}${number(isMasked(w) ? w.s.scalar : here(w, 0))} (${hereAddress(w, 1)} = ${number(here(w, 1))})`
}

function workShift(w) {
  const top = largest(value(w, 0), w.s.axis, w.s.axis ? w.row : w.col)
  return `${factor(here(w, 0))} - ${factor(Number.isFinite(top) ? top : 0)}`
}

// The operand of an append that has a column, and the column within it.
function appended(w) {
  let col = w.col, n = 0
  while (col >= value(w, n).cols) col -= value(w, n++).cols
  return [n, col]
}

function workAppend(w) {
  const [n, col] = appended(w), head = w.s.from[n].head
  return (head < 0 ? '' : say(w.language, 'HEAD', head + 1) + ': ') + operandAddress(w, n, w.row, col)
}

// ---- Sources: the cells that a cell is computed from, as [operand, top, left, bottom, right] ----

const block = (w, n, row, col) => row < 0 || col < 0
  ? [n, Math.max(row, 0), Math.max(col, 0), row < 0 ? value(w, n).rows - 1 : row, col < 0 ? value(w, n).cols - 1 : col]
  : [n, row, col, row, col]
const sameCell = (w, n) => block(w, n, value(w, n).rows === 1 ? 0 : w.row, value(w, n).cols === 1 ? 0 : w.col)
const fromProduct = (ta, tb) => w => [block(w, 0, ta ? -1 : w.row, ta ? w.row : -1), block(w, 1, tb ? w.col : -1, tb ? -1 : w.col)]
const fromSame = w => w.s.from.slice(0, 2).map((_, n) => sameCell(w, n))
const fromLine = w => [block(w, 0, w.s.axis ? w.row : -1, w.s.axis ? -1 : w.col)]
const fromAlignment = w => [block(w, 0, w.row, -1), block(w, 1, w.col, -1), ...w.s.from.slice(2).map((_, n) => block(w, n + 2, -1, -1))]

// ---- The table ----
// formula: a digit is an operand, # the divisor, * all operands, : the columns. value: of the operands' matrices m and the step.

const operations = {
  given: {formula: '', value: (m, s) => s.value},
  matmul: {formula: '0 1', value: ([a, b]) => product(a, false, b, false), working: workProduct(false, false),
    sources: fromProduct(false, false), explain: explainProduct},
  matmul_nt: {formula: '0 1^T', value: ([a, b]) => product(a, false, b, true), working: workProduct(false, true),
    sources: fromProduct(false, true), explain: explainProduct},
  matmul_tn: {formula: '0^T 1', value: ([a, b]) => product(a, true, b, false), working: workProduct(true, false),
    sources: fromProduct(true, false), explain: explainProduct},
  transpose: {formula: '0^T', value: ([a]) => matrix(a.cols, a.rows, (i, j) => at(a, j, i)),
    working: w => operandAddress(w, 0, w.col, w.row), sources: w => [block(w, 0, w.col, w.row)], explain: explainProduct},
  divide: {formula: '0 / #', value: ([a], s) => each(a, x => x / s.scalar), working: workDivide, sources: fromSame,
    explain: explainScaled},
  mask: {formula: 'mask(0, 1)', value: ([a, b], s) => pairs(a, b, (x, y) => y !== 0 ? x : s.scalar), working: workMask,
    sources: w => isMasked(w) ? [sameCell(w, 1)] : fromSame(w), explain: explainMasked},
  softmax: {formula: 'softmax(0)', value: ([a], s) => softmax(a, s.axis), working: workSoftmax, sources: fromLine,
    explain: explainSoftmax},
  exp: {formula: 'exp(0)', value: ([a]) => each(a, Math.exp), working: w => power(here(w, 0)), sources: fromSame,
    explain: explainExponentials},
  sum: {formula: 'sum(0)',
    value: ([a], s) => matrix(s.axis ? a.rows : 1, s.axis ? 1 : a.cols, (i, j) => sumOfLine(a, s.axis, s.axis ? i : j)),
    working: w => series(w, lineLength(value(w, 0), w.s.axis),
      k => factor(inLine(value(w, 0), w.s.axis, w.s.axis ? w.row : w.col, k))),
    sources: fromLine, explain: explainExponentials},
  quotient: {formula: '0 / 1', value: ([a, b]) => pairs(a, b, (x, y) => x === 0 && y === 0 ? 0 : x / y),
    working: workPair(' / '), sources: fromSame, explain: explainExponentials},
  add: {formula: '0 + 1', value: ([a, b]) => a.rows === 1 && b.rows > 1 ? pairs(b, a, (x, y) => x + y) : pairs(a, b, (x, y) => x + y),
    working: workPair(' + '), sources: fromSame, explain: explainJoined},
  append: {formula: '*', value: append, working: workAppend, sources: w => [block(w, appended(w)[0], w.row, appended(w)[1])],
    explain: explainJoined},
  columns: {formula: '0:', value: ([a], s) => matrix(a.rows, s.cols, (i, j) => at(a, i, j + s.scalar)),
    working: w => operandAddress(w, 0, w.row, w.col + w.s.scalar), sources: w => [block(w, 0, w.row, w.col + w.s.scalar)],
    explain: explainCell},
  general: {formula: '0 2 1^T', value: ([q, k, m]) => product(product(q, false, m, false), false, k, true),
    working: workGeneral, sources: fromAlignment, explain: explainScores},
  additive: {formula: '4 · tanh(2 0 + 3 1)', value: m => additive(...m), working: workAdditive, sources: fromAlignment,
    explain: explainScores},
  positions: {formula: 'sin, cos', value: (m, s) => matrix(s.rows, s.cols, (t, c) => wave(s, t, c)),
    working: w => `${w.col % 2 ? 'cos' : 'sin'}(${number(frequency(w.s, Math.floor(w.col / 2)))}×${number(w.row)})`,
    explain: explainPositions},
  tanh: {formula: 'tanh(0)', value: ([a]) => each(a, Math.tanh), working: w => `tanh(${number(here(w, 0))})`,
    sources: fromSame, explain: explainCell},
  shift: {formula: '0 - max(0)', working: workShift, sources: fromLine, explain: explainCell,
    value: ([a], s) => byLine(a, s.axis, line => largest(a, s.axis, line), (x, top) => x - (Number.isFinite(top) ? top : 0))},
}

// ---- What the page calls ----

const isKnown = op => Object.hasOwn(operations, op)
const evaluate = s => operations[s.op].value(s.from.map(one => one.value), s)
const sources = (e, s, row, col) => operations[s.op].sources?.({e, s, row, col}) ?? []

// "Q[cats,0] = X[cats,:]·W_Q[:,0] = 1×1 + 0×2 = 1". terms: of a sum at most; 0: all.
function working(e, s, row, col, language, terms = 0) {
  const work = operations[s.op].working, result = number(at(s.value, row, col))
  const text = work ? ' = ' + work({e, s, row, col, language, terms}) : ''
  return address(e, s, row, col) + text + (s.op === 'mask' ? '' : ' = ' + result)
}

function appendedFormula(s) {
  const alike = s.from.every(one => one.symbol === s.from[0].symbol)
  return '[' + s.from.map(one => one.symbol + (alike && one.head >= 0 && s.head < 0 ? ` ${one.head + 1}` : '')).join(' | ') + ']'
}

const columnsFormula = s => s.cols < s.from[0].cols ? `[:, ${s.scalar}:${s.scalar + s.cols}]` : ''

function formula(s) {
  const text = operations[s.op].formula.replace(/[0-9#*:]/g, c => c === '*' ? appendedFormula(s) : c === ':' ? columnsFormula(s)
    : c === '#' ? (s.root ? '√' + s.root : number(s.scalar)) : s.from[c]?.symbol ?? '')
  return text === s.symbol ? '' : text
}

// Whether the mask hides the cell, so that it is exactly 0.
function isHidden(s, i, j) {
  const ofSoftmax = one => one.from.length && ['softmax', 'exp', 'quotient'].includes(one.op)
  if (!ofSoftmax(s) || at(s.value, i, j) !== 0) return false
  while (ofSoftmax(s)) s = s.from[0]
  if (i >= s.value.rows || j >= s.value.cols) return false
  if (at(s.value, i, j) === -Infinity) return true
  while (s.op === 'divide') s = s.from[0]
  return s.op === 'mask' && broadcast(s.from[1].value, i, j) === 0
}

// Explains the values of a step, as lines.
function explain(t, s) {
  operations[s.op].explain?.(t, s)
  if (s.name === 'weights') explainAttention(t, s)
}

// Whether a step changes nothing: a division by 1, a mask that hides nothing.
const isNeutral = s => s.op === 'divide' ? s.scalar === 1 : s.op === 'mask' && s.from[1].value.at.every(x => x !== 0)

// ---- Changes of the graph. changes: {cells, scaled, forgotten, scale, temperature, causal, other, plain}, lesson_live.js ----

const isEntry = s => ['softmax', 'exp', 'shift'].includes(s.op) && s.from[0].op !== 'shift' && isScorelike(s)
const isMask = s => s.op === 'mask' && isScorelike(s)
const canBePlain = s => s.op === 'matmul_nt' && isScorelike(s) && s.from[1].rows === s.from[0].cols
const causalMask = (s, on) => matrix(s.rows, s.cols, (i, j) => Number(!on || (s.axes[0] === 'q' ? j <= i : i <= j)))
const isSquare = s => isEntry(s) && s.rows === s.cols

function isAbove(s, op) {
  for (s = s.from[0]; s; s = ['divide', 'mask'].includes(s.op) ? s.from[0] : null) if (s.op === op) return true
  return false
}

// Inserts a step in front of each softmax of an example, once per operand.
function insert(e, op, make) {
  const made = new Map()
  for (const entry of e.steps.filter(isEntry)) {
    const input = entry.from[0]
    if (isAbove(entry, op)) continue
    if (!made.has(input)) {
      const step = {...input, op, root: 0, added: true, from: [input], ...make(entry)}
      step.id = entry.id.replace(/[^-]*$/, '') + step.name
      while (e.steps.some(one => one.id === step.id)) step.id = step.id.replace(/(\.\d+)?$/, '.0')
      step.symbol = step.text = step.name + (entry.head < 0 ? '' : `_${entry.head + 1}`)
      step.title = data.titles[step.name]
      made.set(input, step)
      e.steps.splice(e.steps.indexOf(entry), 0, step)
    }
    entry.from = [made.get(input), ...entry.from.slice(1)]
  }
}

function insertMask(e) {
  const like = e.steps.find(isEntry)
  if (!like) return
  const mask = {...like, id: `${like.id.match(/^(e\d+-)?/)[0]}mask`, name: 'mask', symbol: 'mask', text: 'mask', head: -1,
    title: data.titles.mask, op: 'given', from: [], added: true, value: causalMask(like, true)}
  e.steps.unshift(mask)
  insert(e, 'mask', () => ({name: 'masked', scalar: -Infinity}))
  for (const s of e.steps) if (s.op === 'mask' && s.added) s.from.push(mask)
}

function setMask(e, on) {
  const masks = e.steps.filter(isMask).map(s => s.from[1])
  for (const mask of masks.filter(s => s.op === 'given' && s.rows === s.cols)) mask.value = causalMask({...mask, axes: e.columns ? ['k', 'q'] : ['q', 'k']}, on)
  if (!masks.length && on) insertMask(e)
}

function setDivisor(s, changes) {
  if (changes.forgotten) {
    if (!s.added) s.forgotten = {...s} // as it should be
    return void ([s.scalar, s.root] = [1, 0])
  }
  const own = s.added ? 1 : s.scalar
  const divisor = !changes.scaled ? 1 : changes.scale ?? own
  const scalar = changes.temperature === 1 ? divisor : Math.max(Number((divisor * changes.temperature).toFixed(4)), 0.0001)
  if (scalar !== s.scalar) [s.scalar, s.root] = [scalar, 0]
}

function turnAxis(s) {
  if (!['softmax', 'sum', 'quotient', 'shift'].includes(s.op) || !isScorelike(s.from[0])) return
  s.axis = 1 - s.axis
  if (s.op === 'sum') s.axes = s.axis ? [s.from[0].axes[0], ''] : ['', s.from[0].axes[1]]
}

function change(e, changes) {
  if (changes.temperature !== 1 || changes.scale !== null) insert(e, 'divide', () => ({name: 'scaled', scalar: 1}))
  if (changes.causal !== null) setMask(e, changes.causal)
  for (const s of e.steps) {
    if (s.op === 'divide') setDivisor(s, changes)
    if (changes.other) turnAxis(s)
    if (changes.plain && canBePlain(s)) [s.stated, s.op] = [s.op, 'matmul']
  }
}
