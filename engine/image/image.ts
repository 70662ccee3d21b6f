import type { TextColumn } from "../encode.ts";
import { DataError, SizeError } from "../errors.ts";
import { type Counts, type Provenance, stateCodes } from "../snapshot/schema.ts";

/*
 * The image is the in-memory form of a data version: one shared buffer that any thread can attach to. It holds
 *
 * - the description of the data version, and the end of every price list as JSON, up to the path of the next page;
 * - the columns of the snapshot's table, rows ascending by CCN and APC code;
 * - for each facility its state, its place, the rank of its name, and its number of priced procedures;
 * - the places: ZIP codes, ascending, with their coordinates;
 * - for each procedure its rows, with copies of their charges and allowed amounts;
 * - the groups: first one national group per procedure, then for each procedure one group per state;
 * - for each group its number of rows, its number of suppressed rows, and the length of its rows as CSV;
 * - for each group its summary and further statistics, and the positions of its priced rows ordered by charge, then
 * CCN;
 * - for each group its price list as JSON: the head up to the first row, then all rows;
 * - the HCPCS codes, each with its procedure, and for each procedure the list of its codes as JSON;
 * - the search indexes.
 */

const magic = 0x49514348; // "HCQI"
/**
 * The number of the image's format. Increase it when the image's layout changes, or the bytes of any answer or cursor.
 * ETags contain the number, so clients don't keep an old answer.
 */
export const imageFormatVersion = 15;
export const maxImageBytes = 2 ** 32 - 1;
/** Maximum number of procedures, because APC codes have four digits. */
const maxProcedures = 10_000;

type Elements = Uint8Array | Int32Array | Uint32Array | Float64Array;
interface ElementType<Values = Elements> {
  size: number;
  view(buffer: SharedArrayBuffer, offset: number, length: number): Values;
}
interface Tree<Leaf> {
  readonly [name: string]: Leaf | Tree<Leaf>;
}
/** Bytes as a Buffer. On shared memory, a Buffer's `copy` is faster than `set`, and its `toString` decodes text. */
const bytes: ElementType<Buffer> = { size: 1, view: (...at) => Buffer.from(...at) };
const uint8: ElementType<Uint8Array> = { size: 1, view: (...at) => new Uint8Array(...at) };
const int32: ElementType<Int32Array> = { size: 4, view: (...at) => new Int32Array(...at) };
const uint32: ElementType<Uint32Array> = { size: 4, view: (...at) => new Uint32Array(...at) };
const float64: ElementType<Float64Array> = { size: 8, view: (...at) => new Float64Array(...at) };

/** A `TextColumn`. Absent texts are empty. */
const texts = { offsets: int32, bytes };

/** The distinct words of documents in byte order, the words of each document, and the documents of each word. */
const textIndex = {
  words: texts,
  /** The words ordered by length, then by bytes. */
  byLength: uint32,
  /** The start of each length in `byLength`. */
  lengthStart: uint32,
  /** A bit mask of the letters in each word, in the order of `byLength`; see `lettersOf`. */
  letters: int32,
  /** The start of each document's tokens, followed by the end of the last document's tokens. */
  tokenStart: uint32,
  /** Words with their fields: word << fieldBits | field. */
  tokens: uint32,
  /** For each word, how many documents have it. */
  documentCount: uint32,
  /** For each word, the start of its documents in `postings`. */
  postingStart: uint32,
  /** The documents of each word: ascending positions, or a bit set where a bit set is shorter. */
  postings: int32,
  /** For each word, the fields in which it occurs in any document, one bit per field. */
  wordFields: uint8,
  /** The first document whose name has each size, as `nameSizeOf` computes it. */
  sizeStart: uint32,
};
export type TextIndex = SectionsOf<typeof textIndex>;

/**
 * An index of documents. They are ordered by the number of words in the name, where weak words count less (see
 * `nameSizeOf`), then by name, then by code.
 */
const documents = {
  ...textIndex,
  /** The set of documents with prices, as bits. */
  priced: int32,
  /** The document of each facility or procedure. */
  documentOf: uint32,
  /** The rank of each document by name and code. */
  nameRank: uint32,
  /** The facility or procedure at each rank by name and code. */
  byName: uint32,
  /** For each facility or procedure, its row in a search answer: JSON that is cut off before the value of `score`. */
  rows: texts,
};

/** The sections in order, with their element types. */
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
  /** The state of each facility; see `stateIndex`. */
  stateOf: uint8,
  /** The position of each facility's ZIP code among the places, or −1. */
  placeOf: int32,
  /** The rank of each facility's name. */
  nameOrder: uint32,
  /** The number of priced procedures of each facility. */
  pricedProcedures: uint32,
  /** ZIP codes as ascending numbers. */
  placeZip: int32,
  /** The latitude of each ZIP code in millionths of a degree. */
  placeLatitude: int32,
  /** The longitude of each ZIP code in millionths of a degree. */
  placeLongitude: int32,
  /** The ascending rows of each procedure. */
  procedureRows: uint32,
  /** The start of each procedure's rows in `procedureRows`. */
  procedureStart: uint32,
  /** The charges of `procedureRows`, stored side by side because lists read them all. */
  procedureCharge: int32,
  /** The allowed amounts of `procedureRows`, stored side by side because lists read them all. */
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
  /** HCPCS codes in ascending order. */
  hcpcs: texts,
  /** The procedure of each HCPCS code. */
  hcpcsProcedure: uint32,
  /** Each procedure's HCPCS codes as JSON; `null` if the snapshot has no codes. */
  includes: texts,
  documents: { facility: documents, procedure: documents },
};

type SectionsOf<Part> = {
  readonly [Name in keyof Part]: Part[Name] extends ElementType<infer Values>
    ? Values
    : SectionsOf<Part[Name]>;
};
type Sections = SectionsOf<typeof layout>;

/** Bytes that are written directly into the image, because a second copy would take too much memory. */
interface Written {
  length: number;
  writeTo(out: Uint8Array): void;
}

export type Contents = Omit<Sections, "answers"> & { readonly answers: Written };

const elementTypes = leavesOf<ElementType>(layout);
const headerWords = 2 + 2 * elementTypes.length;

/**
 * The statistics of a group, in their order in `summaries`. Amounts are in cents, the spread is in hundredths.
 * `services` is NaN if no row of the group has services. The weighted charges are NaN if the services are unknown or
 * add up to 0. `weighted_facilities` counts the rows that have services.
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

/** Further statistics of a group, in their order in `details`: allowed amounts in cents, markups in hundredths. */
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
  /** Number of HCPCS codes of all procedures; null if the snapshot has no codes. */
  codes: number | null;
  /** SHA-256 of rows, provenance and codes. */
  sha256: string;
  /** SHA-256 of the rows alone. */
  contentSha256: string;
  /** The name of the table of places; null without a table. */
  places: string | null;
}

/** An attached image: typed arrays over shared memory, and look-up tables. The arrays must not be written to. */
export interface Image extends Omit<Sections, "description"> {
  readonly buffer: SharedArrayBuffer;
  readonly description: Readonly<Description>;
  readonly codes: readonly string[];
  readonly procedureOf: ReadonlyMap<string, number>;
  /** APC code as a number → procedure; −1 for none. */
  readonly procedureOfNumber: Int16Array;
  readonly procedures: number;
}

/** Position of each state among a procedure's state groups; see `stateGroup`. */
export const stateIndex: ReadonlyMap<string, number> = new Map(stateCodes.map((code, i) => [code, i]));

/** A group's statistics: amounts in cents, spread in hundredths; all 0 for a group without priced rows. */
export type Summary = Record<(typeof summaryFields)[number], number>;

export function summaryOf({ summaries }: Pick<Image, "summaries">, group: number): Summary {
  return fieldsAt(summaries, summaryFields, group);
}

const medianAt = summaryFields.indexOf("median_charge");

/** Reads only a group's median charge, because reading the whole summary takes longer than finding a charge's rank. */
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

/** A summary in dollars and ratios. Unknown values are NaN, which JSON writes as null. */
export function dollarsOf(summary: Summary): Summary {
  return Object.fromEntries(
    summaryFields.map((field) => [field, inDollars(field, summary[field])]),
  ) as Summary;
}

const counts: ReadonlySet<keyof Summary> = new Set(["facilities", "services", "weighted_facilities"]);

export function inDollars(field: keyof Summary, value: number): number {
  return counts.has(field) ? value : value / 100;
}

/** The group of a procedure in a known state, or in the nation if `state` is null. */
export function groupOf(image: Image, procedure: number, state: string | null): number {
  return state === null ? procedure : stateGroup(image, procedure, stateIndex.get(state) ?? 0);
}

/** The group of a procedure within a state, given by its `stateIndex`. */
export function stateGroup(image: Image, procedure: number, state: number): number {
  return image.procedures + procedure * stateCodes.length + state;
}

/** The number of priced rows of a group, which equals its number of facilities. */
export function groupSize({ groupStart }: Image, group: number): number {
  return groupStart[group + 1] - groupStart[group];
}

/**
 * The group of an APC code in a state, or in the nation if `state` is null. −1 if the code or the state is unknown, or
 * the group has no priced row.
 */
export function findGroup(image: Image, procedureCode: string, state: string | null): number {
  const procedure = image.procedureOf.get(procedureCode);
  if (procedure === undefined || (state !== null && !stateIndex.has(state))) return -1;
  const group = groupOf(image, procedure, state);
  return image.groupStart[group] === image.groupStart[group + 1] ? -1 : group;
}

/**
 * Attaches to an image without copying or parsing its rows. @throws DataError when the buffer isn't an image of this
 * format
 */
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

/** Decodes UTF-8 in shared memory. The bytes are copied first, because text decoders may reject shared memory. */
export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}

function isElementType(part: ElementType | Tree<ElementType>): part is ElementType {
  return "view" in part;
}

/** The leaves of a tree of the layout's shape, in the layout's order. */
function leavesOf<Leaf>(tree: Tree<Leaf>, shape: Tree<ElementType> = layout): Leaf[] {
  return Object.entries(shape).flatMap(([name, part]) =>
    isElementType(part) ? [tree[name] as Leaf] : leavesOf(tree[name] as Tree<Leaf>, part),
  );
}

/** Builds a tree of the layout's shape by calling `view` for each section in order. */
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

/**
 * Allocates an image and lays out its header and sections.
 *
 * @throws SizeError when the image would be larger than `maxBytes`, DataError when it would exceed `maxImageBytes`
 */
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
