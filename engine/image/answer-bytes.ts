import { encodeText, hundredthsLength, jsonUpTo, type TextColumn, utf8, writeHundredths } from "../encode.ts";
import { DataError } from "../errors.ts";
import { stateCodes } from "../snapshot/schema.ts";
import type { TableParts } from "../snapshot/table.ts";
import type { Groups } from "./groups.ts";
import { maxImageBytes } from "./image.ts";
import { inDollars, summaryFields } from "./statistics-fields.ts";

type Order = Pick<Groups, "order" | "groupStart">;

/**
 * Encodes for each group the JSON of a price list up to its first row. The text is empty for a group without priced
 * rows.
 */
export function encodeHeads(
  procedures: TableParts["procedures"],
  summaries: Float64Array,
  { groupStart }: Order,
): TextColumn {
  const national = procedures.code.length;
  const named = procedures.code.map((code, i) => JSON.stringify({ code, name: procedures.name[i] }));
  const heads = Array.from({ length: groupStart.length - 1 }, (_, group) => {
    if (groupStart[group] === groupStart[group + 1]) return "";
    const inState = group - national;
    const procedure = inState < 0 ? group : Math.floor(inState / stateCodes.length);
    const state = inState < 0 ? "national" : stateCodes[inState % stateCodes.length];
    const summary = summaryText(summaries, group);
    return `{"list":"prices","procedure":${named[procedure]},"scope":{"state":"${state}"},"summary":${summary},"data":[`;
  });
  return encodeText(heads);
}

/** `JSON.stringify` would be too slow for thousands of groups. */
function summaryText(summaries: Float64Array, group: number): string {
  const texts = summaryFields.map((field, i) => {
    const value = inDollars(field, summaries[group * summaryFields.length + i]);
    return `"${field}":${Number.isNaN(value) ? "null" : value}`;
  });
  return `{${texts.join(",")}}`;
}

/**
 * Encodes for each facility the JSON of a row up to its charge. The charge, `middle`, the allowed amount and `end`
 * follow.
 */
export function encodePrefixes({ ccn, name, city, state }: TableParts["facilities"]): TextColumn {
  return encodeText(
    ccn.map((_, i) =>
      jsonUpTo("submitted_charge", { facility: name[i], city: city[i], state: state[i], ccn: ccn[i] }),
    ),
  );
}

const middle = utf8(',"medicare_allowed":');
const end = utf8("}");
const comma = 44;

/**
 * Computes where in `answers` the head of each group and the end of each priced row will be.
 *
 * @throws DataError when the rows need more than `maxImageBytes`
 */
export function measureAnswers(
  rows: TableParts["rows"],
  { order, groupStart }: Order,
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

/** Copying to shared memory is fast only in long pieces of equal size. */
const pieceBytes = 2 ** 16;
const maxNumbersBytes = 64;

/** Writes the heads and rows of all groups as `measureAnswers` has placed them. `out` may be shared memory. */
export function writeAnswers(
  out: Uint8Array,
  rows: TableParts["rows"],
  { order, groupStart }: Order,
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
  const put = ({ offsets, bytes }: TextColumn, i: number) => {
    at += bytes.copy(piece, at, offsets[i], offsets[i + 1]);
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
