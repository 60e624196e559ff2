
const LEAST_SQUARE = 1e-200;
const LARGEST = 1e100;

const rounded = FLOAT32 ? Math.fround : (x) => x;
const clipped = (score) => Math.min(Math.max(score, -LARGEST), LARGEST);

/** The place of a column in the tables; -1 if it is not there. */
function find(column) {
  let low = 0;
  let high = columns.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (columns[middle] < column) low = middle + 1;
    else high = middle;
  }
  return low < columns.length && columns[low] === column ? low : -1;
}

function begin() {
  return {
    mean: Array.from(intercept, (weight) => weight * BIAS),
    variance: INTERCEPT_VARIANCE * BIAS * BIAS,
    square: BIAS * BIAS,
  };
}

function add(sums, place, x) {
  sums.square += x * x;
  if (place < 0) {
    sums.variance += PRIOR_VARIANCE * (x * x);
    return;
  }
  for (let z = 0; z < BLOCKS; z++) sums.mean[z] += means[place * BLOCKS + z] * x;
  if (DIVISOR === 1) sums.variance += variances[place] * (x * x);
}

/** Label and probabilities, or the prediction of a regression, from the sums of a row. */
function finish(sums) {
  if (REGRESSION) return { prediction: sums.mean[0] };
  if (BLOCKS === 1) {
    let odds = sums.mean[0] * SLOPE;
    if (DIVISOR) {
      const spread = DIVISOR === 1 ? sums.variance : sums.square;
      odds = spread > LEAST_SQUARE ? odds / Math.sqrt(spread) : 0;
    }
    odds = clipped(odds) + SHIFT;
    const small = Math.exp(-Math.abs(odds)) / (1 + Math.exp(-Math.abs(odds)));
    const large = 1 / (1 + Math.exp(-Math.abs(odds)));
    return { label: labels[odds > 0 ? 1 : 0], probabilities: odds >= 0 ? [small, large] : [large, small] };
  }
  const unit = DIVISOR && sums.square > LEAST_SQUARE ? Math.sqrt(sums.square) : 1;
  let best = 0;
  for (let z = 1; z < BLOCKS; z++) if (sums.mean[z] > sums.mean[best]) best = z;
  const scores = sums.mean.map((mean) => clipped((mean * SLOPE) / unit));
  const powers = scores.map((score) => Math.exp(score - scores[best]));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return { label: labels[best], probabilities: powers.map((power) => power / total) };
}

/** Score a row of values, each in another column. */
function scoreRow(indices, values) {
  const sums = begin();
  indices.forEach((column, k) => add(sums, find(column), rounded(values[k])));
  return finish(sums);
}

/** Whether a number lies in one of the ranges, which are pairs one after the other. */
function within(code, ranges) {
  let low = 0;
  let high = ranges.length / 2;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ranges[2 * middle + 1] < code) low = middle + 1;
    else high = middle;
  }
  return 2 * low < ranges.length && ranges[2 * low] <= code;
}

const encoder = new TextEncoder();

const mixed = (k) => {
  k = Math.imul(k, 0xcc9e2d51);
  return Math.imul((k << 15) | (k >>> 17), 0x1b873593);
};

/** The column of an n-gram: MurmurHash3_x86_32 with the seed 0 (Austin Appleby, public domain) of its UTF-8. */
function columnOf(text) {
  const data = encoder.encode(text);
  const whole = data.length & ~3;
  let h = 0;
  for (let i = 0; i < whole; i += 4) {
    h ^= mixed(data[i] | (data[i + 1] << 8) | (data[i + 2] << 16) | (data[i + 3] << 24));
    h = (Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64) | 0;
  }
  let k = 0;
  for (let i = whole; i < data.length; i++) k |= data[i] << (8 * (i & 3));
  h ^= mixed(k) ^ data.length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  h ^= h >>> 16;
  return ((h < 0 ? -h : h) >>> 0) & (FEATURES - 1);
}

/** Whether a capital sigma ends a word: behind a letter with case, and before none; marks between do not count. */
function isFinalSigma(codes, at) {
  let k = at - 1;
  while (k >= 0 && within(codes[k], ignorable)) k--;
  if (k < 0 || !within(codes[k], cased)) return false;
  k = at + 1;
  while (k < codes.length && within(codes[k], ignorable)) k++;
  return k === codes.length || !within(codes[k], cased);
}

/** The characters of a text, in lower case and without accents if the model wants that. */
function charactersOf(text) {
  const codes = Array.from(text, (character) => character.codePointAt(0));
  if (codes.some((code) => code >= 0xd800 && code < 0xe000)) throw new RangeError("a lone surrogate is no character");
  return codes.flatMap((code, at) => {
    if (LOWERCASE && code === 0x3a3) code = isFinalSigma(codes, at) ? 0x3c2 : 0x3c3;
    const folded = folds.get(code);
    if (folded !== undefined) return Array.from(folded);
    return code < 0x80 || !ONLY_ASCII ? [String.fromCodePoint(code)] : [];
  });
}

function wordsOf(characters) {
  const words = [];
  let word = [];
  for (const character of [...characters, " "]) {
    const code = character.codePointAt(0);
    if (BY_SPACE ? !within(code, spaces) : within(code, words_)) {
      word.push(character);
    } else {
      if (word.length >= LEAST && !stopWords.has(word.join(""))) words.push(word.join(""));
      word = [];
    }
  }
  return words;
}

function ngrams(tokens, low, separator, found) {
  for (let n = low; n <= HIGH && n <= tokens.length; n++) {
    for (let i = 0; i + n <= tokens.length; i++) found.push(tokens.slice(i, i + n).join(separator));
  }
}

function ngramsOf(text) {
  const characters = charactersOf(text);
  const found = [];
  const isSpace = (character) => within(character.codePointAt(0), spaces);
  if (ANALYZER === 0) {
    ngrams(wordsOf(characters), LOW, " ", found);
  } else if (ANALYZER === 1) {
    const kept = [];
    let run = 0;
    for (const character of characters) {
      run = isSpace(character) ? run + 1 : 0;
      if (run < 2) kept.push(character);
      else kept[kept.length - 1] = " "; // two or more in a row are one space
    }
    ngrams(kept, LOW, "", found);
  } else {
    let word = [];
    for (const character of [...characters, " "]) {
      if (!isSpace(character)) word.push(character);
      else if (word.length) {
        const padded = [" ", ...word, " "];
        ngrams(padded, Math.min(LOW, padded.length), "", found);
        word = [];
      }
    }
  }
  return found;
}

function weightOf(count) {
  if (WEIGHTING === 1) return 1;
  return WEIGHTING === 2 && count > 1 ? 1 + Math.log(count) : count;
}

/** Score a text. */
function scoreText(text) {
  const found = new Map();
  for (const ngram of ngramsOf(text)) {
    const column = columnOf(ngram);
    found.set(column, (found.get(column) || 0) + 1);
  }
  const entries = [...found].sort((one, other) => one[0] - other[0]).map(([column, count]) => {
    const place = find(column);
    if (!IDF) return [place, weightOf(count)];
    const seen = place < 0 ? DEFAULT_COUNT : counts[place];
    return [place, rounded(weightOf(count)) * (1 + Math.log(1 + DOCUMENTS) - Math.log(1 + seen))];
  });
  let norm = 0;
  for (const [, x] of entries) norm += NORM === 2 ? x * x : NORM === 1 ? x : 0;
  norm = (NORM === 2 ? Math.sqrt(norm) : norm) || 1;
  const sums = begin();
  for (const [place, x] of entries) add(sums, place, rounded(x / norm));
  return finish(sums);
}

const scorer = { labels, score: TEXT ? scoreText : scoreRow };
if (typeof module !== "undefined" && module.exports) module.exports = scorer;
else globalThis.cwlearn = scorer;
})();
