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
const SLACK = 1e-9; // of the check in doubles that thresholds keep epsilon

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
const chance = (threshold) => Number(threshold) / Number(WORD);
const odds = (threshold) => Number(threshold) / Number(WORD - threshold);
const logOdds = (threshold) => Math.abs(Math.log(odds(threshold))); // the loss of a coin, whichever way it leans
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

/** Rational numbers "a" or "a/b" above 0, as pairs of BigInt. */
const isRational = isText(/^0*[1-9][0-9]{0,39}(\/0*[1-9][0-9]{0,39})?$/);
function rational(text) {
  must(isRational(text), "a number is not a rational above 0");
  const [top, bottom = "1"] = text.split("/");
  return [BigInt(top), BigInt(bottom)];
}
const plus = ([a, b], [c, d]) => [a * d + c * b, b * d];
const minus = ([a, b], [c, d]) => [a * d - c * b, b * d];
const times = (k, [a, b]) => [toBig(k) * a, b];
const atMost = ([a, b], [c, d]) => a * d <= c * b;
const lesser = (x, y) => (atMost(x, y) ? x : y);
const wholeParts = ([a, b], [c, d]) => (a < 0n ? 0 : Number((a * d) / (b * c)));
const toNumber = ([a, b]) => Number(a) / Number(b);
/** A signed rational as the nearest double; exact as long as both parts are below 2^53. */
function double(text) {
  const [top, bottom = "1"] = text.split("/").map(Number);
  const parts = [top, Number(bottom)];
  if (!parts.every(Number.isSafeInteger)) throw new BadCollection("a bound is too long");
  return parts[0] / parts[1];
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
//   loss: the largest log ratio of its thresholds, in doubles; report(code, words): the payload
// Those that remember have part, kind, memo, step instead of report (see the client).

const numeric = (value) => (typeof value === "bigint" || typeof value === "boolean" ? Number(value) : value);

const frequency = (p, domain = p.domain) => {
  const known = (number) => isWhole(number, 0, domain - 1);
  must(isWhole(domain, 2, 2 ** 24) && known(p.missing), "its domain is none, or what counts as missing is not in it");
  return { domain, missing: p.missing, code: (value) => (known(numeric(value)) ? numeric(value) : p.missing) };
};

const keepOr = (value, k, keep, coin, word) => {
  if (coin < keep) return value;
  const other = below(word, k - 1);
  return other + (other >= value ? 1 : 0);
};

/** The loss of keeping one of k values, or else taking one of the others. */
const keptLoss = (keep, k) => Math.abs(Math.log(odds(keep) * (k - 1)));

function binary(p, [keep]) {
  const report = (code, [coin]) => toBytes(coin < keep ? code : 1 - code, 1);
  return { ...frequency(p, 2), words: 1, size: 1, loss: logOdds(keep), report };
}

function sign(p, [keep]) {
  const code = (value) => ([1, -1].includes(numeric(value)) ? numeric(value) : p.missing) === 1 ? 1 : 0;
  const report = (number, [coin]) => toBytes(coin < keep ? number : 1 - number, 1);
  return { missing: p.missing, code, words: 1, size: 1, loss: logOdds(keep), report };
}

function kary(p, [keep]) {
  const size = bytesFor(p.domain);
  const report = (code, [coin, word]) => toBytes(keepOr(code, p.domain, keep, coin, word), size);
  return { ...frequency(p), words: 2, size, loss: keptLoss(keep, p.domain), report };
}

function unary(p, [own, other]) {
  const report = (code, words) => packBits(words.map((word, i) => word < (i === code ? own : other)));
  const loss = Math.abs(Math.log(odds(own) / odds(other)));
  return { ...frequency(p), words: p.domain, size: Math.ceil(p.domain / 8), loss, report };
}

function hashing(p, [keep]) {
  const size = 4 + bytesFor(p.buckets);
  const report = (code, [first, coin, word]) => {
    const seed = Number(first >> 32n);
    return toBytes(seed + 2 ** 32 * keepOr(bucket(seed, code, p.buckets), p.buckets, keep, coin, word), size);
  };
  return { ...frequency(p), words: 3, size, loss: keptLoss(keep, p.buckets), report };
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
  return { ...frequency(p), words: 2, size, loss: logOdds(keep), report };
}

function onebit(p, [keep]) {
  const bits = bitLength(p.domain - 1);
  const size = bytesFor(2 ** (bits + 1));
  const report = (code, [word, coin]) => {
    const column = Number(word >> toBig(64 - bits));
    return toBytes(2 * column + (parity(code & column) ^ (coin < keep ? 0 : 1)), size);
  };
  return { ...frequency(p), words: 2, size, loss: logOdds(keep), report };
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
  const loss = Math.abs(Math.log((odds(inside) * (p.domain - p.size)) / p.size));
  return { ...frequency(p), words: 1 + p.size, size: Math.ceil(p.domain / 8), loss, report };
}

function projective(p, [inside]) {
  must(isPrime(p.order), "the order of its space is not a prime");
  const space = points(p.order, p.domain);
  const size = bytesFor(space.count);
  const report = (code, [coin, word]) => {
    const near = coin < inside;
    const free = near ? space.vector(below(word, space.plane)) : below(word, space.outside);
    return toBytes(space.meet(code, free, near ? 0 : 1), size);
  };
  const loss = Math.abs(Math.log((odds(inside) * space.outside) / space.plane));
  return { ...frequency(p), words: 2, size, loss, report };
}

function isPrime(number) {
  if (!isWhole(number, 2, 2 ** 24)) return false;
  for (let factor = 2; factor * factor <= number; factor++) if (number % factor === 0) return false;
  return true;
}

/** The points of the projective space over the integers modulo `order` that has room for `domain` points. */
function points(order, domain) {
  let dimension = 2;
  while ((order ** dimension - 1) / (order - 1) < domain) dimension++;
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
  const [a, b] = [memoKeep, keep].map(chance);
  const [c, d] = [memoKeep, keep].map((threshold) => chance(WORD - threshold) / (g - 1));
  return {
    ...frequency(p),
    size,
    loss: Math.abs(Math.log((a * b + (g - 1) * c * d) / (a * d + c * b + (g - 2) * c * d))),
    remembers: { forever: p.forever, again: p.again, kinds: g, partWords: 1, memoWords: 2, stepWords: 2 },
    lossForever: keptLoss(memoKeep, g),
    lossAgain: keptLoss(keep, g),
    part: ([word]) => toBig(below(word, p.functions)),
    kind: (part, code) => bucket(part, code, g),
    memo: (part, kind, [coin, word]) => toBig(keepOr(kind, g, memoKeep, coin, word)),
    step: (part, memo, [coin, word]) => toBytes(part + (toBig(keepOr(Number(memo), g, keep, coin, word)) << 32n), size),
  };
}

// Means: bounds are doubles, and a value becomes a step of a grid before anything random happens.

const onGrid = (p, steps) => {
  const [lower, upper, missing] = [p.lower, p.upper, p.missing].map(double);
  must(lower < upper, "its bounds leave no room between them");
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
  return { ...onGrid(p, STEPS), words: 1, size: 1, loss: logOdds(top), report };
}

function place(code, window, stay, coin, word) {
  if (coin < stay) return code + below(word, window);
  const outside = below(word, CELLS - window);
  return outside < code ? outside : outside + window;
}
const windowLoss = (window, stay) => Math.abs(Math.log((odds(stay) * (CELLS - window)) / window));

function piecewise(p, [stay]) {
  const size = bytesFor(CELLS);
  const report = (code, [coin, word]) => toBytes(place(code, p.window, stay, coin, word), size);
  return { ...onGrid(p, CELLS - p.window), words: 2, size, loss: windowLoss(p.window, stay), report };
}

function hybrid(p, [mixed, stay, top]) {
  const size = bytesFor(CELLS + 2);
  const steps = CELLS - p.window;
  const report = (code, [choice, coin, word]) => {
    if (choice < mixed) return toBytes(2 + place(code, p.window, stay, coin, word), size);
    return toBytes(coin < onTheLine(top, code, steps) ? 1 : 0, size);
  };
  const loss = Math.max(logOdds(top), windowLoss(p.window, stay));
  return { ...onGrid(p, steps), words: 3, size, loss, report };
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
  return { ...frequency(p), words: 1 + p.width, size, loss: 2 * logOdds(keep), report };
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
  return { ...frequency(p), words: 3, size, loss: logOdds(keep), report };
}

/** Any finite randomizer, by its matrix in units of 2^-64. */
function finite(p) {
  const masses = p.masses.map((row) => row.map(BigInt));
  const isLaw = (row) => row.every((mass) => mass >= 0n) && row.reduce((a, b) => a + b) === WORD;
  must(masses.every((row) => row.length === masses[0].length && isLaw(row)), "its matrix is no matrix of chances");
  const size = bytesFor(masses[0].length);
  const report = (code, [word]) => {
    let end = 0n;
    return toBytes(masses[code].findIndex((mass) => word < (end += mass)), size);
  };
  const columns = masses[0].map((_, y) => masses.map((row) => Number(row[y])));
  const possible = columns.filter((column) => Math.max(...column) > 0);
  const loss = Math.max(...possible.map((column) => Math.log(Math.max(...column) / Math.min(...column))));
  return { ...frequency(p, masses.length), words: 1, size, loss, report };
}

// RAPPOR: cohort, bits flipped once and for all, bits flipped again for every report.

function rappor(p, [permanent, instant]) {
  const header = bytesFor(p.cohorts);
  const limit = (bits, i, keep) => ((bits >> toBig(i)) & 1n ? keep : WORD - keep);
  const flipped = (bits, words, keep) =>
    words.reduce((sum, word, i) => sum | (toBig(word < limit(bits, i, keep)) << toBig(i)), 0n);
  const share = 2 * p.hashes; // bits in which two values differ, at most
  const [a, b] = [permanent, instant].map(chance);
  const [c, d] = [permanent, instant].map((threshold) => chance(WORD - threshold));
  const millionths = Math.ceil(logOdds(instant) * 1e6) * p.bits;
  return {
    ...frequency(p),
    size: header + Math.ceil(p.bits / 8),
    loss: share * logOdds(permanent),
    lossOnce: share * Math.abs(Math.log((a * b + c * d) / (a * d + c * b))),
    remembers: {
      forever: p.epsilon,
      again: `${millionths}/1000000`,
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
    loss: 2 * logOdds(keep),
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

/** The randomizer with these parameters; refused if its thresholds do not keep its epsilon. */
export function randomizer(parameters) {
  must(Object.hasOwn(PROTOCOLS, parameters.protocol), `the protocol ${parameters.protocol} is not known here`);
  const numbers = Object.values(parameters).filter((value) => typeof value === "number");
  must(numbers.every((number) => isWhole(number, -1, 2 ** 53)), "a number of its law is not whole");
  const made = orRefused(() => madeOf(parameters));
  const promises = [
    [made.loss, parameters.epsilon],
    [made.lossOnce, parameters.report_epsilon],
    [made.lossForever, parameters.forever],
    [made.lossAgain, parameters.again],
  ];
  for (const [loss, epsilon] of promises) {
    if (loss === undefined) continue;
    must(loss <= toNumber(rational(epsilon ?? "")) * (1 + SLACK), "its thresholds do not keep its epsilon");
  }
  return made;
}

function madeOf(parameters) {
  const thresholds = (parameters.thresholds ?? []).map(BigInt);
  must(thresholds.every((threshold) => threshold >= 0n && threshold <= WORD), "a threshold is not of 64 bits");
  return PROTOCOLS[parameters.protocol][1](parameters, thresholds);
}

function orRefused(make) {
  try {
    return make();
  } catch (error) {
    throw error instanceof BadCollection ? error : new BadCollection("a number of its law is missing or none");
  }
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
  must(document.hubbub === "signed-collection/1", "this is not a signed collection");
  const signed = utf8("hubbub signed-collection/1\n" + document.collection);
  const holds = await verified(publicKey, document.signature, signed);
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
  const document = jsonOf(text);
  const texts = [document?.collection, document?.signature];
  must(texts.every((part) => typeof part === "string"), "this is not a signed collection");
  return document;
}

function jsonOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function collectionOf(text) {
  const fields = JSON.parse(text);
  must(fields.hubbub === "collection/1", "this is a collection of another format");
  const law = hex(await sha256(JSON.stringify(fields.randomizer)));
  const collection = { ...fields, law, digest: await sha256(text), made: randomizer(fields.randomizer) };
  must(isId(fields.id), "its id must be 32 hexadecimal digits");
  must(isName(fields.name) && isName(fields.attribute), "its name or attribute is none");
  must(isWhole(fields.epochs, 1, 2 ** 32 - 1), "it has no epochs, or too many");
  must(isWhole(fields.version, 1, Number.MAX_SAFE_INTEGER), "its version is not a whole number");
  must(Array.isArray(fields.answers), "its answers must be a list");
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
    const place = this.collection.answers.indexOf(value);
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
