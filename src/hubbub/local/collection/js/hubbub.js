/**
 * Hubbub in the browser: one person's side of a collection.
 *
 *   import { Client, openSigned } from "./hubbub.js";
 *   const collection = await openSigned(text, publicKey);      // the key comes with your page, never with the text
 *   const client = new Client(collection, localStorage);
 *   await fetch("/reports", { method: "POST", body: await client.report(1, 0) });
 *
 * It depends on nothing but WebCrypto. A report is a fixed function of a value and of random 64-bit words: a coin is
 * `word < threshold`, a uniform integer below k is `(word * k) >> 64`, both on BigInt. No floating point touches the
 * sampling, so reports are byte for byte those of the Python client for the same random bytes.
 */

const WORD = 1n << 64n;
const MASK = WORD - 1n;
const FORMAT = 1;
const HEADER = 64;
const FRAME = 12;
const LONGEST = 1 << 20; // characters of a signed text

/** A configuration that is unreadable, unsigned, or not the one that was meant. */
export class BadCollection extends Error {}

/** A memory that was damaged: never taken for an empty one. */
export class BadMemory extends Error {}

/** A report, or a frame of reports, that cannot be read. */
export class BadReport extends Error {}

// Integers

const toBig = (number) => BigInt(number);
const below = (word, k) => Number((word * toBig(k)) >> 64n);
const bitLength = (number) => (number === 0 ? 0 : number.toString(2).length);
const bytesFor = (symbols) => Math.max(1, Math.ceil(bitLength(symbols - 1) / 8));
const parity = (number) => {
  let odd = 0;
  for (let left = number; left > 0; left = Math.floor(left / 2)) odd ^= left % 2;
  return odd;
};

/** A non-negative integer as little-endian bytes. */
function toBytes(number, size) {
  const bytes = new Uint8Array(size);
  for (let i = 0, left = toBig(number); i < size; i++, left >>= 8n) bytes[i] = Number(left & 255n);
  return bytes;
}

/** Truth values as bits, eight in a byte, the first one lowest. */
function packBits(bits) {
  const bytes = new Uint8Array(Math.ceil(bits.length / 8));
  bits.forEach((bit, i) => { if (bit) bytes[i >> 3] |= 1 << (i & 7); });
  return bytes;
}

/** Random bytes as 64-bit words, little-endian. */
function wordsOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.byteLength / 8 }, (_, i) => view.getBigUint64(8 * i, true));
}

const isText = (pattern) => (value) => typeof value === "string" && pattern.test(value);
const isWhole = (number, least, most) => Number.isSafeInteger(number) && number >= least && number <= most;
const must = (holds, words) => { if (!holds) throw new BadCollection(words); };

// Rational numbers: pairs of BigInt, the second above 0.

const isRational = isText(/^[1-9][0-9]{0,39}(\/[1-9][0-9]{0,39})?$/);
const parts = (text) => {
  const [top, bottom = "1"] = text.split("/");
  return [BigInt(top), BigInt(bottom)];
};
function rational(text) {
  must(isRational(text), "a number is not a rational above 0");
  return parts(text);
}
const plus = ([a, b], [c, d]) => [a * d + c * b, b * d];
const minus = ([a, b], [c, d]) => [a * d - c * b, b * d];
const times = (k, [a, b]) => [toBig(k) * a, b];
const product = ([a, b], [c, d]) => [a * c, b * d];
const quotient = ([a, b], [c, d]) => [a * d, b * c];
const atMost = ([a, b], [c, d]) => a * d <= c * b;
const lesser = (x, y) => (atMost(x, y) ? x : y);
const wholeParts = ([a, b], [c, d]) => (a < 0n ? 0 : Number((a * d) / (b * c)));
const gcd = (a, b) => (b === 0n ? a : gcd(b, a % b));
/** The one text of a rational: in lowest terms. */
function lowest([a, b]) {
  const common = gcd(a < 0n ? -a : a, b);
  return b === common ? `${a / common}` : `${a / common}/${b / common}`;
}
const bits = (number) => number.toString(2).length;

/** The double nearest to a rational (0, or within 2^-1021 and 2^1023): 64 bits, the last one saying if more follow. */
function toNumber([a, b]) {
  if (a < 0n) return -toNumber([-a, b]);
  if (a === 0n) return 0;
  const shift = 64 + bits(b) - bits(a);
  const [top, bottom] = shift > 0 ? [a << BigInt(shift), b] : [a, b << BigInt(-shift)];
  const word = (top / bottom) | (top % bottom ? 1n : 0n);
  const half = Math.trunc(-shift / 2); // 2 to all of it may be too small for a double by itself
  return Number(word) * 2 ** half * 2 ** (-shift - half);
}

// e^epsilon, enclosed in integers as the Python client encloses it: to the last bit, so that thresholds can be compared.

const BITS = 256n;

/** The two integers around 2^256 e^-x. */
function expNeg([top, bottom]) {
  const halvings = (top < bottom ? 0 : bits(top / bottom)) + 8;
  const precision = BITS + BigInt(2 * halvings + 16);
  const y = (top << precision) / (bottom << BigInt(halvings));
  let [value, term, terms] = [1n << precision, 1n << precision, 0n];
  while (term > 0n) {
    terms += 1n;
    term = ((term * y) >> precision) / terms;
    value += terms % 2n ? -term : term;
  }
  let error = 2n * terms + 4n;
  for (let turn = 0; turn < halvings; turn++) [value, error] = [(value * value) >> precision, 2n * error + 2n];
  const drop = precision - BITS;
  return [(value - error) >> drop, ((value + error) >> drop) + 1n];
}
const expLow = (x) => [1n << BITS, expNeg(x)[1]];
const expHigh = (x) => [1n << BITS, expNeg(x)[0]];
const halfOf = ([a, b]) => [a, 2n * b];

/** The largest threshold of a coin that is never likelier than these odds. */
const threshold = ([a, b]) => (WORD * a) / (a + b);
/** How many words, at least and at most, stand for one integer below k. */
const fewest = (k) => WORD / toBig(k);
const most = (k) => (WORD + toBig(k) - 1n) / toBig(k);

/** The logarithm of a ratio above 1, in millionths, rounded up. */
function millionthsAbove(ratio) {
  let millionths = Math.max(1, Math.ceil(Math.log(toNumber(ratio)) * 1e6));
  while (!atMost(ratio, expLow([toBig(millionths), 1000000n]))) millionths++;
  return toBig(millionths);
}

// Hashing into buckets

function mix(number) {
  let z = (number + 0x9e3779b97f4a7c15n) & MASK;
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & MASK;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & MASK;
  return z ^ (z >> 31n);
}

function bucket(seed, code, buckets) {
  const line = (mix(toBig(seed)) * toBig(code) + mix(toBig(seed) + (1n << 32n))) & MASK;
  return Number(((line >> 32n) * toBig(buckets)) >> 32n);
}

// Randomizers. Each is made from its signed parameters and has:
//   code(value): the public, total map to integers; words: how many a report takes; size: bytes of a payload;
//   report(code, words): the payload
// Those that remember have part, kind, memo, step instead of report (see the client).

const numeric = (value) => (typeof value === "bigint" || typeof value === "boolean" ? Number(value) : value);

const frequency = (p, domain = p.domain) => {
  const known = (number) => isWhole(number, 0, domain - 1);
  must(known(p.missing), "what counts as missing is not in its domain");
  return { domain, missing: p.missing, code: (value) => (known(numeric(value)) ? numeric(value) : p.missing) };
};

const keepOr = (value, k, keep, coin, word) => {
  if (coin < keep) return value;
  const other = below(word, k - 1);
  return other + (other >= value ? 1 : 0);
};

function binary(p, [keep]) {
  const report = (code, [coin]) => toBytes(coin < keep ? code : 1 - code, 1);
  return { ...frequency(p, 2), words: 1, size: 1, report };
}

function sign(p, [keep]) {
  const code = (value) => ([1, -1].includes(numeric(value)) ? numeric(value) : p.missing) === 1 ? 1 : 0;
  const report = (number, [coin]) => toBytes(coin < keep ? number : 1 - number, 1);
  return { missing: p.missing, code, words: 1, size: 1, report };
}

function kary(p, [keep]) {
  const size = bytesFor(p.domain);
  const report = (code, [coin, word]) => toBytes(keepOr(code, p.domain, keep, coin, word), size);
  return { ...frequency(p), words: 2, size, report };
}

function unary(p, [own, other]) {
  const report = (code, words) => packBits(words.map((word, i) => word < (i === code ? own : other)));
  return { ...frequency(p), words: p.domain, size: Math.ceil(p.domain / 8), report };
}

function hashing(p, [keep]) {
  const size = 4 + bytesFor(p.buckets);
  const report = (code, [first, coin, word]) => {
    const seed = Number(first >> 32n);
    return toBytes(seed + 2 ** 32 * keepOr(bucket(seed, code, p.buckets), p.buckets, keep, coin, word), size);
  };
  return { ...frequency(p), words: 3, size, report };
}

function hadamard(p, [keep]) {
  const bits = bitLength(p.domain);
  const size = bytesFor(2 ** bits);
  const report = (code, [coin, word]) => {
    const row = code + 1;
    const column = Number(word >> toBig(64 - bits));
    const even = parity(row & column) === 0;
    return toBytes(even === coin < keep ? column : column ^ (row & -row), size);
  };
  return { ...frequency(p), words: 2, size, report };
}

function onebit(p, [keep]) {
  const bits = bitLength(p.domain - 1);
  const size = bytesFor(2 ** (bits + 1));
  const report = (code, [word, coin]) => {
    const column = Number(word >> toBig(64 - bits));
    return toBytes(2 * column + (parity(code & column) ^ (coin < keep ? 0 : 1)), size);
  };
  return { ...frequency(p), words: 2, size, report };
}

function subset(p, [inside]) {
  const report = (code, [coin, ...words]) => {
    const own = coin < inside;
    const chosen = new Array(p.domain).fill(false);
    words.forEach((word, step) => {
      const last = p.domain - 1 - p.size + step;
      const drawn = below(word, last + 1);
      chosen[chosen[drawn] ? last : drawn] = step > 0 || !own; // one fewer if one's own is in
    });
    chosen[p.domain - 1] = chosen[code] && code < p.domain - 1; // the last of the others stands in one's own place
    chosen[code] = own;
    return packBits(chosen);
  };
  return { ...frequency(p), words: 1 + p.size, size: Math.ceil(p.domain / 8), report };
}

function projective(p, [inside]) {
  const space = points(p.order, p.domain);
  const size = bytesFor(space.count);
  const report = (code, [coin, word]) => {
    const near = coin < inside;
    const free = near ? space.vector(below(word, space.plane)) : below(word, space.outside);
    return toBytes(space.meet(code, free, near ? 0 : 1), size);
  };
  return { ...frequency(p), words: 2, size, report };
}

/** The fewest coordinates (at least two) of a space modulo `order` with room for `domain` points. */
function dimensionFor(order, domain) {
  let dimension = 2;
  while ((order ** dimension - 1) / (order - 1) < domain) dimension++;
  return dimension;
}

/** The points of that space. */
function points(order, domain) {
  const dimension = dimensionFor(order, domain);
  const powers = Array.from({ length: dimension + 1 }, (_, m) => order ** m);
  const starts = powers.map((power) => (power - 1) / (order - 1));
  const place = (table, number) => table.findLastIndex((start) => start <= number);
  const inverse = (digit) => Array.from({ length: order }, (_, i) => i).find((i) => (i * digit) % order === 1);
  const vector = (point) => point + powers[place(starts, point)] - starts[place(starts, point)];
  const digits = (number) => powers.slice(0, dimension).map((power) => Math.floor(number / power) % order);
  const product = (a, b) => digits(a).reduce((sum, digit, m) => sum + digit * digits(b)[m], 0);
  const scaled = (number, factor) => digits(number).reduce((sum, d, m) => sum + ((d * factor) % order) * powers[m], 0);
  const pointOf = (number) => {
    const m = place(powers, number);
    return scaled(number, inverse(Math.floor(number / powers[m]))) - powers[m] + starts[m];
  };
  const meet = (point, free, wanted) => {
    const at = powers[place(starts, point)];
    const open = Math.floor(free / at) * at * order + (free % at);
    const missing = wanted - product(vector(point) % at, open % at);
    return pointOf(open + (((missing % order) + order) % order) * at);
  };
  return { count: starts[dimension], plane: starts[dimension - 1], outside: powers[dimension - 1], vector, meet };
}

function loloha(p, [memoKeep, keep]) {
  const g = p.buckets;
  const size = 4 + bytesFor(g);
  return {
    ...frequency(p),
    size,
    remembers: { forever: p.forever, again: p.again, kinds: g, partWords: 1, memoWords: 2, stepWords: 2 },
    part: ([word]) => toBig(below(word, p.functions)),
    kind: (part, code) => bucket(part, code, g),
    memo: (part, kind, [coin, word]) => toBig(keepOr(kind, g, memoKeep, coin, word)),
    step: (part, memo, [coin, word]) => toBytes(part + (toBig(keepOr(Number(memo), g, keep, coin, word)) << 32n), size),
  };
}

// Means: bounds are doubles, and a value becomes a step of a grid before anything random happens.

const onGrid = (p, steps) => {
  const [lower, upper, missing] = [p.lower, p.upper, p.missing].map((text) => toNumber(parts(text)));
  const code = (value) => {
    const number = numeric(value);
    const known = typeof number === "number" && !Number.isNaN(number) ? number : missing;
    return Math.floor(((Math.min(Math.max(known, lower), upper) - lower) / (upper - lower)) * steps + 0.5);
  };
  return { missing, code, steps };
};
const STEPS = 2 ** 20;
const CELLS = 2 ** 16;
const onTheLine = (top, code, steps) => WORD - top + ((2n * top - WORD) * toBig(code)) / toBig(steps);

function duchi(p, [top]) {
  const report = (code, [coin]) => toBytes(coin < onTheLine(top, code, STEPS) ? 1 : 0, 1);
  return { ...onGrid(p, STEPS), words: 1, size: 1, report };
}

function place(code, window, stay, coin, word) {
  if (coin < stay) return code + below(word, window);
  const outside = below(word, CELLS - window);
  return outside < code ? outside : outside + window;
}

function piecewise(p, [stay]) {
  const size = bytesFor(CELLS);
  const report = (code, [coin, word]) => toBytes(place(code, p.window, stay, coin, word), size);
  return { ...onGrid(p, CELLS - p.window), words: 2, size, report };
}

function hybrid(p, [mixed, stay, top]) {
  const size = bytesFor(CELLS + 2);
  const steps = CELLS - p.window;
  const report = (code, [choice, coin, word]) => {
    if (choice < mixed) return toBytes(2 + place(code, p.window, stay, coin, word), size);
    return toBytes(coin < onTheLine(top, code, steps) ? 1 : 0, size);
  };
  return { ...onGrid(p, steps), words: 3, size, report };
}

// Sketches

function cms(p, [keep]) {
  const header = bytesFor(p.rows);
  const report = (code, [first, ...words]) => {
    const row = below(first, p.rows);
    const place = bucket((p.seed * p.rows + row) % 2 ** 32, code, p.width);
    const bits = packBits(words.map((word, i) => word < (i === place ? keep : WORD - keep)));
    return Uint8Array.from([...toBytes(row, header), ...bits]);
  };
  const size = header + p.width / 8;
  return { ...frequency(p), words: 1 + p.width, size, report };
}

function hcms(p, [keep]) {
  const size = bytesFor(2 * p.rows * p.width);
  const bits = bitLength(p.width) - 1;
  const report = (code, [first, second, coin]) => {
    const row = below(first, p.rows);
    const column = Number(second >> toBig(64 - bits));
    const place = bucket((p.seed * p.rows + row) % 2 ** 32, code, p.width);
    return toBytes(2 * (row * p.width + column) + (parity(place & column) ^ (coin < keep ? 0 : 1)), size);
  };
  return { ...frequency(p), words: 3, size, report };
}

/** Any finite randomizer, by its matrix in units of 2^-64. */
function finite(p) {
  const masses = p.masses.map((row) => row.map(BigInt));
  const size = bytesFor(masses[0].length);
  const report = (code, [word]) => {
    let end = 0n;
    return toBytes(masses[code].findIndex((mass) => word < (end += mass)), size);
  };
  return { ...frequency(p, masses.length), words: 1, size, report };
}

// RAPPOR: cohort, bits flipped once and for all, bits flipped again for every report.

function rappor(p, [permanent, instant]) {
  const header = bytesFor(p.cohorts);
  const limit = (bits, i, keep) => ((bits >> toBig(i)) & 1n ? keep : WORD - keep);
  const flipped = (bits, words, keep) =>
    words.reduce((sum, word, i) => sum | (toBig(word < limit(bits, i, keep)) << toBig(i)), 0n);
  const millionths = millionthsAbove([instant, WORD - instant]) * toBig(p.bits);
  return {
    ...frequency(p),
    size: header + Math.ceil(p.bits / 8),
    remembers: {
      forever: p.epsilon,
      again: lowest([millionths, 1000000n]),
      kinds: p.domain,
      partWords: 1,
      memoWords: p.bits,
      stepWords: p.bits,
    },
    part: ([word]) => toBig(below(word, p.cohorts)),
    kind: (part, code) => code,
    memo: (part, kind, words) => {
      const seeds = Array.from({ length: p.hashes }, (_, turn) => Number(part) * p.hashes + turn);
      const bloom = seeds.reduce((bits, seed) => bits | (1n << toBig(bucket(seed, kind, p.bits))), 0n);
      return flipped(bloom, words, permanent);
    },
    step: (part, memo, words) =>
      Uint8Array.from([...toBytes(part, header), ...toBytes(flipped(memo, words, instant), Math.ceil(p.bits / 8))]),
  };
}

// Remembered without a fresh step: what is sent is the memo itself.

function onebitmean(p, [top]) {
  const ends = [WORD - top, top];
  return {
    ...duchi(p, [top]),
    remembers: { forever: p.epsilon, again: null, kinds: 2, partWords: 1, memoWords: 1, stepWords: 0 },
    part: ([word]) => toBig(below(word, STEPS)),
    kind: (part, code) => (toBig(code) > part ? 1 : 0),
    memo: (part, kind, [coin]) => (coin < ends[kind] ? 1n : 0n),
    step: (part, memo) => toBytes(memo, 1),
  };
}

function dbitflip(p, [keep]) {
  const width = bytesFor(2 * p.domain);
  const shift = toBig(bitLength(p.domain));
  const places = Array.from({ length: p.flips }, (_, i) => i);
  const picked = (part) => places.map((i) => Number((part >> (shift * toBig(i))) & ((1n << shift) - 1n)));
  return {
    ...frequency(p),
    size: p.flips * width,
    remembers: {
      forever: p.epsilon,
      again: null,
      kinds: p.flips + 1,
      partWords: p.flips,
      memoWords: p.flips,
      stepWords: 0,
    },
    part: (words) => {
      const values = [];
      words.forEach((word, step) => {
        const last = p.domain - p.flips + step;
        const drawn = below(word, last + 1);
        values.push(values.includes(drawn) ? last : drawn);
      });
      values.sort((a, b) => a - b);
      return values.reduce((part, value, i) => part | (toBig(value) << (shift * toBig(i))), 0n);
    },
    kind: (part, code) => picked(part).indexOf(code) + 1,
    memo: (part, kind, words) =>
      words.reduce((bits, word, i) => bits | (toBig(word < (i + 1 === kind ? keep : WORD - keep)) << toBig(i)), 0n),
    step: (part, memo) => {
      const rows = picked(part).map((value, i) => toBytes(2 * value + Number((memo >> toBig(i)) & 1n), width));
      return Uint8Array.from(rows.flatMap((row) => [...row]));
    },
  };
}

const PROTOCOLS = {
  binary: [1, binary],
  sign: [2, sign],
  kary: [3, kary],
  unary: [4, unary],
  hashing: [5, hashing],
  hadamard: [6, hadamard],
  onebit: [7, onebit],
  subset: [8, subset],
  projective: [9, projective],
  rappor: [10, rappor],
  cms: [11, cms],
  hcms: [12, hcms],
  onebitmean: [13, onebitmean],
  dbitflip: [14, dbitflip],
  duchi: [15, duchi],
  piecewise: [16, piecewise],
  hybrid: [17, hybrid],
  loloha: [18, loloha],
  finite: [19, finite],
};

// The form of a configuration, field by field: the very text of forms.json, which the Python client reads.

const FORMS = {
  "signed": {
    "hubbub": ["is", "signed-collection/1"],
    "collection": "text",
    "key": ["digits", 64],
    "signature": ["digits", 128]
  },
  "collection": {
    "hubbub": ["is", "collection/1"],
    "id": ["digits", 32],
    "name": "name",
    "question": ["line", 1000],
    "attribute": "name",
    "answers": "lines",
    "randomizer": "law",
    "epochs": ["whole", 1, 4294967295],
    "lifetime": "rational",
    "minimum_batch": ["whole", 1, 9007199254740991],
    "version": ["whole", 1, 9007199254740991]
  },
  "laws": {
    "binary": {"epsilon": "epsilon", "missing": ["whole", 0, 1], "thresholds": ["coins", 1]},
    "sign": {"epsilon": "epsilon", "missing": ["whole", -1, 1], "thresholds": ["coins", 1]},
    "kary": {
      "epsilon": "epsilon", "domain": ["whole", 2, 16777216], "missing": ["whole", 0, 16777215], "thresholds": ["coins", 1]
    },
    "unary": {
      "epsilon": "epsilon", "domain": ["whole", 2, 16777216], "missing": ["whole", 0, 16777215], "thresholds": ["coins", 2],
      "optimised": "truth"
    },
    "hashing": {
      "epsilon": "epsilon", "domain": ["whole", 2, 16777216], "missing": ["whole", 0, 16777215], "thresholds": ["coins", 1],
      "buckets": ["whole", 2, 16777216]
    },
    "hadamard": {
      "epsilon": "epsilon", "domain": ["whole", 2, 16777216], "missing": ["whole", 0, 16777215], "thresholds": ["coins", 1]
    },
    "onebit": {
      "epsilon": "epsilon", "domain": ["whole", 2, 16777216], "missing": ["whole", 0, 16777215], "thresholds": ["coins", 1]
    },
    "subset": {
      "epsilon": "epsilon", "domain": ["whole", 2, 65536], "missing": ["whole", 0, 65535], "thresholds": ["coins", 1],
      "size": ["whole", 1, 65535]
    },
    "projective": {
      "epsilon": "epsilon", "domain": ["whole", 2, 2097152], "missing": ["whole", 0, 2097151], "thresholds": ["coins", 1],
      "order": ["whole", 2, 2896]
    },
    "rappor": {
      "epsilon": "epsilon", "domain": ["whole", 2, 4096], "missing": ["whole", 0, 4095], "thresholds": ["coins", 2],
      "report_epsilon": "epsilon", "bits": ["whole", 2, 4096], "hashes": ["whole", 1, 4096], "cohorts": ["whole", 1, 1024]
    },
    "cms": {
      "epsilon": "epsilon", "domain": ["whole", 2, 16777216], "missing": ["whole", 0, 16777215], "thresholds": ["coins", 1],
      "rows": ["whole", 1, 16384], "width": ["whole", 2, 65536], "seed": ["whole", 0, 65536]
    },
    "hcms": {
      "epsilon": "epsilon", "domain": ["whole", 2, 16777216], "missing": ["whole", 0, 16777215], "thresholds": ["coins", 1],
      "rows": ["whole", 1, 16384], "width": ["whole", 2, 65536], "seed": ["whole", 0, 65536]
    },
    "onebitmean": {
      "epsilon": "epsilon", "lower": "bound", "upper": "bound", "missing": "bound", "thresholds": ["coins", 1]
    },
    "dbitflip": {
      "epsilon": "epsilon", "domain": ["whole", 2, 65536], "missing": ["whole", 0, 65535], "thresholds": ["coins", 1],
      "flips": ["whole", 1, 65536]
    },
    "duchi": {"epsilon": "epsilon", "lower": "bound", "upper": "bound", "missing": "bound", "thresholds": ["coins", 1]},
    "piecewise": {
      "epsilon": "epsilon", "lower": "bound", "upper": "bound", "missing": "bound", "thresholds": ["coins", 1],
      "window": ["whole", 1, 65535]
    },
    "hybrid": {
      "epsilon": "epsilon", "lower": "bound", "upper": "bound", "missing": "bound", "thresholds": ["coins", 3],
      "window": ["whole", 1, 65535]
    },
    "loloha": {
      "epsilon": "epsilon", "domain": ["whole", 2, 16777216], "missing": ["whole", 0, 16777215], "thresholds": ["coins", 2],
      "forever": "epsilon", "again": "rational", "buckets": ["whole", 2, 256], "functions": ["whole", 1, 4294967296]
    },
    "finite": {"epsilon": "epsilon", "missing": ["whole", 0, 16777215], "masses": ["matrix", 4096]},
    "laplace": {"epsilon": "epsilon", "lower": "bound", "upper": "bound", "missing": "bound", "thresholds": ["coins", 0]},
    "gaussian": {
      "epsilon": "epsilon", "lower": "bound", "upper": "bound", "missing": "bound", "thresholds": ["coins", 0], "delta": "rational"
    }
  }
};

const isPlain = (text) => !/[\p{C}\p{Z}]/u.test(text.replaceAll(" ", "")) && text.normalize("NFC") === text;
const isLine = (value, longest) =>
  typeof value === "string" && value !== "" && [...value].length <= longest && isPlain(value);
const isLowest = (pattern) => (value) => isText(pattern)(value) && lowest(parts(value)) === value;
const isFraction = isLowest(/^[1-9][0-9]{0,39}(\/[1-9][0-9]{0,39})?$/);
const isBound = isLowest(/^(0|-?[1-9][0-9]{0,319}(\/[1-9][0-9]{0,319})?)$/);
const within = (value, least, most) => atMost(least, value) && atMost(value, most);
const FAR = 10n ** 300n;
const size = ([a, b]) => [a < 0n ? -a : a, b];
const isOfWord = (value) => isText(/^(0|[1-9][0-9]{0,19})$/)(value) && BigInt(value) <= WORD;
const isListOf = (value, check) => Array.isArray(value) && value.every(check);
const KINDS = {
  is: (value, wanted) => value === wanted,
  text: (value) => typeof value === "string",
  digits: (value, length) => isText(/^[0-9a-f]*$/)(value) && value.length === length,
  name: isText(/^[a-z0-9][a-z0-9-]{0,62}$/),
  line: isLine,
  lines: (value) => isListOf(value, (line) => isLine(line, 1000)) && new Set(value).size === value.length,
  law: (value) => misfitOfLaw(value) === undefined,
  whole: (value, least, most) => isWhole(value, least, most) && !Object.is(value, -0),
  rational: isFraction,
  epsilon: (value) => isFraction(value) && within(parts(value), [1n, 1000000n], [64n, 1n]),
  bound: (value) => isBound(value) && (value === "0" || within(size(parts(value)), [1n, FAR], [FAR, 1n])),
  truth: (value) => typeof value === "boolean",
  coins: (value, count) => isListOf(value, isOfWord) && value.length === count,
  matrix: (value, most) =>
    isListOf(value, (row) => isListOf(row, isOfWord) && row.length === value[0].length) &&
    value.length >= 2 &&
    isWhole(value[0].length, 2, most),
};

/** The first field of a document that is not as its form says: missing, unknown, or of another kind. */
function misfit(form, document) {
  if (!isMap(document)) return "document";
  if (Object.keys(document).some((name) => !Object.hasOwn(form, name))) return "unknown";
  return Object.keys(form).find((name) => {
    const [kind, ...limits] = [form[name]].flat();
    return !(Object.hasOwn(document, name) && KINDS[kind](document[name], ...limits));
  });
}

function misfitOfLaw(law) {
  const known = isMap(law) && Object.hasOwn(law, "protocol") && Object.hasOwn(PROTOCOLS, law.protocol);
  if (!known || typeof law.protocol !== "string") return "protocol";
  return misfit({ protocol: ["is", law.protocol], ...FORMS.laws[law.protocol] }, law);
}

// What the numbers of a law must be together. Each client works its thresholds out from epsilon and trusts none.

const inRange = (p) => {
  const [lower, upper, missing] = [p.lower, p.upper, p.missing].map(parts);
  return toNumber(lower) < toNumber(upper) && within(missing, lower, upper);
};
const isPrime = (number) => {
  for (let factor = 2; factor * factor <= number; factor++) if (number % factor === 0) return false;
  return true;
};
const isPower = (number) => 2 ** (bitLength(number) - 1) === number;
const GO_TOGETHER = {
  sign: (p) => p.missing !== 0,
  subset: (p) => p.size < p.domain,
  projective: (p) => isPrime(p.order) && p.order ** dimensionFor(p.order, p.domain) <= 2 ** 23,
  rappor: (p) =>
    p.hashes <= p.bits && p.bits * p.cohorts >= p.domain && !atMost(parts(p.epsilon), parts(p.report_epsilon)),
  cms: (p) => isPower(p.width),
  hcms: (p) => isPower(p.width),
  dbitflip: (p) => p.flips <= p.domain,
  onebitmean: inRange,
  duchi: inRange,
  piecewise: (p) => inRange(p) && p.window === windowFor(parts(p.epsilon)),
  hybrid: (p) => inRange(p) && p.window === windowFor(parts(p.epsilon)),
  loloha: (p) => !atMost(expLow(parts(p.forever)), expHigh(parts(p.epsilon))) && p.again === againFor(p),
  finite: (p) => keepsEpsilon(p.masses.map((row) => row.map(BigInt)), parts(p.epsilon)),
};

/** round(2^16 / (e^(epsilon/2) + 1)), between 1 and 2^16 - 1. */
function windowFor(epsilon) {
  const [a, b] = expLow(halfOf(epsilon));
  const nearest = Number((2n * toBig(CELLS) * b + a + b) / (2n * (a + b)));
  return Math.min(CELLS - 1, Math.max(1, nearest));
}

/** Whether a matrix of chances has this epsilon: no less, and but for the rounding of a logarithm no more. */
function keepsEpsilon(masses, epsilon) {
  if (masses.some((row) => row.reduce((a, b) => a + b) !== WORD)) return false;
  let ratio = [1n, 1n];
  for (const column of masses[0].map((_, y) => masses.map((row) => row[y]))) {
    const [least, most] = [column.reduce((a, b) => (a < b ? a : b)), column.reduce((a, b) => (a > b ? a : b))];
    if (most > 0n && least === 0n) return false;
    if (most > 0n && !atMost([most, least], ratio)) ratio = [most, least];
  }
  if (!independent(masses)) return false;
  const smaller = product(epsilon, [(1n << 50n) - 1n, 1n << 50n]);
  return atMost(ratio, expLow(epsilon)) && (atMost(epsilon, [1n, 1000000n]) || !atMost(ratio, expLow(smaller)));
}

/** Whether no row is made of the others (modulo a large prime): otherwise nobody could undo the matrix. */
function independent(masses) {
  const prime = (1n << 61n) - 1n;
  const inverse = (number) => {
    let result = 1n;
    for (let left = prime - 2n, base = number; left > 0n; left >>= 1n, base = (base * base) % prime) {
      if (left & 1n) result = (result * base) % prime;
    }
    return result;
  };
  const rows = masses.map((row) => row.map((mass) => mass % prime));
  return rows.every((row, i) => {
    const lead = row.findIndex((entry) => entry !== 0n);
    if (lead < 0) return false;
    const scale = inverse(row[lead]);
    for (const later of rows.slice(i + 1)) {
      const factor = (later[lead] * scale) % prime;
      if (factor) row.forEach((entry, j) => (later[j] = (((later[j] - factor * entry) % prime) + prime) % prime));
    }
    return true;
  });
}

const odds = (p) => expLow(parts(p.epsilon));
const halfOdds = (p) => expLow(halfOf(parts(p.epsilon)));
const ofOne = (p) => [threshold(odds(p))];
const ofHalf = (p) => [threshold(halfOdds(p))];
const ofOthers = (likely, others) => threshold(product(likely, [fewest(others), WORD]));
const stayFor = (p) => threshold(product(odds(p), [fewest(CELLS - p.window), most(p.window)]));
const COINS = {
  binary: ofOne,
  sign: ofOne,
  kary: (p) => [ofOthers(odds(p), p.domain - 1)],
  unary: (p) => {
    const own = threshold(p.optimised ? odds(p) : halfOdds(p));
    return [p.optimised ? WORD / 2n : own, WORD - own];
  },
  hashing: (p) => [ofOthers(odds(p), p.buckets - 1)],
  hadamard: ofOne,
  onebit: ofOne,
  subset: (p) => {
    const sure = [WORD - toBig(p.size) * toBig(p.domain), WORD];
    const share = [toBig(p.size), toBig(p.domain - p.size)];
    return [threshold([odds(p), share, sure, sure].reduce(product))];
  },
  projective: (p) => {
    const { outside, plane } = points(p.order, p.domain);
    return [threshold(product(odds(p), [fewest(outside), most(plane)]))];
  },
  rappor: (p) => {
    const bit = ([a, b]) => expLow([a, b * toBig(2 * p.hashes)]);
    const permanent = threshold(bit(parts(p.epsilon)));
    const [a, b] = bit(parts(p.report_epsilon));
    const instant = (WORD * (a * WORD - (WORD - permanent) * (a + b))) / ((a + b) * (2n * permanent - WORD));
    return [permanent, instant < WORD ? instant : WORD - 1n];
  },
  cms: ofHalf,
  hcms: ofOne,
  onebitmean: ofOne,
  dbitflip: ofHalf,
  duchi: ofOne,
  piecewise: (p) => [stayFor(p)],
  hybrid: (p) => {
    const [a, b] = halfOdds(p);
    const mixed = atMost(parts(p.epsilon), [61n, 100n]) ? 0n : (WORD * (a - b)) / a;
    return [mixed, stayFor(p), threshold(odds(p))];
  },
  loloha: (p) => {
    const memo = ofOthers(expLow(parts(p.forever)), p.buckets - 1);
    return [memo, stepFor(memo, odds(p), p.buckets)];
  },
};

/** The largest threshold of a fresh coin with which memo and step together keep these odds: found by halving. */
function stepFor(memo, likely, buckets) {
  let [low, high] = [WORD / toBig(buckets) + 1n, WORD - 1n];
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    if (atMost(bothCoins(memo, middle, buckets), likely)) low = middle;
    else high = middle - 1n;
  }
  return low;
}

/** At most how many times likelier a report is for one bucket than for another, after both coins. */
function bothCoins(memo, keep, buckets) {
  const others = toBig(buckets - 1);
  const few = [memo, keep].map((coin) => (WORD - coin) * fewest(others));
  const many = [memo, keep].map((coin) => (WORD - coin) * most(others));
  const same = [memo, keep].map((coin) => coin * WORD);
  const crossed = (x) => same[0] * x[1] + x[0] * same[1] + (others - 1n) * x[0] * x[1];
  const right = same[0] * same[1] + others * many[0] * many[1];
  return [right > crossed(many) ? right : crossed(many), crossed(few)];
}

function againFor(p) {
  const [, keep] = COINS.loloha(p);
  return lowest([millionthsAbove([keep * WORD, (WORD - keep) * fewest(p.buckets - 1)]), 1000000n]);
}

/** The randomizer with these parameters; refused if they are not of its form, or not those of its epsilon. */
export function randomizer(parameters) {
  const field = misfitOfLaw(parameters);
  must(field === undefined, `the field ${field} of its law is missing, unknown or of another kind`);
  const { protocol } = parameters;
  must(GO_TOGETHER[protocol]?.(parameters) ?? true, "the numbers of its law do not go together");
  const thresholds = (parameters.thresholds ?? []).map(BigInt);
  const wanted = COINS[protocol]?.(parameters) ?? [];
  must(thresholds.every((coin, i) => coin === wanted[i]), "its thresholds do not keep its epsilon");
  return PROTOCOLS[protocol][1](parameters, thresholds);
}

/** The payload that a value and random bytes lead to, for one report without a memory. */
export function respond(made, value, bytes) {
  const words = wordsOf(bytes);
  const code = made.code(value);
  if (made.report) return made.report(code, words);
  const { partWords, memoWords } = made.remembers;
  const part = made.part(words.slice(0, partWords));
  const memo = made.memo(part, made.kind(part, code), words.slice(partWords, partWords + memoWords));
  return made.step(part, memo, words.slice(partWords + memoWords));
}

// Configurations

const isId = isText(/^[0-9a-f]{32}$/);
const isName = isText(/^[a-z0-9][a-z0-9-]{0,62}$/);
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (text) => {
  must(/^([0-9a-f]{2})*$/.test(text), "hexadecimal digits were expected");
  return Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
};
const utf8 = (text) => new TextEncoder().encode(text);
const sha256 = async (text) => new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(text)));

/** The collection of a signed configuration, checked with the pinned public key (64 hexadecimal digits). */
export async function openSigned(text, publicKey) {
  const document = parsed(text);
  const pinned = publicKey.trim().toLowerCase();
  const signed = utf8("hubbub signed-collection/1\n" + document.collection);
  const holds = document.key === pinned && (await verified(pinned, document.signature, signed));
  must(holds, "its signature was not made with the key that this client was given");
  return collectionOf(document.collection);
}

/** The same where WebCrypto has no Ed25519: the digest of the configuration is pinned instead of the key. */
export async function openPinned(text, digest) {
  const document = parsed(text);
  must(hex(await sha256(document.collection)) === digest, "its digest is not the pinned one");
  return collectionOf(document.collection);
}

async function verified(publicKey, signature, signed) {
  try {
    const key = await crypto.subtle.importKey("raw", unhex(publicKey), { name: "Ed25519" }, false, ["verify"]);
    return await crypto.subtle.verify({ name: "Ed25519" }, key, unhex(signature), signed);
  } catch {
    return false; // also where Ed25519 is missing: what cannot be checked is not trusted
  }
}

function parsed(text) {
  const document = typeof text === "string" && [...text].length <= LONGEST ? jsonOf(text) : null;
  const field = misfit(FORMS.signed, document);
  must(field === undefined, `this is not a signed collection: its field ${field} is missing, unknown or of another kind`);
  const colons = text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/g, "").split(":").length - 1;
  must(colons === Object.keys(FORMS.signed).length, "two of its fields have one name"); // JSON.parse keeps the last
  return document;
}

function jsonOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** JSON with sorted keys, no spaces and nothing but ASCII: the one text of a collection. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (isMap(value)) return `{${Object.keys(value).sort().map((name) => `${ascii(name)}:${canonical(value[name])}`).join(",")}}`;
  return typeof value === "string" ? ascii(value) : JSON.stringify(value);
}
const ascii = (text) =>
  JSON.stringify(text).replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);

async function collectionOf(text) {
  const fields = jsonOf(text);
  const field = misfit(FORMS.collection, fields);
  must(field === undefined, `its field ${field} is missing, unknown or of another kind`);
  must(canonical(fields) === text, "it is not written in the canonical form"); // nor does it say anything twice
  const made = randomizer(fields.randomizer);
  const worded = fields.answers.length === 0 || fields.answers.length === made.domain;
  must(worded, "its answers are not as many as its domain has values");
  const law = hex(await sha256(canonical(fields.randomizer)));
  const collection = { ...fields, law, digest: await sha256(text), made };
  must(atMost(rational(priceOf(collection)), rational(fields.lifetime)), "its lifetime does not pay for one report");
  return collection;
}

/** What is charged at a time: one report, or one memo for ever. */
const priceOf = (collection) => collection.made.remembers?.forever ?? collection.randomizer.epsilon;

// The wire

/** A report in bytes. */
function pack(collection, epoch, id, payload) {
  const bytes = new Uint8Array(HEADER + payload.length);
  const view = new DataView(bytes.buffer);
  const [top, bottom] = times(1000000n, rational(collection.randomizer.epsilon));
  bytes.set(utf8("HBR"));
  bytes[3] = FORMAT;
  bytes[4] = PROTOCOLS[collection.randomizer.protocol][0];
  view.setUint32(8, Number((top + bottom - 1n) / bottom), true);
  view.setUint32(12, epoch, true);
  bytes.set(unhex(collection.id), 16);
  bytes.set(collection.digest.subarray(0, 16), 32);
  bytes.set(id, 48);
  bytes.set(payload, HEADER);
  return bytes;
}

/** The JSON twin of a packed report. */
export function toTwin(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const name = Object.keys(PROTOCOLS).find((protocol) => PROTOCOLS[protocol][0] === bytes[4]);
  if (bytes.length < HEADER || bytes[3] !== FORMAT || !name) throw new BadReport("this is not a report of format 1");
  return {
    hubbub: `report/${FORMAT}`,
    protocol: name,
    epsilon: view.getUint32(8, true),
    epoch: view.getUint32(12, true),
    collection: hex(bytes.subarray(16, 32)),
    digest: hex(bytes.subarray(32, 48)),
    id: hex(bytes.subarray(48, HEADER)),
    payload: btoa(String.fromCharCode(...bytes.subarray(HEADER))),
  };
}

/** Many reports of one collection in one frame. */
export function packBatch(reports) {
  const size = reports.length ? reports[0].length : 0;
  if (reports.some((report) => report.length !== size)) throw new BadReport("reports must have one length");
  const bytes = new Uint8Array(FRAME + reports.length * size);
  const view = new DataView(bytes.buffer);
  bytes.set(utf8("HBB"));
  bytes[3] = FORMAT;
  view.setUint32(4, reports.length, true);
  view.setUint32(8, size, true);
  reports.forEach((report, i) => bytes.set(report, FRAME + i * size));
  return bytes;
}

// The client

/** Random bytes from WebCrypto. */
export function secureBytes(count) {
  const bytes = new Uint8Array(count);
  for (let start = 0; start < count; start += 65536) crypto.getRandomValues(bytes.subarray(start, start + 65536));
  return bytes;
}

/**
 * Makes one person's reports for a collection, one in each epoch, with a memory in `storage` (getItem and setItem, such
 * as localStorage) that all collections of this person share. Past a cap it goes on, with reports that say nothing.
 */
export class Client {
  constructor(collection, storage, { caps = {}, name = "hubbub" } = {}) {
    this.collection = collection;
    this.caps = { attribute: rational(caps.attribute ?? "8"), total: rational(caps.total ?? "32") };
    this.storage = storage;
    this.name = name;
  }

  /** The packed report for an epoch, the same bytes again for the same epoch. What it costs is stored before. */
  async report(value, epoch = 0, random = secureBytes) {
    const { epochs } = this.collection;
    if (!Number.isInteger(epoch) || epoch < 0 || epoch >= epochs) throw new RangeError(`epoch must be below ${epochs}`);
    const locks = globalThis.navigator?.locks;
    const make = () => this.#report(value, epoch, random);
    return locks ? locks.request(this.name, make) : make();
  }

  /** What this person has given away, over all collections: for a value that never changed, for values, at worst. */
  lifetime() {
    const spent = this.#read().records.map(spentBy);
    const sum = (name) => spent.reduce((total, each) => total + each[name], 0);
    return { constant: sum("constant"), values: sum("values"), worstCase: sum("worstCase"), spent };
  }

  #report(value, epoch, random) {
    const memory = this.#read();
    follow(memory, this.collection);
    const bytes = this.#made(memory.records, value, epoch, random);
    this.storage.setItem(this.name, JSON.stringify({ hubbub: "lifetime/1", ...memory }));
    return bytes;
  }

  #made(records, value, epoch, random) {
    const own = records.filter((record) => record.collection === this.collection.id);
    const last = own.reduce((found, record) => (found && found.epoch >= record.epoch ? found : record), null);
    if (last && epoch <= last.epoch) {
      if (epoch < last.epoch) throw new RangeError(`epoch must not go back: the last one was ${last.epoch}`);
      return unhex(last.report);
    }
    const record = this.#record(records);
    const told = atMost(rational(record.price), this.#room(records));
    return new Maker(this.collection, record, random).make(value, epoch, told);
  }

  #read() {
    const text = this.storage.getItem(this.name);
    return text === null || text === undefined ? { records: [], seen: {} } : memoryOf(text);
  }

  #record(records) {
    const { id, law, made } = this.collection;
    let record = records.find((each) => each.collection === id && each.law === law);
    if (record) return record;
    record = newRecord(this.collection);
    if (made.remembers) {
      record.charges = Math.min(wholeParts(this.#room(records), rational(record.price)), made.remembers.kinds);
    }
    records.push(record);
    return record;
  }

  #room(records) {
    const cost = (record) => times(record.charges, rational(record.price));
    const charged = (chosen) => records.filter(chosen).map(cost).reduce(plus, [0n, 1n]);
    const { id, attribute, lifetime } = this.collection;
    const rooms = [
      minus(rational(lifetime), charged((record) => record.collection === id)),
      minus(this.caps.attribute, charged((record) => record.attribute === attribute)),
      minus(this.caps.total, charged(() => true)),
    ];
    return rooms.reduce(lesser);
  }
}

// What is remembered. Field by field, as the Python client reads it: what is missing or of another form was lost.

const orNull = (check) => (value) => value === null || check(value);
const isCount = (value) => isWhole(value, 0, Number.MAX_SAFE_INTEGER);
const isKind = isText(/^[0-9]+$/);
const isNumber = isText(/^[0-9a-f]+$/);
const isSha256 = isText(/^[0-9a-f]{64}$/);
const isMap = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const RECORD = {
  collection: isId,
  law: isSha256,
  name: isName,
  attribute: isName,
  price: isRational,
  memoised: (value) => typeof value === "boolean",
  again: orNull(isRational),
  delta: orNull(isRational),
  charges: isCount,
  told: isCount,
  silent: isCount,
  part: orNull(isNumber),
  memos: (value) => isMap(value) && Object.entries(value).every(([kind, memo]) => isKind(kind) && isNumber(memo)),
  epoch: isCount,
  report: isText(/^([0-9a-f]{2}){64,}$/),
};
const SEEN = { version: (value) => isCount(value) && value > 0, digest: isSha256, attribute: isName };

const has = (form, value) =>
  isMap(value) &&
  Object.keys(value).length === Object.keys(form).length &&
  Object.keys(form).every((name) => Object.hasOwn(value, name) && form[name](value[name]));
const MEMORY = {
  hubbub: (value) => value === "lifetime/1",
  records: (value) => Array.isArray(value) && value.every((record) => has(RECORD, record)),
  seen: (value) => isMap(value) && Object.values(value).every((each) => has(SEEN, each)),
};

function memoryOf(text) {
  const document = jsonOf(text);
  if (!has(MEMORY, document) || !document.records.every((record) => Object.hasOwn(document.seen, record.collection))) {
    throw new BadMemory("this client's memory cannot be read, or has another format");
  }
  return { records: document.records, seen: document.seen };
}

/** Note the newest configuration. An older one is refused, and one that is about something else now. */
function follow(memory, { id, version, attribute, digest }) {
  const mine = { version, digest: hex(digest), attribute };
  const known = memory.seen[id] ?? mine;
  must(known.attribute === attribute, "it was about another attribute before");
  const newer = version > known.version || (version === known.version && mine.digest === known.digest);
  must(newer, `this client has followed version ${known.version}, and this is not a newer one`);
  memory.seen[id] = mine;
}

/** One report: random words are taken in the order id, part, memo, step, or id, report. */
class Maker {
  constructor(collection, record, random) {
    this.collection = collection;
    this.record = record;
    this.random = random;
  }

  make(value, epoch, told) {
    const { made } = this.collection;
    const id = this.random(16);
    const code = made.code(this.#shown(value));
    const payload = made.remembers ? this.#remembered(made, code) : this.#fresh(made, code, told);
    const bytes = pack(this.collection, epoch, id, payload);
    Object.assign(this.record, { epoch, report: hex(bytes) });
    return bytes;
  }

  #fresh(made, code, told) {
    this.#count(told);
    this.record.charges += told ? 1 : 0;
    return made.report(told ? code : this.#anyCode(made), this.#words(made.words));
  }

  #remembered(made, code) {
    const { record } = this;
    const { partWords, memoWords, kinds } = made.remembers;
    record.part ??= made.part(this.#words(partWords)).toString(16);
    const part = BigInt(`0x${record.part}`);
    const kind = made.kind(part, code);
    const told = kind in record.memos || Object.keys(record.memos).length < record.charges;
    this.#count(told);
    if (!told) {
      const [word] = this.#words(1);
      return this.#step(made, part, made.memo(part, below(word, kinds), this.#words(memoWords)));
    }
    record.memos[kind] ??= made.memo(part, kind, this.#words(memoWords)).toString(16);
    return this.#step(made, part, BigInt(`0x${record.memos[kind]}`));
  }

  #step(made, part, memo) {
    return made.step(part, memo, this.#words(made.remembers.stepWords));
  }

  #anyCode(made) {
    if (made.domain === undefined) return made.code(made.missing);
    return below(this.#words(1)[0], made.domain);
  }

  #shown(value) {
    const place = this.collection.answers.indexOf(typeof value === "string" ? value.normalize("NFC") : value);
    return place >= 0 ? place : value;
  }

  #count(told) {
    this.record[told ? "told" : "silent"] += 1;
  }

  #words(count) {
    return wordsOf(this.random(8 * count));
  }
}

function newRecord(collection) {
  const { remembers } = collection.made;
  return {
    collection: collection.id,
    law: collection.law,
    name: collection.name,
    attribute: collection.attribute,
    price: priceOf(collection),
    memoised: remembers !== undefined,
    again: remembers?.again ?? null,
    delta: null,
    charges: 0,
    told: 0,
    silent: 0,
    part: null,
    memos: {},
    epoch: -1,
    report: "",
  };
}

/** What one collection took: the numbers of the Python client's Lifetime. */
function spentBy(record) {
  const price = toNumber(rational(record.price));
  const memos = Object.keys(record.memos).length;
  const charged = record.charges * price;
  const worstCase = record.memoised && record.charges ? worst(record, price) : charged;
  const values = Math.min(record.memoised ? memos * price : charged, worstCase);
  const constant = Math.min(record.memoised ? Math.min(memos, 1) * price : charged, worstCase);
  return { collection: record.name, attribute: record.attribute, charged, constant, values, worstCase };
}

function worst(record, price) {
  const epochs = record.told + record.silent;
  if (record.again === null) return epochs <= 1 ? epochs * price : Infinity;
  return epochs * toNumber(rational(record.again));
}
