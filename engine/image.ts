import { DataError, SizeError } from "./errors.ts";
import { type Counts, type Provenance, stateCodes } from "./schema.ts";

/*
 * The image is what a data version is at run time: one buffer that any thread attaches to by reference. It holds
 *
 *  - the Arrow columns of the snapshot, rows ascending by CCN and APC code;
 *  - the groups: first one per procedure over the nation, then one per procedure and state, procedure by procedure;
 *  - how many rows of any kind each group has, and how many of them are suppressed;
 *  - every group's summary, and the positions of its priced rows in the order of an answer (charge, then CCN);
 *  - every group's JSON as an answer has it: the head up to the first row, and then all rows.
 *
 * So a first page is one range of bytes and a tail. A snapshot's sections are laid out once, all sizes known.
 */

const magic = 0x49514348; // "HCQI"
/** Counted up when the layout or the bytes of an answer change, cursors included: ETags name it. */
export const imageFormatVersion = 5;
export const maxImageBytes = 2 ** 32 - 1;
/** A code has four digits. */
const maxProcedures = 10_000;

type View<Values> = {
  new (buffer: SharedArrayBuffer, offset: number, length: number): Values;
  BYTES_PER_ELEMENT: number;
};
const bytes: View<Uint8Array> = Uint8Array;
const int32: View<Int32Array> = Int32Array;
const uint32: View<Uint32Array> = Uint32Array;
const float64: View<Float64Array> = Float64Array;

/** The sections in the order they lie in, each with the type of its elements. */
const sections = {
  description: bytes,
  tail: bytes,
  ccnOffsets: int32,
  ccnBytes: bytes,
  facilityNameOffsets: int32,
  facilityNameBytes: bytes,
  cityOffsets: int32,
  cityBytes: bytes,
  stateOffsets: int32,
  stateBytes: bytes,
  codeOffsets: int32,
  codeBytes: bytes,
  procedureNameOffsets: int32,
  procedureNameBytes: bytes,
  facility: int32,
  procedure: int32,
  charge: int32,
  chargeValidity: bytes,
  allowed: int32,
  allowedValidity: bytes,
  groupStart: uint32,
  groupRows: uint32,
  groupSuppressed: uint32,
  summaries: float64,
  headStart: uint32,
  headEnd: uint32,
  order: uint32,
  rowEnd: uint32,
  answers: bytes,
  facilityWordOffsets: int32,
  facilityWordBytes: bytes,
  facilityWordLetters: int32,
  facilityTokenStart: uint32,
  facilityTokens: uint32,
  facilityPostingStart: uint32,
  facilityPostings: uint32,
  facilityRank: uint32,
  facilityByRank: uint32,
  facilityRowsOffsets: int32,
  facilityRowsBytes: bytes,
  procedureWordOffsets: int32,
  procedureWordBytes: bytes,
  procedureWordLetters: int32,
  procedureTokenStart: uint32,
  procedureTokens: uint32,
  procedurePostingStart: uint32,
  procedurePostings: uint32,
  procedureRank: uint32,
  procedureByRank: uint32,
  procedureRowsOffsets: int32,
  procedureRowsBytes: bytes,
};

export type SectionName = keyof typeof sections;
type Sections = { [Name in SectionName]: InstanceType<(typeof sections)[Name]> };

const sectionNames = Object.keys(sections) as SectionName[];
const headerWords = 4 + 2 * sectionNames.length;

/** Statistics of a group, in this order in `summaries`: amounts in cents, spread in hundredths. */
export const summaryFields = [
  "facilities",
  "median_charge",
  "min_charge",
  "max_charge",
  "spread",
  "p10_charge",
  "p25_charge",
  "p75_charge",
  "p90_charge",
  "median_allowed",
] as const;

/** What an image says of its snapshot. */
export interface Description {
  provenance: Provenance;
  counts: Counts;
  /** Of the snapshot's content and provenance, and of its rows alone. */
  sha256: string;
  contentSha256: string;
}

/** An attached image: views on shared memory, read only by convention, and the few look-ups over them. */
export interface Image extends Readonly<Sections> {
  readonly buffer: SharedArrayBuffer;
  readonly describe: Readonly<Description>;
  /** APC code → procedure. */
  readonly procedureOf: ReadonlyMap<string, number>;
  /** APC code as a number → procedure; −1 for none. */
  readonly procedureOfNumber: Int16Array;
  readonly procedures: number;
}

/** State code → its place among a procedure's groups. */
export const stateIndex: ReadonlyMap<string, number> = new Map(stateCodes.map((code, i) => [code, i]));

/** A group's statistics by name: amounts in cents, spread in hundredths; all 0 for a group without rows. */
export type Summary = Record<(typeof summaryFields)[number], number>;

export function summaryOf(image: Image, group: number): Summary {
  const at = group * summaryFields.length;
  return Object.fromEntries(summaryFields.map((field, i) => [field, image.summaries[at + i]])) as Summary;
}

/** The group of a procedure over the nation (state null) or within a state, which has to be a known one. */
export function groupOf(image: Image, procedure: number, state: string | null): number {
  return state === null ? procedure : stateGroup(image, procedure, stateIndex.get(state) ?? 0);
}

/** The group of a procedure within a state, given by its `stateIndex`. */
export function stateGroup(image: Image, procedure: number, state: number): number {
  return image.procedures + procedure * stateCodes.length + state;
}

/** The group of an APC code over the nation (state null) or within a state; −1 where there is no priced row. */
export function findGroup(image: Image, procedureCode: string, state: string | null): number {
  const procedure = image.procedureOf.get(procedureCode);
  if (procedure === undefined || (state !== null && !stateIndex.has(state))) return -1;
  const group = groupOf(image, procedure, state);
  return image.groupStart[group] === image.groupStart[group + 1] ? -1 : group;
}

/**
 * Attaches to an image without copying or parsing its rows.
 *
 * @throws DataError when the buffer is no image of this format
 */
export function attachImage(buffer: SharedArrayBuffer): Image {
  const header = new Uint32Array(buffer, 0, Math.min(headerWords, buffer.byteLength >> 2));
  if (header.length < headerWords || header[0] !== magic || header[1] !== imageFormatVersion)
    throw new DataError(
      "image",
      header.length < headerWords ? `${buffer.byteLength} bytes` : `magic ${header[0]}, format ${header[1]}`,
      `magic ${magic}, format ${imageFormatVersion}`,
    );
  const views = viewSections(
    buffer,
    sectionNames.map((_, i) => [header[4 + 2 * i], header[5 + 2 * i]]),
  );
  const describe: Description = JSON.parse(textOf(views.description));
  const procedureOf = new Map<string, number>();
  const procedureOfNumber = new Int16Array(maxProcedures).fill(-1);
  for (let i = 0; i + 1 < views.codeOffsets.length; i++) {
    const code = textAt(views.codeOffsets, views.codeBytes, i);
    procedureOf.set(code, i);
    procedureOfNumber[Number(code)] = i;
  }
  return Object.freeze({
    ...views,
    buffer,
    describe: Object.freeze(describe),
    procedureOf,
    procedureOfNumber,
    procedures: procedureOf.size,
  });
}

/** A string of a text column. */
export function textAt(offsets: Int32Array, bytes: Uint8Array, i: number): string {
  return textOf(bytes.subarray(offsets[i], offsets[i + 1]));
}

/** Text of bytes in shared memory; a copy first, because text decoders need not take shared memory. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}

function viewSections(buffer: SharedArrayBuffer, extents: number[][]): Sections {
  const views = sectionNames.map((name, i) => {
    const [offset, length] = extents[i];
    return [name, new sections[name](buffer, offset, length)];
  });
  return Object.fromEntries(views);
}

/**
 * Allocates a buffer in which each section has the length given, in elements, and writes the header.
 *
 * @param maxBytes of the whole
 * @throws SizeError when it would be larger
 * @throws DataError when it would be larger than any image can be
 */
export function allocateImage(
  lengths: Record<SectionName, number>,
  subject: string,
  maxBytes: number,
): Sections & { buffer: SharedArrayBuffer } {
  let end = headerWords * 4;
  const extents = sectionNames.map((name) => {
    const offset = Math.ceil(end / 64) * 64;
    end = offset + lengths[name] * sections[name].BYTES_PER_ELEMENT;
    return [offset, lengths[name]];
  });
  if (end > maxImageBytes)
    throw new DataError(
      `image of ${subject}`,
      `${end} bytes`,
      `at most ${maxImageBytes}, as positions have 32 bits`,
    );
  if (end > maxBytes) throw new SizeError(`image of ${subject}`, `${end} bytes`, `at most ${maxBytes}`);
  const buffer = new SharedArrayBuffer(end);
  new Uint32Array(buffer, 0, headerWords).set([
    magic,
    imageFormatVersion,
    sectionNames.length,
    0,
    ...extents.flat(),
  ]);
  return { ...viewSections(buffer, extents), buffer };
}
