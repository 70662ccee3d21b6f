import type { TextColumn } from "../encode.ts";
import { DataError, SizeError } from "../errors.ts";
import { type Counts, type Provenance, stateCodes } from "../snapshot/schema.ts";

/*
 * The image is the in-memory form of a data version: one shared buffer that any thread can attach to. Its sections are
 *
 * - the description of the data version, and the end of every price list as JSON, up to the path of the next page;
 * - the columns of the snapshot's table, rows ascending by CCN and APC code;
 * - facts about facilities, places and the rows of procedures;
 * - the groups: first one national group per procedure, then for each procedure one group per state;
 * - for each group its counts, its statistics, and the positions of its priced rows ordered by charge, then CCN;
 * - for each group its price list as JSON: the head up to the first row, then all rows;
 * - the HCPCS codes, and for each procedure the list of its codes as JSON;
 * - the search indexes.
 */

const magic = 0x49514348; // "HCQI"
/**
 * Increase this number when the image's layout changes, or the bytes of any answer or cursor. ETags contain the number,
 * so clients don't keep an old answer.
 */
export const imageFormatVersion = 15;
export const maxImageBytes = 2 ** 32 - 1;
/** APC codes have four digits. */
const maxProcedures = 10_000;

type Elements = Uint8Array | Int32Array | Uint32Array | Float64Array;
interface ElementType<Values = Elements> {
  size: number;
  view(buffer: SharedArrayBuffer, offset: number, length: number): Values;
}
interface Tree<Leaf> {
  readonly [name: string]: Leaf | Tree<Leaf>;
}
/** On shared memory, a Buffer's `copy` is faster than `set`, and its `toString` decodes text. */
const bytes: ElementType<Buffer> = { size: 1, view: (...at) => Buffer.from(...at) };
const uint8: ElementType<Uint8Array> = { size: 1, view: (...at) => new Uint8Array(...at) };
const int32: ElementType<Int32Array> = { size: 4, view: (...at) => new Int32Array(...at) };
const uint32: ElementType<Uint32Array> = { size: 4, view: (...at) => new Uint32Array(...at) };
const float64: ElementType<Float64Array> = { size: 8, view: (...at) => new Float64Array(...at) };

/** Absent texts are empty. */
const texts = { offsets: int32, bytes };

const textIndex = {
  words: texts,
  /** The words ordered by length, then by bytes. */
  byLength: uint32,
  lengthStart: uint32,
  /** A bit mask of the letters in each word, in the order of `byLength`; see `lettersOf`. */
  letters: int32,
  /** The start of each document's tokens, followed by the end of the last document's tokens. */
  tokenStart: uint32,
  /** Words with their fields: word << fieldBits | field. */
  tokens: uint32,
  documentCount: uint32,
  postingStart: uint32,
  /** The documents of each word: ascending positions, or a bit set where a bit set is shorter. */
  postings: int32,
  /** For each word, one bit per field in which the word occurs in any document. */
  wordFields: uint8,
  /** The first document of each name size (see `nameSizeOf`). */
  sizeStart: uint32,
};
export type TextIndex = SectionsOf<typeof textIndex>;

/** The documents are ordered by the size of the name (see `nameSizeOf`), then by name, then by code. */
const documents = {
  ...textIndex,
  priced: int32,
  documentOf: uint32,
  /** Ranks are by name and code. */
  nameRank: uint32,
  byName: uint32,
  /** A facility's or procedure's row in a search answer: JSON that is cut off before the value of `score`. */
  rows: texts,
};

const layout = {
  description: bytes,
  tail: bytes,
  ccn: texts,
  facilityName: texts,
  city: texts,
  state: texts,
  street: texts,
  zip: texts,
  ruralUrbanCode: texts,
  ruralUrbanDescription: texts,
  code: texts,
  procedureName: texts,
  facility: int32,
  procedure: int32,
  charge: int32,
  allowed: int32,
  services: int32,
  beneficiaries: int32,
  payment: int32,
  outlierServices: int32,
  outlierAmount: int32,
  stateOf: uint8,
  /** The position of the facility's ZIP code among the places, or −1. */
  placeOf: int32,
  /** Equal names have the same rank. */
  nameOrder: uint32,
  pricedProcedures: uint32,
  placeZip: int32,
  /** Millionths of a degree. */
  placeLatitude: int32,
  placeLongitude: int32,
  procedureRows: uint32,
  procedureStart: uint32,
  /** Lists read all charges and allowed amounts of a procedure, so copies of them lie side by side. */
  procedureCharge: int32,
  procedureAllowed: int32,
  groupStart: uint32,
  groupRows: uint32,
  groupSuppressed: uint32,
  csvBytes: float64,
  summaries: float64,
  details: float64,
  headStart: uint32,
  headEnd: uint32,
  order: uint32,
  rowEnd: uint32,
  answers: bytes,
  hcpcs: texts,
  hcpcsProcedure: uint32,
  /** JSON; `null` if the snapshot has no codes. */
  includes: texts,
  documents: { facility: documents, procedure: documents },
};

type SectionsOf<Part> = {
  readonly [Name in keyof Part]: Part[Name] extends ElementType<infer Values>
    ? Values
    : SectionsOf<Part[Name]>;
};
type Sections = SectionsOf<typeof layout>;

/** A second copy would take too much memory, so these bytes are written directly into the image. */
interface Written {
  length: number;
  writeTo(out: Uint8Array): void;
}

export type Contents = Omit<Sections, "answers"> & { readonly answers: Written };

const elementTypes = leavesOf<ElementType>(layout);
const headerWords = 2 + 2 * elementTypes.length;

/**
 * The statistics of a group, in their order in `summaries`. Amounts are in cents, the spread is in hundredths.
 * `services` is NaN if no row has services. The weighted charges are NaN if the services are unknown or add up to 0.
 * `weighted_facilities` counts the rows that have services.
 */
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
  "services",
  "weighted_median_charge",
  "weighted_mean_charge",
  "weighted_facilities",
] as const;

/** Further statistics in their order in `details`: allowed amounts in cents, markups in hundredths. */
export const detailFields = [
  "min_allowed",
  "p10_allowed",
  "p25_allowed",
  "p75_allowed",
  "p90_allowed",
  "max_allowed",
  "p25_markup",
  "median_markup",
  "p75_markup",
] as const;

export interface Description {
  provenance: Provenance;
  counts: Counts;
  /** null if the snapshot has no codes */
  codes: number | null;
  /** SHA-256 of rows, provenance and codes. */
  sha256: string;
  /** SHA-256 of the rows alone. */
  contentSha256: string;
  /** null without a table of places */
  places: string | null;
}

/** Typed arrays over shared memory, and look-up tables. The arrays must not be written to. */
export interface Image extends Omit<Sections, "description"> {
  readonly buffer: SharedArrayBuffer;
  readonly description: Readonly<Description>;
  readonly codes: readonly string[];
  readonly procedureOf: ReadonlyMap<string, number>;
  /** APC code as a number → procedure; −1 for none. */
  readonly procedureOfNumber: Int16Array;
  readonly procedures: number;
}

export const stateIndex: ReadonlyMap<string, number> = new Map(stateCodes.map((code, i) => [code, i]));

/** Amounts in cents, spread in hundredths; all 0 for a group without priced rows. */
export type Summary = Record<(typeof summaryFields)[number], number>;

export function summaryOf({ summaries }: Pick<Image, "summaries">, group: number): Summary {
  return fieldsAt(summaries, summaryFields, group);
}

const medianAt = summaryFields.indexOf("median_charge");

/** Reading the whole summary takes longer than finding a charge's rank. */
export function medianOf({ summaries }: Image, group: number): number {
  return summaries[group * summaryFields.length + medianAt];
}

export function detailsOf({ details }: Image, group: number): Record<(typeof detailFields)[number], number> {
  return fieldsAt(details, detailFields, group);
}

function fieldsAt<Field extends string>(values: Float64Array, fields: readonly Field[], group: number) {
  const found: Partial<Record<Field, number>> = {};
  for (const [i, field] of fields.entries()) found[field] = values[group * fields.length + i];
  return found as Record<Field, number>;
}

/** Unknown values are NaN, which JSON writes as null. */
export function dollarsOf(summary: Summary): Summary {
  return Object.fromEntries(
    summaryFields.map((field) => [field, inDollars(field, summary[field])]),
  ) as Summary;
}

const counts: ReadonlySet<keyof Summary> = new Set(["facilities", "services", "weighted_facilities"]);

export function inDollars(field: keyof Summary, value: number): number {
  return counts.has(field) ? value : value / 100;
}

/** @param state null for the nation */
export function groupOf(image: Image, procedure: number, state: string | null): number {
  return state === null ? procedure : stateGroup(image, procedure, stateIndex.get(state) ?? 0);
}

/** @param state from `stateIndex` */
export function stateGroup(image: Image, procedure: number, state: number): number {
  return image.procedures + procedure * stateCodes.length + state;
}

export function groupSize({ groupStart }: Image, group: number): number {
  return groupStart[group + 1] - groupStart[group];
}

/** −1 if the code or the state is unknown, or the group has no priced row. @param state null for the nation */
export function findGroup(image: Image, procedureCode: string, state: string | null): number {
  const procedure = image.procedureOf.get(procedureCode);
  if (procedure === undefined || (state !== null && !stateIndex.has(state))) return -1;
  const group = groupOf(image, procedure, state);
  return image.groupStart[group] === image.groupStart[group + 1] ? -1 : group;
}

/** Attaches to an image without copying or parsing its rows. @throws DataError when the buffer has another format */
export function attachImage(buffer: SharedArrayBuffer): Image {
  const header = new Uint32Array(buffer, 0, Math.min(headerWords, Math.floor(buffer.byteLength / 4)));
  if (header.length < headerWords || header[0] !== magic || header[1] !== imageFormatVersion)
    throw new DataError(
      "image",
      header.length < headerWords ? `${buffer.byteLength} bytes` : `magic ${header[0]}, format ${header[1]}`,
      `magic ${magic}, format ${imageFormatVersion}`,
    );
  let section = 0;
  const sections = viewsOf(layout, (type) => {
    const at = 2 + 2 * section++;
    return type.view(buffer, header[at], header[at + 1]);
  });
  const description: Description = JSON.parse(sections.description.toString());
  const procedureOf = new Map<string, number>();
  const procedureOfNumber = new Int16Array(maxProcedures).fill(-1);
  for (let i = 0; i + 1 < sections.code.offsets.length; i++) {
    const code = textAt(sections.code, i);
    procedureOf.set(code, i);
    procedureOfNumber[Number(code)] = i;
  }
  return Object.freeze({
    ...sections,
    buffer,
    description: Object.freeze(description),
    codes: [...procedureOf.keys()],
    procedureOf,
    procedureOfNumber,
    procedures: procedureOf.size,
  });
}

export function bytesAt({ offsets, bytes }: TextColumn, i: number): Uint8Array {
  return bytes.subarray(offsets[i], offsets[i + 1]);
}

export function textAt({ offsets, bytes }: TextColumn, i: number): string {
  return bytes.toString("utf8", offsets[i], offsets[i + 1]);
}

/** The bytes are copied first, because text decoders may reject shared memory. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}

function isElementType(part: ElementType | Tree<ElementType>): part is ElementType {
  return "view" in part;
}

function leavesOf<Leaf>(tree: Tree<Leaf>, shape: Tree<ElementType> = layout): Leaf[] {
  return Object.entries(shape).flatMap(([name, part]) =>
    isElementType(part) ? [tree[name] as Leaf] : leavesOf(tree[name] as Tree<Leaf>, part),
  );
}

/** Calls `view` for the sections in their order in the image. */
function viewsOf<Shape extends Tree<ElementType>>(
  shape: Shape,
  view: (type: ElementType) => Elements,
): SectionsOf<Shape> {
  const views = Object.entries(shape).map(([name, part]) => [
    name,
    isElementType(part) ? view(part) : viewsOf(part, view),
  ]);
  return Object.fromEntries(views);
}

/** @throws SizeError when the image would be larger than `maxBytes`, DataError when it would exceed `maxImageBytes` */
export function layOut(contents: Contents, subject: string, maxBytes: number): SharedArrayBuffer {
  let end = headerWords * 4;
  const sections = leavesOf<Elements | Written>(contents).map((content, i) => {
    const offset = Math.ceil(end / 64) * 64;
    end = offset + content.length * elementTypes[i].size;
    return { content, offset, type: elementTypes[i] };
  });
  if (end > maxImageBytes)
    throw new DataError(
      `image of ${subject}`,
      `${end} bytes`,
      `at most ${maxImageBytes}, as positions have 32 bits`,
    );
  if (end > maxBytes) throw new SizeError(`image of ${subject}`, `${end} bytes`, `at most ${maxBytes}`);
  const buffer = new SharedArrayBuffer(end);
  const extents = sections.flatMap(({ content, offset }) => [offset, content.length]);
  new Uint32Array(buffer, 0, headerWords).set([magic, imageFormatVersion, ...extents]);
  for (const { content, offset, type } of sections) {
    if ("writeTo" in content) content.writeTo(Buffer.from(buffer, offset, content.length));
    else type.view(buffer, offset, content.length).set(content);
  }
  return buffer;
}
