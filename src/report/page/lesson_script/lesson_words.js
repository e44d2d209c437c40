// Explanations of steps, as src/report/explain writes them. t: {e, language, query, done, lines}.
const TERMS = 12, LINES = 16, NAMES_MAX = 5, GROUPS_MAX = 4, VECTOR_MAX = 8

const tell = (t, key, ...values) => say(t.language, key, ...values)
const put = (t, text) => { t.lines.push(text.replace(/ +/g, ' ').trim()) }

function once(t, key, ...values) {
  if (t.done.has(key)) return
  t.done.add(key)
  put(t, tell(t, key, ...values))
}

function labelOf(t, kind, n) {
  const token = t.e[kind][n]
  if (!token) return '#' + (n + t.e.oneBased)
  const label = shorten(token)
  return t.language && label[0] !== '#' ? `「${label}」` : label
}
const queryName = (t, n) => labelOf(t, 'q', n)
const keyName = (t, n) => labelOf(t, 'k', n)

// ---- Cells by query and key ----

const isDown = s => s.axes[1] === 'q'
const keyCount = s => isDown(s) ? s.value.rows : s.value.cols
const queryCount = s => s.axes[0] === 'q' ? s.value.rows : s.value.cols

function cellOfKey(s, query, key) {
  const row = query >= (isDown(s) ? s.value.cols : s.value.rows) ? 0 : query
  return isDown(s) ? [key, row] : [row, key]
}

// The first query that sees the most keys.
function followedQuery(e) {
  const s = e.steps.find(one => one.op === 'mask' && isScorelike(one))
  if (!s || Number.isFinite(s.scalar)) return 0
  const axis = s.axes[0] === 'q' ? 1 : 0
  const counts = Array.from({length: queryCount(s)}, (_, q) => sumOfLine(s.value, axis, q, x => Math.abs(x) !== Infinity))
  return counts.indexOf(Math.max(...counts))
}

// ---- Families of steps ----

function explainCell(t, s) {
  const row = s.axes[0] === 'q' && t.query < s.value.rows ? t.query : 0
  const col = s.axes[1] === 'q' && t.query < s.value.cols ? t.query : 0
  put(t, tell(t, 'ONE_CELL') + working(t.e, s, row, col, t.language, TERMS))
}

function explainQuery(t, s) {
  const keys = keyCount(s)
  put(t, tell(t, isDown(s) ? 'ONE_COLUMN' : 'ONE_ROW', queryName(t, t.query)))
  for (let k = 0; k < keys && k < LINES; k++) put(t, working(t.e, s, ...cellOfKey(s, t.query, k), t.language, TERMS))
  if (keys > LINES) put(t, tell(t, 'MORE_CELLS', keys - LINES))
}

function explainProduct(t, s) {
  const what = {Q: 'WHAT_Q', K: 'WHAT_K', V: 'WHAT_V', projected: 'WHAT_PROJECTED'}[s.name]
  if (isScorelike(s)) return explainScores(t, s)
  if (s.from.length > 1 && s.op !== 'matmul_nt' && s.from[0].name === 'weights') return explainOutput(t, s)
  if (what) once(t, what)
  explainCell(t, s)
}

function explainScores(t, s) {
  once(t, {general: 'WHAT_GENERAL', additive: 'WHAT_ADDITIVE'}[s.op] ?? 'WHAT_DOT')
  explainQuery(t, s)
}

function explainScaled(t, s) {
  if (!s.root) put(t, tell(t, 'DIVIDED_BY', number(s.scalar)))
  else once(t, 'WHY_SCALED', s.root, number(s.scalar))
  explainCell(t, s)
}

function explainHidden(t, s, mask, query) {
  const hidden = [], keys = keyCount(s)
  for (let k = 0; k < keys; k++)
    if (broadcast(mask, ...cellOfKey(s, query, k)) === 0) hidden.push(keyName(t, k))
  const list = hidden.slice(0, 8).join(tell(t, 'COMMA')) + (hidden.length > 8 ? tell(t, 'COMMA') + '…' : '')
  const key = !hidden.length ? 'MASKED_NONE' : hidden.length === keys ? 'MASKED_ALL' : 'MASKED_SOME'
  put(t, tell(t, key, queryName(t, query), list))
}

function explainMasked(t, s) {
  if (!t.done.has('WHAT_MASK')) {
    t.done.add('WHAT_MASK')
    put(t, tell(t, Number.isFinite(s.scalar) ? 'WHAT_MASK_FINITE' : 'WHAT_MASK', number(s.scalar)))
  }
  if (!isScorelike(s)) return
  for (let q = 0; q < queryCount(s) && q < LINES; q++) explainHidden(t, s, s.from[1].value, q)
}

// The terms of a line; after TERMS of them an ellipsis.
const listed = (count, piece, between) => {
  const all = count > TERMS + 1
  return Array.from({length: all ? TERMS : count}, (_, k) => piece(k)).join(between) + (all ? between + '…' : '')
}

function explainSoftmax(t, s) {
  const a = s.from[0].value, axis = s.axis, count = lineLength(a, axis)
  const line = t.query < (axis ? a.rows : a.cols) ? t.query : 0, shift = shiftOf(a, axis, line)
  const exponent = k => inLine(a, axis, line, k) - shift, sum = sumOfLine(a, axis, line, x => Math.exp(x - shift))
  once(t, axis ? 'WHAT_SOFTMAX_ROWS' : 'WHAT_SOFTMAX_COLUMNS')
  if (!(sum > 0)) return put(t, tell(t, 'MASKED_ALL', queryName(t, line)))
  put(t, tell(t, axis ? 'ONE_ROW' : 'ONE_COLUMN', queryName(t, line)))
  if (shift) put(t, tell(t, 'MINUS_MAXIMUM', number(shift)))
  const e = k => number(Math.exp(exponent(k)))
  put(t, tell(t, 'EXPONENTIALS_ARE') + listed(count, k => `${power(exponent(k))} = ${e(k)}`, ', '))
  put(t, `${tell(t, 'SUM_IS')}${listed(count, e, ' + ')} = ${number(sum)}`)
  put(t, tell(t, 'QUOTIENTS_ARE') +
    listed(count, k => `${e(k)} / ${number(sum)} = ${number(Math.exp(exponent(k)) / sum)}`, ', '))
}

function explainExponentials(t, s) {
  once(t, {exp: 'WHAT_EXP', sum: 'WHAT_SUM'}[s.op] ?? 'WHAT_QUOTIENT')
  if (s.op === 'sum') explainCell(t, s)
  else explainQuery(t, s)
}

function explainOutput(t, s) {
  const a = s.from[0].value, v = s.from[1].value, down = s.op === 'matmul_tn'
  once(t, 'WHAT_OUTPUT')
  if (v.cols > VECTOR_MAX || v.rows > LINES) return explainCell(t, s)
  const row = t.query < s.value.rows ? t.query : 0
  const rowOf = (m, i) => Array.from(m.at.subarray(i * m.cols, (i + 1) * m.cols))
  const terms = Array.from({length: v.rows},
    (_, k) => `${factor(down ? at(a, k, row) : at(a, row, k))}×${vector(rowOf(v, k))}`)
  put(t, tell(t, 'WEIGHTED_SUM', queryName(t, row)))
  put(t, `${address(t.e, s, row, -1)} = ${terms.join(' + ')} = ${vector(rowOf(s.value, row))}`)
}

function explainJoined(t, s) {
  once(t, s.name === 'concat' ? 'WHAT_CONCAT' : s.op === 'add' ? 'WHAT_ADD' : 'WHAT_APPEND')
  explainCell(t, s)
}

function explainPositions(t, s) {
  once(t, 'WHAT_POSITIONS')
  put(t, tell(t, 'POSITIONS_FROM', s.cols, fixed(s.scalar, 0), s.base))
  for (let pair = 0; pair < (s.cols + 1) >> 1 && pair < LINES; pair++) {
    const w = frequency(s, pair)
    put(t, tell(t, 'FREQUENCY', fixed(s.scalar + pair, 0), number(w), number(2 * Math.PI / w, 2)))
  }
  once(t, 'BINARY')
  put(t, tell(t, 'ONE_CELL') + working(t.e, s, s.rows > 1 ? 1 : 0, 0, t.language, TERMS))
}

// ---- Which keys each query attends to ----

const isSame = (a, b) => Math.abs(a - b) <= 1e-9 * Math.max(Math.abs(a), Math.abs(b))

function listNames(t, names) {
  const and = t.language && names.length > 2 ? tell(t, 'COMMA') : tell(t, 'AND')
  const shown = names.length > NAMES_MAX
    ? [...names.slice(0, NAMES_MAX - 1), tell(t, 'AND_OTHERS', names.length - NAMES_MAX + 1)] : names
  return shown.slice(0, -1).join(tell(t, 'COMMA')) + (shown.length > 1 ? and : '') + shown.at(-1)
}

// Keys of equal weight, from the largest: [{weight, keys, list}].
function attentionGroups(t, s, query) {
  const weights = Array.from({length: keyCount(s)}, (_, k) => at(s.value, ...cellOfKey(s, query, k))), groups = []
  let below = Infinity
  while (groups.length <= GROUPS_MAX) {
    const weight = Math.max(0, ...weights.filter(w => w < below && !(Number.isFinite(below) && isSame(w, below))))
    if (!(weight > 0)) break
    const keys = weights.flatMap((w, k) => isSame(w, weight) ? [k] : [])
    groups.push({weight, keys: keys.length, list: listNames(t, keys.map(k => keyName(t, k)))})
    below = weight
  }
  return groups
}

function attentionSentence(t, s, query) {
  const name = queryName(t, query), keys = keyCount(s), groups = attentionGroups(t, s, query), [first] = groups
  if (!first) return tell(t, 'ATTENDS_NONE', name) + tell(t, 'ATTENDS_END')
  const uniform = first.keys === keys && keys > 1
  const key = uniform ? 'ATTENDS_UNIFORMLY' : first.keys > 1 ? 'ATTENDS_EQUALLY' : groups.length === 1 ? 'ATTENDS_ONLY'
    : first.weight > 0.5 ? 'ATTENDS_MOSTLY' : 'ATTENDS_MOST'
  let text = tell(t, key, name, uniform ? keys : first.list, number(first.weight))
  groups.slice(1, GROUPS_MAX).forEach((group, n) => {
    text += tell(t, (n ? 'NEXT_' : 'THEN_') + (group.keys > 1 ? 'EQUALLY' : 'ONE'), group.list, number(group.weight))
  })
  return text + tell(t, groups.length > 1 ? 'ATTENDS_RANKED' : 'ATTENDS_END')
}

function explainAttention(t, s) {
  if (!isScorelike(s)) return
  const queries = queryCount(s)
  for (let q = 0; q < queries && q < LINES; q++) put(t, attentionSentence(t, s, q))
  if (queries > LINES) put(t, tell(t, 'MORE_ROWS', queries - LINES))
}
