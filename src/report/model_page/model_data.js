// Weights are levels from 0 to input.levels. The elements of class weights-INPUT-KIND have the maps of a kind one after the
// other, each (queries, keys): the heads, then the rollouts, one per layer. They follow this script, so that the map in the
// element "first" can be drawn before they have been parsed.
const data = JSON.parse(document.getElementById('data').textContent)
const kindNames = [['Encoder', 'エンコーダ'], ['Decoder', 'デコーダ'], ['Cross-attention', 'クロスアテンション']]
const kindWords = ['encoder', 'decoder', 'cross']
const state = {input: 0, kind: 0, layer: 0, head: 'mean', query: null, key: null}

const the = id => document.getElementById(id)
const language = () => the('to-ja').checked ? 1 : 0
const clamp = (x, low, high) => Math.min(Math.max(x, low), high)

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties)
  element.append(...children)
  return element
}

// A text in both languages; a rule of the page hides one.
function both(en, ja) {
  const fragment = document.createDocumentFragment()
  fragment.append(make('span', {lang: 'en', textContent: en}), make('span', {lang: 'ja', textContent: ja}))
  return fragment
}

const input = () => data.inputs[state.input]
const kind = () => input().kinds[state.kind]
const layersOf = k => [...new Set(k.maps.map(map => map.layer))].sort((a, b) => a - b)
const headsOf = k => [...new Set(k.maps.map(map => map.head))].sort((a, b) => a - b)
const isMasked = (k, i, j) => k.kind === 1 && j > i

function unpacked(elements) {
  const text = [...elements].map(one => atob(one.textContent)).join(''), bytes = new Uint8Array(text.length)
  for (let n = 0; n < bytes.length; n++) bytes[n] = text.charCodeAt(n)
  return bytes
}

async function inflate(elements, levels) {
  const stream = new Blob([unpacked(elements)]).stream().pipeThrough(new DecompressionStream('deflate'))
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer())
  if (levels <= 255) return bytes
  const count = bytes.length / 2, result = new Uint16Array(count)
  for (let at = 0; at < count; at++) result[at] = bytes[at] << 8 | bytes[count + at]
  return result
}

const parsed = new Promise(done => document.addEventListener('DOMContentLoaded', done))
for (const k of data.inputs.flatMap(one => one.kinds)) k.cache = new Map()

async function load(n, k) {
  if (k.levels) return
  await parsed
  k.levels = await inflate(document.getElementsByClassName(`weights-${n}-${k.kind}`), data.inputs[n].levels)
}

// 16 bits, the high byte first.
function loadFirst() {
  if (!the('first')) return
  const one = data.inputs[0], k = one.kinds.find(some => some.kind === data.kind), bytes = unpacked([the('first')])
  const levels = new Float32Array(bytes.length / 2)
  for (let n = 0; n < levels.length; n++) levels[n] = (bytes[2 * n] << 8 | bytes[2 * n + 1]) * one.levels / 65535
  k.cache.set(`${data.layer} ${data.head || 'mean'}`, levels)
}

const part = (k, n) => {
  const size = k.queries.length * k.keys.length
  return k.levels.subarray(n * size, (n + 1) * size)
}

function combine(k, layer, largest) {
  const maps = k.maps.flatMap((map, n) => !layer || map.layer === layer ? [part(k, n)] : [])
  const result = new Float32Array(k.queries.length * k.keys.length)
  for (const map of maps)
    if (largest) for (let n = 0; n < result.length; n++) { if (map[n] > result[n]) result[n] = map[n] }
    else for (let n = 0; n < result.length; n++) result[n] += map[n]
  if (!largest) for (let n = 0; n < result.length; n++) result[n] /= maps.length
  return result
}

// The levels of a map: layer 0 is all layers, head a number, 'mean', 'max' or 'rollout'. Undefined: no such map.
// Undefined also while the weights are not loaded.
function levelsOf(k, layer, head) {
  const name = `${layer} ${head}`
  if (k.cache.has(name)) return k.cache.get(name)
  if (!k.levels) return undefined
  if (head === 'rollout') return layer && layer <= k.rollouts ? part(k, k.maps.length + layer - 1) : undefined
  if (typeof head === 'number') {
    const n = k.maps.findIndex(map => map.layer === layer && map.head === head)
    return n < 0 ? undefined : part(k, n)
  }
  if (!['mean', 'max'].includes(head) || (layer && !layersOf(k).includes(layer))) return undefined
  k.cache.set(name, combine(k, layer, head === 'max'))
  return k.cache.get(name)
}

const current = () => levelsOf(kind(), state.layer, state.head)
const weightAt = (i, j) => current()[i * kind().keys.length + j] / input().levels

const digits = () => input().levels > 255 ? 4 : 3
const number = weight => weight.toFixed(digits())

function largestOf(levels) {
  let largest = 0
  for (const level of levels) if (level > largest) largest = level
  return largest
}

// Names of layers and heads, in both languages.
function headName(head) {
  if (head === 'mean') return ['mean', '平均']
  if (head === 'max') return ['max', '最大']
  if (head === 'rollout') return ['rollout', 'ロールアウト']
  return [`head ${head}`, `ヘッド${head}`]
}

function mapName(layer, head) {
  if (typeof head === 'number') return [`Layer ${layer}, head ${head}`, `第${layer}層 ヘッド${head}`]
  if (head === 'rollout') return [`Attention rollout, layers 1 to ${layer}`, `アテンションロールアウト、第1〜${layer}層`]
  if (!layer) return head === 'mean' ? ['Mean of all layers and heads', '全層・全ヘッドの平均']
    : ['Largest weight over all layers and heads', '全層・全ヘッドの最大']
  return head === 'mean' ? [`Layer ${layer}, mean of its heads`, `第${layer}層 ヘッドの平均`]
    : [`Layer ${layer}, largest weight over its heads`, `第${layer}層 ヘッドの最大`]
}

// The 64 colours of the theme, as the little-endian pixels of a canvas; white or black for text on them.
const dark = matchMedia('(prefers-color-scheme:dark)')
let pixels, onColor

function readColors() {
  const text = data.colors[dark.matches ? 1 : 0]
  pixels = new Uint32Array(64), onColor = []
  for (let n = 0; n < 64; n++) {
    const rgb = [0, 2, 4].map(at => parseInt(text.slice(6 * n + at, 6 * n + at + 2), 16))
    pixels[n] = (255 << 24 | rgb[2] << 16 | rgb[1] << 8 | rgb[0]) >>> 0
    const linear = rgb.map(c => c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4)
    onColor[n] = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.179 ? '#000' : '#fff'
  }
}

const colorOf = (level, full) => level >= full ? 63 : level * 63 / full + 0.5 | 0
