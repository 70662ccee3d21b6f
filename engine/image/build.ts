import { encodeText, hundredthsLength, type TextColumn, utf8, writeHundredths } from "../encode.ts";
import { DataError, SizeError } from "../errors.ts";
import { csvLengths } from "../exports/csv.ts";
import {
  beyondField,
  bitsOf,
  cityField,
  cityPartField,
  type Document,
  indexText,
  indexWords,
  nameField,
  nameSizeOf,
  otherNameWords,
  placeWordsOf,
  stateField,
  statePartField,
} from "../search/text.ts";
import { plainWordsOf } from "../search/vocabulary.ts";
import { blank, byField, stateCodes, stateNames } from "../snapshot/schema.ts";
import { ascending, type Snapshot, versionName } from "../snapshot/snapshot.ts";
import { stableOrder } from "../snapshot/sort.ts";
import {
  attachImage,
  type Contents,
  type Description,
  type Image,
  inDollars,
  layOut,
  maxImageBytes,
  type Summary,
  stateGroup,
  stateIndex,
  summaryFields,
  textAt,
} from "./image.ts";
import { percentile, ratioInHundredths, weightedMean, weightedMedian } from "./statistics.ts";

/** What building an image may take, in bytes. */
export interface BuildLimits {
  image: number;
  /** Of texts on the JavaScript heap. Past its end the whole process would go, so they are counted before. */
  heap: number;
}

/** Texts of a facility that may be absent. */
const optionalTexts = ["street", "zip", "ruralUrbanCode", "ruralUrbanDescription"] as const;

/** On the heap: of a facility or procedure, a character of its texts, a word in them, and a word not seen before. */
const bytesPerDocument = 512;
const bytesPerCharacter = 16;
const bytesPerWord = 64;
const bytesPerDistinctWord = 640;

/**
 * Builds the image of a snapshot: sorts, sums up and encodes. O(rows), runs at load only.
 *
 * @throws SizeError when that would take more than the limits, before it is taken
 */
export function buildImage(snapshot: Snapshot, limits?: BuildLimits): SharedArrayBuffer {
  const wordsOf = wordsByText();
  if (limits !== undefined) checkTexts(snapshot, limits.heap, wordsOf);
  const { provenance, counts, sha256, contentSha256, facilities, procedures, rows } = snapshot;
  const source = {
    data_year: provenance.dataYear,
    data_version: versionName(provenance),
    caveat: provenance.caveat,
  };
  const groups = orderRows(snapshot);
  const summaries = summarize(snapshot, groups);
  const prefixes = encodeText(facilities.ccn.map((_, i) => rowPrefix(snapshot, i)));
  const heads = encodeText(encodeHeads(snapshot, summaries, groups.groupStart));
  const { answerBytes, ...extents } = measureAnswers(snapshot, groups, heads, prefixes);
  const contents: Contents = {
    description: utf8(JSON.stringify({ provenance, counts, sha256, contentSha256 } satisfies Description)),
    tail: utf8(`],"source":${JSON.stringify(source)},"next":`),
    ccn: encodeText(facilities.ccn),
    facilityName: encodeText(facilities.name),
    city: encodeText(facilities.city),
    state: encodeText(facilities.state),
    ...byField(optionalTexts, (field) => encodeText(facilities[field])),
    code: encodeText(procedures.code),
    procedureName: encodeText(procedures.name),
    ...rows,
    ...groups,
    csvBytes: new Float64Array(groups.groupRows.length),
    summaries,
    ...extents,
    answers: {
      length: answerBytes,
      write: (out) => writeAnswers(out, snapshot, groups, heads, prefixes),
    },
    documents: { facility: facilityDocuments(snapshot, wordsOf), procedure: procedureDocuments(snapshot) },
  };
  const buffer = layOut(contents, versionName(provenance), limits?.image ?? maxImageBytes);
  measureCsv(attachImage(buffer));
  return buffer;
}

/** How long the rows of each group are as CSV: an export says its length before it is written. */
function measureCsv(image: Image): void {
  const lengthOf = csvLengths(image);
  const stateOf = Array.from(image.ccn.offsets.keys())
    .slice(1)
    .map((i) => stateIndex.get(textAt(image.state, i - 1)) ?? 0);
  for (let row = 0; row < image.facility.length; row++) {
    const procedure = image.procedure[row];
    const length = lengthOf(row);
    image.csvBytes[procedure] += length;
    image.csvBytes[stateGroup(image, procedure, stateOf[image.facility[row]])] += length;
  }
}

type WordsOf = (text: string) => string[];

/** `indexWords`, once for each text: cities and states have many facilities, and names are asked for thrice. */
function wordsByText(): WordsOf {
  const known = new Map<string, string[]>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    const words = indexWords(text);
    known.set(text, words);
    return words;
  };
}

function checkTexts(
  { facilities, procedures, provenance }: Snapshot,
  maxBytes: number,
  wordsOf: WordsOf,
): void {
  const words = new Set<string>();
  // Equal ones are one text.
  let bytes = optionalTexts
    .flatMap((field) => [...new Set(facilities[field])])
    .reduce((sum, text) => sum + text.length * bytesPerCharacter, 0);
  const count = (texts: string[], extra: number) => {
    for (const text of texts) {
      bytes += extra + text.length * bytesPerCharacter;
      for (const word of wordsOf(text)) {
        bytes += bytesPerWord + (words.has(word) ? 0 : bytesPerDistinctWord) + word.length;
        words.add(word);
      }
      if (bytes > maxBytes)
        throw new SizeError(
          `texts of ${versionName(provenance)}`,
          `${bytes} bytes or more`,
          `at most ${maxBytes}`,
        );
    }
  };
  count(facilities.name, bytesPerDocument);
  count(facilities.city, 0);
  count(facilities.zip, 0);
  count(procedures.name, bytesPerDocument);
}

/** What search finds facilities by: the words of their names and cities, their states' codes and names, and ZIP codes. */
function facilityDocuments(snapshot: Snapshot, wordsOf: WordsOf) {
  const { facilities } = snapshot;
  const rows = facilities.ccn.map((ccn, i) => {
    const [facility, city, state] = [facilities.name[i], facilities.city[i], facilities.state[i]];
    return rowUpTo("score", { type: "facility", ccn, facility, city, state });
  });
  return documentsOf(facilities.name, pricedOf(snapshot, "facility"), rows, (i) => [
    { words: wordsOf(facilities.name[i]), field: nameField },
    { words: otherNameWords(wordsOf(facilities.name[i])), field: nameField },
    ...placeWordsOf(wordsOf(facilities.city[i]), cityField, cityPartField),
    { words: [facilities.state[i].toLowerCase()], field: stateField },
    ...placeWordsOf(wordsOf(stateNames[facilities.state[i]]), stateField, statePartField),
    { words: wordsOf(facilities.zip[i]), field: beyondField },
  ]);
}

/** What search finds procedures by: the words of their names, and what patients call them. */
function procedureDocuments(snapshot: Snapshot) {
  const { procedures } = snapshot;
  const rows = procedures.code.map((code, i) =>
    rowUpTo("score", { type: "procedure", code, name: procedures.name[i] }),
  );
  return documentsOf(procedures.name, pricedOf(snapshot, "procedure"), rows, (i) => [
    { words: indexWords(procedures.name[i]), field: nameField },
    { words: indexWords(plainWordsOf[procedures.code[i]] ?? ""), field: beyondField },
  ]);
}

/** Facilities or procedures with a priced row. */
function pricedOf({ rows, counts }: Snapshot, column: "facility" | "procedure"): Set<number> {
  const found = new Set<number>();
  for (let row = 0; row < counts.rows; row++)
    if (rows.charge[row] > 0 && rows.allowed[row] > 0) found.add(rows[column][row]);
  return found;
}

/** The index has the documents by the sizes of their names, and then by name: equally good ones are found in order. */
function documentsOf(
  names: string[],
  priced: ReadonlySet<number>,
  rows: string[],
  documentOf: (i: number) => Document,
) {
  const documents = names.map((_, i) => documentOf(i));
  const byName = Uint32Array.from(ascending(names));
  const order = stableOrder(Int32Array.from(documents, nameSizeOf), byName);
  const places = inverse(byName);
  return {
    ...indexText(Array.from(order, (i) => documents[i])),
    priced: bitsOf(
      [...order.keys()].filter((document) => priced.has(order[document])),
      order.length,
    ),
    documentOf: inverse(order),
    nameRank: order.map((i) => places[i]),
    byName,
    rows: encodeText(rows),
  };
}

/** The place of each element of an order. */
function inverse(order: Uint32Array): Uint32Array {
  const places = new Uint32Array(order.length);
  order.forEach((element, place) => {
    places[element] = place;
  });
  return places;
}

type Groups = ReturnType<typeof orderRows>;

/**
 * Priced rows by group, within a group by charge and then CCN; where each group starts in that order; and how many rows
 * of any kind it has, and suppressed ones.
 */
function orderRows({ facilities, procedures, rows, counts }: Snapshot) {
  const priced = new Uint32Array(counts.pricedRows);
  let filled = 0;
  for (let row = 0; row < counts.rows; row++)
    if (rows.charge[row] > 0 && rows.allowed[row] > 0) priced[filled++] = row;
  // Rows come by CCN, and the sort is stable: equal charges stay by CCN.
  const byCharge = stableOrder(rows.charge, priced);

  const stateOf = facilities.state.map((code) => stateIndex.get(code) ?? 0);
  const stateGroup = new Int32Array(counts.rows);
  for (let row = 0; row < counts.rows; row++)
    stateGroup[row] = rows.procedure[row] * stateCodes.length + stateOf[rows.facility[row]];

  const order = new Uint32Array(2 * counts.pricedRows);
  order.set(stableOrder(rows.procedure, byCharge));
  order.set(stableOrder(stateGroup, byCharge), counts.pricedRows);

  const national = procedures.code.length;
  const groups = national * (1 + stateCodes.length);
  const groupRows = new Uint32Array(groups);
  const groupSuppressed = new Uint32Array(groups);
  for (let row = 0; row < counts.rows; row++) {
    const isSuppressed = rows.charge[row] === blank && rows.allowed[row] === blank ? 1 : 0;
    groupRows[rows.procedure[row]]++;
    groupRows[national + stateGroup[row]]++;
    groupSuppressed[rows.procedure[row]] += isSuppressed;
    groupSuppressed[national + stateGroup[row]] += isSuppressed;
  }
  const groupStart = new Uint32Array(groups + 1);
  for (const row of priced) {
    groupStart[rows.procedure[row] + 1]++;
    groupStart[national + stateGroup[row] + 1]++;
  }
  for (let group = 1; group < groupStart.length; group++) groupStart[group] += groupStart[group - 1];
  return { order, groupStart, groupRows, groupSuppressed };
}

function summarize({ rows }: Snapshot, { order, groupStart }: Groups): Float64Array {
  const summaries = new Float64Array((groupStart.length - 1) * summaryFields.length);
  let largest = 0;
  for (let group = 0; group + 1 < groupStart.length; group++)
    largest = Math.max(largest, groupStart[group + 1] - groupStart[group]);
  const scratch = [rows.charge, rows.allowed, rows.services].map(() => new Int32Array(largest));
  for (let group = 0; group + 1 < groupStart.length; group++) {
    const start = groupStart[group];
    const count = groupStart[group + 1] - start;
    if (count === 0) continue;
    const [charges, allowed, services] = scratch.map((column) => column.subarray(0, count));
    for (let i = 0; i < count; i++) {
      const row = order[start + i];
      charges[i] = rows.charge[row];
      allowed[i] = rows.allowed[row];
      services[i] = rows.services[row];
    }
    allowed.sort();
    const charge = (rank: number) => charges[rank];
    const min = charges[0];
    const max = charges[count - 1];
    const summary: Summary = {
      facilities: count,
      median_charge: percentile(charge, count, 50),
      min_charge: min,
      max_charge: max,
      spread: ratioInHundredths(max, min),
      p10_charge: percentile(charge, count, 10),
      p25_charge: percentile(charge, count, 25),
      p75_charge: percentile(charge, count, 75),
      p90_charge: percentile(charge, count, 90),
      median_allowed: percentile((rank) => allowed[rank], count, 50),
      ...weighted(charges, services),
    };
    for (const [i, field] of summaryFields.entries())
      summaries[group * summaryFields.length + i] = summary[field];
  }
  return summaries;
}

/**
 * The part of a summary in which a charge weighs as its services do.
 *
 * @param charges ascending
 * @param services of each; a charge without them takes no part: they become 0
 */
function weighted(charges: Int32Array, services: Int32Array) {
  let isKnown = false;
  let total = 0;
  for (let i = 0; i < services.length; i++) {
    if (services[i] === blank) services[i] = 0;
    else isKnown = true;
    total += services[i];
  }
  return {
    services: isKnown ? total : Number.NaN,
    weighted_median_charge: total > 0 ? weightedMedian(charges, services, total) : Number.NaN,
    weighted_mean_charge: total > 0 ? weightedMean(charges, services, total) : Number.NaN,
  };
}

/** The JSON of an answer up to its first row, for each group; empty for a group without rows. */
function encodeHeads({ procedures }: Snapshot, summaries: Float64Array, groupStart: Uint32Array): string[] {
  const national = procedures.code.length;
  const named = procedures.code.map((code, i) => JSON.stringify({ code, name: procedures.name[i] }));
  return Array.from({ length: groupStart.length - 1 }, (_, group) => {
    if (groupStart[group] === groupStart[group + 1]) return "";
    const inState = group - national;
    const procedure = inState < 0 ? group : Math.floor(inState / stateCodes.length);
    const state = inState < 0 ? "national" : stateCodes[inState % stateCodes.length];
    const summary = summaryText(summaries, group);
    return `{"procedure":${named[procedure]},"scope":{"state":"${state}"},"summary":${summary},"data":[`;
  });
}

/** A group's statistics as JSON: written by hand, as there are some fields of some thousand groups. */
function summaryText(summaries: Float64Array, group: number): string {
  const texts = summaryFields.map((field, i) => {
    const value = inDollars(field, summaries[group * summaryFields.length + i]);
    return `"${field}":${Number.isNaN(value) ? "null" : value}`;
  });
  return `{${texts.join(",")}}`;
}

/** A row's JSON is the facility's prefix, the charge, `middle`, the allowed amount and `end`. */
function rowPrefix({ facilities }: Snapshot, i: number): string {
  const [facility, city, state, ccn] = [
    facilities.name[i],
    facilities.city[i],
    facilities.state[i],
    facilities.ccn[i],
  ];
  return rowUpTo("submitted_charge", { facility, city, state, ccn });
}

/** A row's JSON up to the value of one more field. */
function rowUpTo(field: string, row: Record<string, string>): string {
  return `${JSON.stringify(row).slice(0, -1)},"${field}":`;
}

const middle = utf8(',"medicare_allowed":');
const end = utf8("}");
const comma = 44;

/** Where the head of each group and each row of an answer are to be. */
function measureAnswers(
  { rows }: Snapshot,
  { order, groupStart }: Groups,
  heads: TextColumn,
  prefixes: TextColumn,
) {
  const groups = groupStart.length - 1;
  const headStart = new Uint32Array(groups);
  const headEnd = new Uint32Array(groups);
  const rowEnd = new Uint32Array(order.length);
  let total = 0;
  for (let group = 0; group < groups; group++) {
    headStart[group] = total;
    total += heads.offsets[group + 1] - heads.offsets[group];
    headEnd[group] = total;
    for (let i = groupStart[group]; i < groupStart[group + 1]; i++) {
      const row = order[i];
      const facility = rows.facility[row];
      total +=
        (i === groupStart[group] ? 0 : 1) + // the comma
        prefixes.offsets[facility + 1] -
        prefixes.offsets[facility] +
        hundredthsLength(rows.charge[row]) +
        middle.length +
        hundredthsLength(rows.allowed[row]) +
        end.length;
      rowEnd[i] = total;
    }
  }
  if (total > maxImageBytes)
    throw new DataError(
      "encoded rows",
      `${total} bytes`,
      `at most ${maxImageBytes}, as positions have 32 bits`,
    );
  return { headStart, headEnd, rowEnd, answerBytes: total };
}

/** Answers are put together in a piece of so many bytes: copying to shared memory is fast only in long, even pieces. */
const pieceBytes = 2 ** 16;
/** Of a row, beside the prefix. */
const maxNumbersBytes = 64;

function writeAnswers(
  out: Uint8Array,
  { rows }: Snapshot,
  { order, groupStart }: Groups,
  heads: TextColumn,
  prefixes: TextColumn,
): void {
  const longest = Math.max(longestOf(heads), longestOf(prefixes)) + maxNumbersBytes;
  const piece = new Uint8Array(pieceBytes + longest);
  let start = 0;
  let at = 0;
  const handOver = (bytes: number) => {
    out.set(piece.subarray(0, bytes), start);
    start += bytes;
    piece.copyWithin(0, bytes, at);
    at -= bytes;
  };
  const put = ({ bytes, offsets }: TextColumn, i: number) => {
    piece.set(bytes.subarray(offsets[i], offsets[i + 1]), at);
    at += offsets[i + 1] - offsets[i];
    if (at >= pieceBytes) handOver(pieceBytes);
  };
  for (let group = 0; group + 1 < groupStart.length; group++) {
    put(heads, group);
    for (let i = groupStart[group]; i < groupStart[group + 1]; i++) {
      const row = order[i];
      if (i > groupStart[group]) piece[at++] = comma;
      put(prefixes, rows.facility[row]);
      at = writeHundredths(piece, at, rows.charge[row]);
      for (let from = 0; from < middle.length; from++) piece[at++] = middle[from];
      at = writeHundredths(piece, at, rows.allowed[row]);
      for (let from = 0; from < end.length; from++) piece[at++] = end[from];
    }
  }
  handOver(at);
}

function longestOf({ offsets }: TextColumn): number {
  let longest = 0;
  for (let i = 1; i < offsets.length; i++) longest = Math.max(longest, offsets[i] - offsets[i - 1]);
  return longest;
}
