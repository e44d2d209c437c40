// Numbers, names and messages as the library writes them (src/text, src/report/step_labels.c).
const data = JSON.parse(document.getElementById('x-data').textContent)
const LABEL_COLUMNS = 24

const say = (language, key, ...values) =>
  data.words[key][language].replace(/\{(\d)\}/g, (hole, n) => values[n] ?? hole)

// ---- Numbers: as printf, which rounds halves to even ----

// What a number rounded half away from zero must be instead; the digits are exact.
function toEven(rounded, digits, count) {
  const kept = digits.slice(0, -count), rest = digits.slice(-count)
  return /^50*$/.test(rest) && /[02468]\.?$/.test(kept) ? kept.replace(/\.$/, '') : rounded
}

function fixed(x, places) {
  const size = Math.abs(x), text = toEven(size.toFixed(places), size.toFixed(places + 60), 60)
  return (x < 0 ? '-' : '') + (places ? text : text.replace('.', ''))
}

const withoutZeros = text => text.includes('.') ? text.replace(/\.?0+$/, '') : text

function scientific(x, places) {
  const [digits, exponent] = Math.abs(x).toExponential(places).split('e')
  const [exact, own] = Math.abs(x).toExponential(places + 60).split('e')
  const rounded = own === exponent ? toEven(digits, exact, 60) : digits
  return (x < 0 ? '-' : '') + withoutZeros(rounded) + 'e' + Number(exponent)
}

function isExact(x, places) {
  const scaled = Math.abs(x) * Number('1e' + places)
  return scaled < 1e15 && Math.abs(scaled - Math.round(scaled)) <= 16e-16 * scaled
}

function number(x, places = data.precision) {
  const size = Math.abs(x)
  if (Number.isNaN(x)) return 'NaN'
  if (size === Infinity) return x < 0 ? '-∞' : '∞'
  if (x === 0) return '0'
  if (size >= 1e15) return scientific(x, places)
  if (places > 0 && size < 0.5 * Number('1e-' + places)) return scientific(x, Math.min(places, places < 2 ? places : 1))
  const text = isExact(x, places) ? withoutZeros(fixed(x, places)) : fixed(x, places)
  return text === '-0' ? '0' : text
}

const factor = x => x < 0 ? `(${number(x)})` : number(x)
const vector = values => `[${values.map(x => number(x)).join(', ')}]`

// ---- Names ----

const WIDE = /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{1f300}-\u{1faff}]|[\u{20000}-\u{3fffd}]/u
const width = text => [...text].reduce((sum, c) => sum + (/\p{M}|\u200d/u.test(c) ? 0 : WIDE.test(c) ? 2 : 1), 0)

function shorten(text, columns = LABEL_COLUMNS) {
  if (width(text) <= columns) return text
  let kept = ''
  for (const c of text) {
    if (width(kept + c) >= columns) break
    kept += c
  }
  return kept + '…'
}

// Characters that change the direction of the text around them or cannot be seen.
const displayable = text => text.replace(/[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb]/g, '\ufffd')

function tokensOf(e, s, axis) {
  const tokens = e[s.axes[axis]]
  return tokens && tokens.length === (axis ? s.value.cols : s.value.rows) ? tokens : null
}

const tokenOf = (e, s, axis, n) => tokensOf(e, s, axis)?.[n] || null
const unquoted = token => /^".+"$/.test(token) ? token.slice(1, -1) : token

function indexText(e, s, axis, n) {
  const token = tokenOf(e, s, axis, n)
  const alone = token && !/[,[\]: ，：]/.test(token) && width(token) <= LABEL_COLUMNS &&
    tokensOf(e, s, axis).every((other, k) => k === n || unquoted(other) !== unquoted(token))
  return !alone ? String(n) : /^[0-9]+$/.test(token) ? `"${token}"` : token
}

// "Q[cats,:]"; a negative index: all.
const address = (e, s, row, col) =>
  `${s.text}[${row < 0 ? ':' : indexText(e, s, 0, row)},${col < 0 ? ':' : indexText(e, s, 1, col)}]`

const isScorelike = s => s.axes[0] + s.axes[1] === 'qk' || s.axes[0] + s.axes[1] === 'kq'

// ---- Formulas as MathML ----

const MATH = 'http://www.w3.org/1998/Math/MathML'
const NAME = /^(?:[A-Za-z0-9.']|(?![√×])[^\0-\x7f])+/u

function math(tag, ...children) {
  const one = document.createElementNS(MATH, tag)
  one.append(...children)
  return one
}

const mathName = text => math(/^\d/.test(text) ? 'mn' : 'mi', text)

// The name at the start of the text with its sub- or superscript, and what follows.
function mathScripted(text) {
  const base = text.match(NAME)[0], mark = text[base.length], braced = /^[_^]\{/.test(text.slice(base.length))
  let rest = text.slice(base.length + 1 + braced)
  if (mark !== '_' && mark !== '^' || !NAME.test(rest)) return [mathName(base), text.slice(base.length)]
  const row = math('mrow')
  for (let name = rest.match(NAME); name; name = rest[0] === '_' && rest.slice(1).match(NAME)) {
    if (row.firstChild) row.append(math('mo', ',')), rest = rest.slice(1)
    row.append(mathName(name[0]))
    rest = rest.slice(name[0].length)
  }
  return [math(mark === '_' ? 'msub' : 'msup', mathName(base), row), rest.replace(braced ? /^\}/ : /^$/, '')]
}

function formulaElement(text) {
  const row = math('mrow')
  while (text) {
    if (text[0] === ' ') {
      row.append(math('mtext', '\u00a0'))
      text = text.slice(1)
    } else if (NAME.test(text) || text[0] === '√' && NAME.test(text.slice(1))) {
      const root = text[0] === '√', [one, rest] = mathScripted(root ? text.slice(1) : text)
      row.append(root ? math('msqrt', one) : one)
      text = rest
    } else {
      const sign = [...text][0]
      row.append(math('mo', sign))
      if (sign === '(' || sign === ')') row.lastChild.setAttribute('stretchy', 'false')
      text = text.slice(sign.length)
    }
  }
  return math('math', row)
}
