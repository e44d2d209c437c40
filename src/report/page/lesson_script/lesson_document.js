// The steps of the page as a document that attn check reads: Markdown tables, or a snippet for a lesson from Python.

// As many digits as identify a given number; four decimals of a computed one.
const givenText = x => x === -Infinity ? '-inf' : String(x)
const computedText = x => x === -Infinity ? '-inf' : Number.isInteger(x) && Math.abs(x) < 1e15 ? String(x)
  : Math.abs(x) < 5e-5 ? scientific(x, 3) : fixed(x, 4)

const SYMBOLS = {W_A: 'W', U_A: 'U', V_A: 'v', exponentials: 'exp', row_sum: 'row sum'}

const isLeftOut = s => isNeutral(s) && !s.forgotten

// A document leaves out what changes nothing, and the mask of such a step.
function documentSteps(e) {
  const kept = e.steps.filter(s => !isLeftOut(s)), used = new Set(kept.flatMap(s => s.from))
  return kept.filter(s => s.name !== 'mask' || used.has(s))
}

function operandOf(s) {
  while (isLeftOut(s)) s = s.from[0]
  return s
}

// A name that the reader knows.
function documentName(s) {
  const name = s.name === 'other' ? s.symbol : SYMBOLS[s.name] ?? s.name
  return s.head < 0 ? name : `${name}_${s.head + 1}`
}

// In a table: no character that ends a cell, and no digits that could be a number.
const cellName = text => displayable(text).replace(/[|`\\*_$#"\ufffd]/g, '·').replace(/ /g, '␣')

function documentTable(e, s) {
  const name = (axis, n) => cellName(tokenOf(e, s, axis, n) ?? (axis ? `e${n + 1}` : `r${n + 1}`))
  const value = s.op === 'given' ? givenText : computedText
  const rows = [['', ...Array.from({length: s.value.cols}, (_, j) => name(1, j))], Array(s.value.cols + 1).fill('---')]
  for (let i = 0; i < s.value.rows; i++)
    rows.push([name(0, i), ...Array.from({length: s.value.cols}, (_, j) => value(at(s.value, i, j)))])
  return rows.map(row => `| ${row.join(' | ')} |`).join('\n')
}

// Of a slip (√d_k forgotten, softmax over the queries, K not transposed) the usual formula, so that attn check finds it.
function documentFormula(e, s) {
  const names = s.from.map(one => documentName(operandOf(one)))
  if (s.op === 'given' || s.op === 'columns') return ''
  if (s.op === 'mask') return 'masked: minus infinity hides'
  if (s.op === 'positions') return `positions of base ${s.base}, k counted from ${s.scalar}: sin and cos`
  if (s.op === 'append') return `${documentName(s)} = [${names.join(' | ')}]`
  if (s.op === 'additive') return `${documentName(s)} = ${names[4]}^T tanh(${names[2]} ${names[0]} + ${names[3]} ${names[1]})`
  const {root, scalar} = s.forgotten ?? s, by = root ? `sqrt(${root})` : givenText(scalar)
  const right = operations[s.stated ?? s.op].formula.replace(/[0-9#]/g, c => c === '#' ? by : names[c])
  return `${documentName(s)} = ${right}${s.op === 'softmax' && e.columns ? ' down each column' : ''}`
}

function documentTokens(e) {
  const line = (name, tokens) => tokens.length ? [`${name}: ${tokens.map(t => cellName(t)).join(' ')}`] : []
  return String(e.q) === String(e.k) ? line('tokens', e.k) : []
}

function exampleDocument(e, n) {
  const several = data.examples.length > 1, title = cellName(e.title || 'Attention').replace(/␣/g, ' ')
  const blocks = [several ? `## Example ${n + 1}: ${title}` : `# ${title}`, ...documentTokens(e)]
  let head = -1
  for (const s of documentSteps(e)) {
    if (s.head !== head) blocks.push(`##${several ? '#' : ''} ${s.head < 0 ? 'All heads' : `Head ${s.head + 1}`}`)
    head = s.head
    const text = documentFormula(e, s)
    if (text) blocks.push(text)
    if (!s.forgotten) blocks.push(`${documentName(s)}:`, documentTable(e, s))
  }
  return blocks.join('\n\n')
}

// ---- A Python snippet ----

const list = (m, text) => '[' + Array.from({length: m.rows}, (_, i) =>
  '[' + Array.from({length: m.cols}, (_, j) => text(at(m, i, j)).replace('-inf', 'float("-inf")')).join(', ') + ']').join(', ') + ']'

function snippet(e) {
  const names = new Map(), lines = ['import torch', 'import torch.nn.functional as F', '']
  for (const s of documentSteps(e)) {
    const wanted = /^[A-Za-z]\w*$/.test(s.symbol) ? s.symbol : s.name
    let name = wanted
    for (let n = 2; [...names.values()].includes(name); n++) name = `${wanted}_${n}`
    const from = s.from.map(one => names.get(operandOf(one))), [a, b, c] = from
    names.set(s, name)
    const divisor = s.root ? `${s.root}**0.5` : givenText(s.scalar)
    const code = {
      given: () => `torch.tensor(${list(s.value, givenText)})`, matmul: () => `${a} @ ${b}`, matmul_nt: () => `${a} @ ${b}.T`,
      matmul_tn: () => `${a}.T @ ${b}`, transpose: () => `${a}.T`, divide: () => `${a} / ${divisor}`,
      mask: () => `${a}.masked_fill(${b} == 0, ${Number.isFinite(s.scalar) ? s.scalar : 'float("-inf")'})`,
      softmax: () => `F.softmax(${a}, dim=${s.axis ? -1 : 0})`, exp: () => `torch.exp(${a})`,
      sum: () => `${a}.sum(dim=${s.axis ? -1 : 0}, keepdim=True)`, quotient: () => `${a} / ${b}`, add: () => `${a} + ${b}`,
      columns: () => `${a}[:, ${s.scalar}:${s.scalar + s.cols}]`,
      append: () => `torch.cat([${from.join(', ')}], dim=-1)`, general: () => `${a} @ ${c} @ ${b}.T`, tanh: () => `torch.tanh(${a})`,
      shift: () => `${a} - ${a}.max(dim=${s.axis ? -1 : 0}, keepdim=True).values`,
    }[s.op]
    if (!code) return null
    lines.push(`${name} = ${code()}` + (s.op === 'given' ? '' : `  # → ${list(s.value, computedText)}`))
  }
  return lines.join('\n')
}

function documentText() {
  const snippets = examples.map(e => e.python ? snippet(e) : null)
  if (snippets.length && snippets.every(Boolean)) return snippets.join('\n\n') + '\n'
  return examples.map(exampleDocument).join('\n\n') + '\n'
}
