import type { TextColumn } from "../encode.ts";
import { DataError } from "../errors.ts";
import type { Counts, Provenance } from "../snapshot/schema.ts";

/*
 * The image is the in-memory form of a data version: one shared buffer that any thread can attach to. Its sections are
 *
 * - the description of the data version, and the end of every price list as JSON, up to the path of the next page;
 * - the columns of the snapshot's table, rows ascending by CCN and APC code;
 * - facts about facilities, places and the rows of procedures;
 * - the groups: first one national group per procedure, then for each procedure one group per state;
 * - for each group its counts, its statistics, and the positions of its priced rows in each order of lists;
 * - for each group its price list as JSON: the head up to the first row, then all rows;
 * - the HCPCS codes, and for each procedure the list of its codes as JSON;
 * - the words of facilities and procedures, for searches.
 */

const magic = 0x49514348; // "HCQI"
/**
 * Number of the image's format. Increase it when the image's layout or the bytes of any answer or cursor change. ETags
 * contain the number, so a client that revalidates an old answer gets the new one.
 */
export const imageFormatVersion = 30;
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
/**
 * Bytes are viewed as a Buffer: on shared memory, its `copy` is faster than a Uint8Array's `set`, and its `toString`
 * decodes text.
 */
const bytes: ElementType<Buffer> = { size: 1, view: (...at) => Buffer.from(...at) };
const uint8: ElementType<Uint8Array> = { size: 1, view: (...at) => new Uint8Array(...at) };
const int32: ElementType<Int32Array> = { size: 4, view: (...at) => new Int32Array(...at) };
const uint32: ElementType<Uint32Array> = { size: 4, view: (...at) => new Uint32Array(...at) };
const float64: ElementType<Float64Array> = { size: 8, view: (...at) => new Float64Array(...at) };

/** Absent texts are empty. */
const texts = { offsets: int32, bytes };
const repeatedTexts = { ...texts, first: int32 };

/** The words of facilities or procedures. Each facility or procedure is a document. */
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
  /** JSON at the end of a price list, up to the path of the next page. */
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
  facility: int32,
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
  /** The rank of each facility's name, without case and accents. Equal names have the same rank. */
  nameOrder: uint32,
  pricedProcedures: uint32,
  /** ZIP codes as ascending numbers. */
  placeZip: int32,
  /** The coordinates of each ZIP code in millionths of a degree. */
  placeLatitude: int32,
  placeLongitude: int32,
  /**
   * The keys of the ZIP codes' cities, in byte order. A key is the city's name as one word, a space, and the state's
   * code.
   */
  placeCity: texts,
  /** The names of the cities as they are shown, such as `Saint Louis, MO`. */
  placeCityName: texts,
  placeCityZips: int32,
  /** The mean coordinates of each city's ZIP codes in millionths of a degree. */
  placeCityLatitude: int32,
  placeCityLongitude: int32,
  /** The rows of each procedure in turn. */
  procedureRows: uint32,
  /** The start of each procedure's rows in `procedureRows`, followed by the end of the last procedure's rows. */
  procedureStart: uint32,
  /** The charges of `procedureRows`, copied so that the charges of a procedure lie side by side. */
  procedureCharge: int32,
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
  /** The start and the end of each group's head in `answers`. */
  headStart: uint32,
  headEnd: uint32,
  /** The priced rows of each group in turn, ordered by charge, then by CCN. */
  order: uint32,
  /** The priced rows of each group in turn, ordered by the named value, then by CCN. Absent values come last. */
  orders: { allowed: uint32, markup: uint32, services: uint32, name: uint32 },
  /** For each row in `order`, its end in `answers`. */
  rowEnd: uint32,
  answers: bytes,
  hcpcs: texts,
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

/** Bytes that are written directly into the image, because a second copy would take too much memory. */
interface Written {
  length: number;
  writeTo(out: Uint8Array): void;
}

export type Contents = Omit<Sections, "answers"> & { readonly answers: Written };

const elementTypes = leavesOf<ElementType>(layout);
const headerWords = 2 + 2 * elementTypes.length;

export interface Description {
  provenance: Provenance;
  counts: Counts;
  isSynthetic: boolean;
  /** Number of HCPCS codes; null if the snapshot has no codes. */
  codes: number | null;
  sha256: string;
  contentSha256: string;
  places: string | null;
}

/** An attached image: typed arrays over shared memory, and look-up tables. After the build, no array may be written to. */
export interface Image extends Omit<Sections, "description"> {
  readonly buffer: SharedArrayBuffer;
  readonly description: Readonly<Description>;
  /** The APC code of each procedure. */
  readonly codes: readonly string[];
  readonly procedureOf: ReadonlyMap<string, number>;
  /** APC code as a number → position of the procedure; −1 for none. */
  readonly procedureOfNumber: Int16Array;
  readonly procedures: number;
}

/** Attaches to an image without copying or parsing its rows. @throws DataError when the buffer has another format */
export function attachImage(buffer: SharedArrayBuffer): Image {
  const header = new Uint32Array(buffer, 0, Math.min(headerWords, Math.floor(buffer.byteLength / 4)));
  if (header[0] !== magic) throw new DataError("image", "other data", "a buffer that layOut made");
  if (header[1] !== imageFormatVersion)
    throw new DataError("image", `format ${header[1]}`, `format ${imageFormatVersion}`);
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

/** Decodes UTF-8. The bytes may be in shared memory, which a TextDecoder may reject. */
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
