import type { TextColumn } from "../encode.ts";
import { DataError } from "../errors.ts";
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
 * - the words of facilities and procedures, for searches.
 */

const magic = 0x49514348; // "HCQI"
/**
 * Number of the image's format. Increase it when the image's layout changes, or the bytes of any answer or cursor.
 * ETags contain the number, so clients don't keep an old answer.
 */
export const imageFormatVersion = 20;
/** Maximum bytes of an image, in which positions have 32 bits. */
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
/** Texts of facilities or procedures; see `RepeatedTexts`. */
const repeatedTexts = { ...texts, first: int32 };

/** The words of facilities or procedures, in their order. */
const documents = {
  /** The distinct words in byte order. */
  words: texts,
  /** The start of each document's tokens, followed by the end of the last document's tokens. */
  tokenStart: uint32,
  /** Words with their fields: word << fieldBits | field. */
  tokens: uint32,
  /** The documents ordered by name, then by code. */
  byName: uint32,
};

const layout = {
  description: bytes,
  /** JSON at the end of an answer, up to the path of the next page. */
  tail: bytes,
  ccn: repeatedTexts,
  facilityName: repeatedTexts,
  city: repeatedTexts,
  state: repeatedTexts,
  street: repeatedTexts,
  zip: repeatedTexts,
  ruralUrbanCode: repeatedTexts,
  ruralUrbanDescription: repeatedTexts,
  code: repeatedTexts,
  procedureName: repeatedTexts,
  /** The position of each row's facility. */
  facility: int32,
  /** The position of each row's procedure. */
  procedure: int32,
  charge: int32,
  allowed: int32,
  services: int32,
  beneficiaries: int32,
  payment: int32,
  outlierServices: int32,
  outlierAmount: int32,
  /** The state of each facility, by `stateIndex`. */
  stateOf: uint8,
  /** The position of each facility's ZIP code among the places, or −1. */
  placeOf: int32,
  /** The rank of each facility's name. Equal names have the same rank. */
  nameOrder: uint32,
  /** The number of priced procedures of each facility. */
  pricedProcedures: uint32,
  /** ZIP codes as ascending numbers. */
  placeZip: int32,
  /** The latitude of each ZIP code in millionths of a degree. */
  placeLatitude: int32,
  /** The longitude of each ZIP code in millionths of a degree. */
  placeLongitude: int32,
  /** The rows of each procedure in turn. */
  procedureRows: uint32,
  /** The start of each procedure's rows in `procedureRows`, followed by the end of the last procedure's rows. */
  procedureStart: uint32,
  /**
   * The charges of `procedureRows`. Lists read all charges and allowed amounts of a procedure, so copies of them lie
   * side by side.
   */
  procedureCharge: int32,
  /** The allowed amounts of `procedureRows`. */
  procedureAllowed: int32,
  /** The start of each group's rows in `order`, followed by the end of the last group's rows. */
  groupStart: uint32,
  /** The number of all rows of each group. */
  groupRows: uint32,
  groupSuppressed: uint32,
  /** The length of each group's lines as CSV, without the header. */
  csvBytes: float64,
  summaries: float64,
  details: float64,
  /** The start of each group's head in `answers`. */
  headStart: uint32,
  /** The end of each group's head in `answers`. */
  headEnd: uint32,
  /** The priced rows of each group in turn, ordered by charge, then by CCN. */
  order: uint32,
  /** For each row in `order`, its end in `answers`. */
  rowEnd: uint32,
  answers: bytes,
  hcpcs: texts,
  /** The procedure of each HCPCS code. */
  hcpcsProcedure: uint32,
  /** The HCPCS codes of each procedure as JSON; `null` if the snapshot has no codes. */
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
  /** Whether the rows are invented. */
  isSynthetic: boolean;
  /** Number of HCPCS codes; null if the snapshot has no codes. */
  codes: number | null;
  /** SHA-256 of rows, provenance and codes, in hexadecimal. */
  sha256: string;
  /** SHA-256 of the rows alone, in hexadecimal. */
  contentSha256: string;
  /** Name of the table of places; null without a table. */
  places: string | null;
}

/** An attached image: typed arrays over shared memory, and look-up tables. The arrays must not be written to. */
export interface Image extends Omit<Sections, "description"> {
  readonly buffer: SharedArrayBuffer;
  readonly description: Readonly<Description>;
  /** The APC code of each procedure. */
  readonly codes: readonly string[];
  /** APC code → position of the procedure. */
  readonly procedureOf: ReadonlyMap<string, number>;
  /** APC code as a number → position of the procedure; −1 for none. */
  readonly procedureOfNumber: Int16Array;
  /** Number of procedures. */
  readonly procedures: number;
}

/** State code → position in `stateCodes`. */
export const stateIndex: ReadonlyMap<string, number> = new Map(stateCodes.map((code, i) => [code, i]));

/** A group's statistics: amounts in cents, spread in hundredths. All are 0 for a group without priced rows. */
export type Summary = Record<(typeof summaryFields)[number], number>;

export function summaryOf({ summaries }: Pick<Image, "summaries">, group: number): Summary {
  return fieldsAt(summaries, summaryFields, group);
}

const medianAt = summaryFields.indexOf("median_charge");

/**
 * Returns a group's median charge in cents. Reading the whole summary would take longer than finding a charge's rank.
 */
export function medianOf({ summaries }: Image, group: number): number {
  return summaries[group * summaryFields.length + medianAt];
}

/** Returns a group's further statistics: allowed amounts in cents, markups in hundredths. */
export function detailsOf({ details }: Image, group: number): Record<(typeof detailFields)[number], number> {
  return fieldsAt(details, detailFields, group);
}

function fieldsAt<Field extends string>(values: Float64Array, fields: readonly Field[], group: number) {
  const found: Partial<Record<Field, number>> = {};
  for (const [i, field] of fields.entries()) found[field] = values[group * fields.length + i];
  return found as Record<Field, number>;
}

/** Converts a summary to dollars and ratios. Unknown values are NaN, which JSON writes as null. */
export function dollarsOf(summary: Summary): Summary {
  return Object.fromEntries(
    summaryFields.map((field) => [field, inDollars(field, summary[field])]),
  ) as Summary;
}

const counts: ReadonlySet<keyof Summary> = new Set(["facilities", "services", "weighted_facilities"]);

/** Converts a statistic from cents to dollars, or from hundredths to a ratio. Counts stay the same. */
export function inDollars(field: keyof Summary, value: number): number {
  return counts.has(field) ? value : value / 100;
}

/** Returns the group of a procedure in a state. @param state a known code; null for the nation */
export function groupOf(image: Image, procedure: number, state: string | null): number {
  return state === null ? procedure : stateGroup(image, procedure, stateIndex.get(state) ?? 0);
}

/** Returns the group of a procedure in a state. @param state from `stateIndex` */
export function stateGroup(image: Image, procedure: number, state: number): number {
  return image.procedures + procedure * stateCodes.length + state;
}

/** Returns the number of priced rows in a group. */
export function groupSize({ groupStart }: Image, group: number): number {
  return groupStart[group + 1] - groupStart[group];
}

/**
 * Finds the group of an APC code in a state. Returns −1 if the code or the state is unknown, or the group has no priced
 * row.
 *
 * @param state null for the nation
 */
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

/** Returns the bytes of the text at position `i`, without copying them. */
export function bytesAt({ offsets, bytes }: TextColumn, i: number): Uint8Array {
  return bytes.subarray(offsets[i], offsets[i + 1]);
}

export function textAt({ offsets, bytes }: TextColumn, i: number): string {
  return bytes.toString("utf8", offsets[i], offsets[i + 1]);
}

/** Decodes UTF-8. The bytes are copied first, because text decoders may reject shared memory. */
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

/**
 * Allocates an image and writes its header and sections.
 *
 * @throws DataError when the image would be larger than `maxBytes` or `maxImageBytes`
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
  if (end > maxBytes) throw new DataError(`image of ${subject}`, `${end} bytes`, `at most ${maxBytes}`);
  const buffer = new SharedArrayBuffer(end);
  const extents = sections.flatMap(({ content, offset }) => [offset, content.length]);
  new Uint32Array(buffer, 0, headerWords).set([magic, imageFormatVersion, ...extents]);
  for (const { content, offset, type } of sections) {
    if ("writeTo" in content) content.writeTo(Buffer.from(buffer, offset, content.length));
    else type.view(buffer, offset, content.length).set(content);
  }
  return buffer;
}
