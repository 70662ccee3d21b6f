import type { DataType } from "apache-arrow";
import {
  arrangeTable,
  arrowTableOf,
  attachImage,
  blank,
  buildImage,
  byField,
  decodeSnapshot,
  type Image,
  type MeasureField,
  maxCents,
  maxCount,
  type Provenance,
  type Snapshot,
  sealSnapshot,
  snapshotColumns,
  stateCodes,
  type TableParts,
} from "../../engine/index.ts";
import { arrow } from "../../engine/snapshot/arrow.ts";
import { type Random, seededRandom } from "./random.ts";

export const testProvenance: Provenance = Object.freeze({
  dataYear: 2024,
  revision: 3,
  title: 'Outpatient charges "for tests" — naïve 🏥',
  publisher: "Nobody & Sons",
  sourceUrl: "https://example.org/data.csv?a=1&b=2",
  sourceSha256: "5e".repeat(32),
  released: "2026-06",
  caveat: 'Invented; see "README" \\ not for decisions, café ≤ 3.',
});

/** Texts that are hard to encode. A snapshot has no control characters and no invisible ones. */
const oddTexts: readonly string[] = Object.freeze([
  'The "Quoted" Hospital',
  "Back\\slash Clinic",
  '\\"',
  "Ends with a backslash\\",
  "Hôpital Saint-Étienne",
  "e\u0301 combining, ẞ, ﬁ, ǅ",
  "Emoji 🏥 and 👩🏽 Center",
  "Thin\u2009space, em\u2003space",
  "Non\u00a0breaking, \u05d1\u05d9\u05ea right-to-left",
  "Astral \u{10348}, last \ufffc",
  "日本語病院",
  "double  space, trailing hyphen -",
  "</script><!-- & ' ` $ %s {0}",
  "Comma, Semicolon; Colon: Slash/",
  "Same Name Hospital",
  "Same Name Hospital",
  "x",
]);

interface RandomOptions {
  facilities?: number;
  procedures?: number;
  states?: number;
  density?: number;
}

/** Columns that may have no value in any row. */
const addresses = ["street", "zip", "ruralUrbanCode", "ruralUrbanDescription"] as const;
const measures = ["services", "beneficiaries", "payment", "outlierServices", "outlierAmount"] as const;

/**
 * The snapshot has hard cases: ties, procedures with a single row, suppressed procedures, incomplete rows, odd texts,
 * extreme amounts and numbers of services.
 */
export function randomSnapshot(seed: number, options: RandomOptions = {}): Snapshot {
  const random = seededRandom(seed);
  const facilityCount = options.facilities ?? 1 + random.int(40);
  const procedureCount = options.procedures ?? 1 + random.int(8);
  const density = options.density ?? 0.3 + random.next() * 0.7;
  const states = random.shuffled(stateCodes).slice(0, options.states ?? 1 + random.int(5));

  const ccns = distinct(facilityCount, () =>
    Array.from({ length: 6 }, () => random.pick([..."00123456789AZ"])).join(""),
  );
  const codes = distinct(procedureCount, () => String(random.int(10_000)).padStart(4, "0"));
  const text = (what: string, i: number) =>
    random.int(3) === 0 ? random.pick(oddTexts) : `${what} ${i}${random.pick(["", "é", " \\", ' "'])}`;

  const facility: number[] = [];
  const procedure: number[] = [];
  const charge: number[] = [];
  const allowed: number[] = [];
  for (let p = 0; p < procedureCount; p++) {
    const single = random.int(6) === 0 ? random.int(facilityCount) : -1;
    const suppressed = random.int(6) === 0;
    const amount = randomAmounts(random);
    for (let f = 0; f < facilityCount; f++) {
      if (single >= 0 ? f !== single : random.next() > density) continue;
      facility.push(f);
      procedure.push(p);
      const kind = suppressed ? 0 : random.int(20);
      charge.push(kind < 3 ? [blank, blank, 0][kind] : amount());
      allowed.push(kind === 0 || kind === 3 ? blank : kind === 4 ? 0 : amount());
    }
  }
  if (facility.length === 0) {
    for (const column of [facility, procedure]) column.push(0);
    for (const column of [charge, allowed]) column.push(1 + random.int(maxCents));
  }
  const named = {
    ccn: ccns,
    name: ccns.map((_, i) => text("Hospital", i)),
    city: ccns.map((_, i) => text("City", i % 3)),
    state: ccns.map(() => random.pick(states)),
  };
  const procedures = { code: codes, name: codes.map((_, i) => text("Level", i)) };
  // Optional columns have their own generator, so that they don't change the other numbers of a seed.
  const more = seededRandom(seed + 2 ** 31);
  return arranged(testProvenance, {
    facilities: {
      ...named,
      ...randomAddresses(more, ccns),
    },
    procedures,
    rows: {
      facility: Int32Array.from(facility),
      procedure: Int32Array.from(procedure),
      charge: Int32Array.from(charge),
      allowed: Int32Array.from(allowed),
      ...byField(measures, () => randomMeasure(more, procedure)),
    },
  });
}

function randomAddresses(random: Random, ccns: string[]) {
  const texts = (draw: () => string) => ccns.map(() => (random.int(4) === 0 ? "" : draw()));
  return {
    street: texts(() => (random.int(3) === 0 ? random.pick(oddTexts) : `${random.int(999)} Main St`)),
    zip: texts(() => String(random.int(100_000)).padStart(5, "0")),
    ruralUrbanCode: texts(() => random.pick(["1", "1.1", "4", "10", "10.3", "99"])),
    ruralUrbanDescription: texts(() => random.pick(["Rural areas", "Metropolitan area core: …"])),
  };
}

/**
 * A procedure's rows have few different numbers, extreme numbers, ordinary numbers or only zeros. None, some or all of
 * a procedure's numbers are absent.
 */
function randomMeasure(random: Random, procedure: number[]): Int32Array {
  const kinds = Array.from({ length: 1 + Math.max(...procedure) }, () => {
    const absent = random.pick([0, 0, 0.3, 0.9, 1]);
    const few = Array.from({ length: 1 + random.int(3) }, () => random.int(30));
    const draw = random.pick([
      () => random.pick(few),
      () => random.pick([0, 1, 2, maxCount - 1, maxCount]),
      () => 11 + random.int(2000),
      () => 0,
    ]);
    return () => (random.next() < absent ? blank : draw());
  });
  return Int32Array.from(procedure, (p) => kinds[p]());
}

export function absent({ length }: ArrayLike<unknown>): Int32Array {
  return new Int32Array(length).fill(blank);
}

/** The amounts of a procedure are few and tie, or are extreme, or are ordinary. */
function randomAmounts(random: Random): () => number {
  const few = Array.from({ length: 1 + random.int(4) }, () => 1 + random.int(100_000));
  const extremes = [1, 2, 99, 100, 101, maxCents - 1, maxCents];
  return random.pick([
    () => random.pick(few),
    () => random.pick(extremes),
    () => 1 + random.int(1000),
    () => 17_300 + random.int(73_000_000),
    () => 1 + random.int(maxCents),
  ]);
}

function distinct(count: number, draw: () => string): string[] {
  const values = new Set<string>();
  while (values.size < count) values.add(draw());
  return [...values];
}

/** Reads a snapshot's file. @param name the file's name */
export async function readBack(file: Uint8Array, name = "a file"): Promise<Snapshot> {
  return (await decodeSnapshot(file, name)).snapshot;
}

export const imageOf = (snapshot: Snapshot): Image => attachImage(buildImage(snapshot));

export function arranged(provenance: Provenance, parts: TableParts): Snapshot {
  return sealSnapshot(arrangeTable(parts).table, provenance);
}

export function contentOf({ table, ...rest }: Snapshot) {
  return { ...rest, ...table };
}

export function changed(
  snapshot: Snapshot,
  change: (content: ReturnType<typeof contentOf>) => void,
): Snapshot {
  const content = structuredClone(contentOf(snapshot));
  change(content);
  const { facilities, procedures, rows, provenance, codes } = content;
  return sealSnapshot({ facilities, procedures, rows }, provenance, codes);
}

export function asVersion(
  { table, provenance, codes }: Snapshot,
  dataYear: number,
  revision: number,
): Snapshot {
  // No release comes before its year.
  const released =
    provenance.released === null || provenance.released >= `${dataYear}` ? provenance.released : null;
  return sealSnapshot(table, { ...provenance, released, dataYear, revision }, codes);
}

/** A server doesn't serve synthetic and real snapshots together. The last facility gets a CCN without 99. */
export const asReal = (snapshot: Snapshot): Snapshot =>
  changed(snapshot, ({ provenance, facilities }) => {
    provenance.publisher = "CMS";
    facilities.ccn[facilities.ccn.length - 1] = "ZZZZZZ";
  });

/** Charge and allowed amount are in dollars; null if blank. */
export type ShortRow = [
  ccn: string,
  state: string,
  code: string,
  charge: number | null,
  allowed: number | null,
  name?: string | undefined,
  measures?: Partial<Record<MeasureField, number>>,
];

/** A facility's name is in its first row. */
export function snapshotOf(rows: ShortRow[], provenance: Provenance = testProvenance): Snapshot {
  const cents = (dollars: number | null) => (dollars === null ? blank : Math.round(dollars * 100));
  const ccns = [...new Set(rows.map(([ccn]) => ccn))];
  const codes = [...new Set(rows.map(([, , code]) => code))];
  const placeOf = new Map(ccns.map((ccn, i) => [ccn, i]));
  const firstOf = new Map(rows.toReversed().map((row) => [row[0], row]));
  const first = ccns.map((ccn) => firstOf.get(ccn) ?? rows[0]);
  return arranged(provenance, {
    facilities: {
      ...byField(addresses, () => ccns.map(() => "")),
      ccn: ccns,
      name: first.map(([ccn, , , , , name]) => name ?? `Hospital ${ccn}`),
      city: first.map(([, state]) => `City in ${state}`),
      state: first.map(([, state]) => state),
    },
    procedures: { code: codes, name: codes.map((code) => `Level ${code[3]} Procedures`) },
    rows: {
      facility: Int32Array.from(rows, ([ccn]) => placeOf.get(ccn) ?? -1),
      procedure: Int32Array.from(rows, ([, , code]) => codes.indexOf(code)),
      charge: Int32Array.from(rows, ([, , , charge]) => cents(charge)),
      allowed: Int32Array.from(rows, ([, , , , allowed]) => cents(allowed)),
      ...byField(measures, (field) => Int32Array.from(rows, ([, , , , , , more]) => more?.[field] ?? blank)),
    },
  });
}

export function snapshotAs(version: string, rows: ShortRow[], others: Partial<Provenance> = {}): Snapshot {
  const [dataYear, revision] = version.split(".").map(Number);
  return snapshotOf(rows, { ...testProvenance, dataYear, revision, ...others });
}

/** Rows come and go, and charges change or stay. The first row always stays. */
export function yearsOf(snapshot: Snapshot, seed: number): Snapshot[] {
  const { facilities, procedures, rows } = snapshot.table;
  const random = seededRandom(seed);
  return [2021, 2022, 2023, 2024].map((dataYear) => {
    const [share, open] = [random.pick([0.2, 0.7, 1]), random.pick([0.5, 0.9, 1])];
    const isOpen = facilities.ccn.map((_, i) => i === rows.facility[0] || random.next() < open);
    const factors = random.pick([[1], [1, 1, 0.5, 1.001, 1.5, 0.01]]);
    const amount = (cents: number) =>
      cents <= 0 ? null : Math.max(1, Math.round(cents * random.pick(factors))) / 100;
    const short = Array.from(rows.facility.keys())
      .filter((row) => row === 0 || (isOpen[rows.facility[row]] && random.next() < share))
      .map((row): ShortRow => {
        const facility = rows.facility[row];
        const [ccn, state] = [facilities.ccn[facility], facilities.state[facility]];
        return [
          ccn,
          state,
          procedures.code[rows.procedure[row]],
          amount(rows.charge[row]),
          amount(rows.allowed[row]),
        ];
      });
    return snapshotAs(`${dataYear}.1`, short);
  });
}

export interface Column {
  name: string;
  type: DataType;
  values: (string | number | bigint | number[] | null)[];
}

export function columnsOf(snapshot: Snapshot): Column[] {
  const table = arrowTableOf(snapshot.table);
  return snapshotColumns.map(({ name, part }) => ({
    name,
    type: part === "rows" ? new arrow.Int32() : new arrow.Dictionary(new arrow.Utf8(), new arrow.Int32()),
    values: [...(table.getChild(name) ?? [])],
  }));
}

export function rowsOf({ table }: Snapshot): Record<string, string | number | null>[] {
  return arrowTableOf(table)
    .toArray()
    .map((row) => row.toJSON());
}

export const damages: Record<string, (file: Uint8Array, random: Random) => Uint8Array> = {
  flip(file, random) {
    const copy = file.slice();
    for (let left = 1 + random.int(3); left > 0; left--) copy[random.int(copy.length)] ^= 1 << random.int(8);
    return copy;
  },
  overwrite(file, random) {
    const copy = file.slice();
    const at = random.int(copy.length);
    const value = random.pick([0, 0xff, 0x80, random.int(256)]);
    return copy.fill(value, at, at + 1 + random.int(random.pick([1, 4, 64])));
  },
  footer(file, random) {
    const copy = file.slice();
    const start = footerStart(copy);
    for (let left = 1 + random.int(2); left > 0; left--)
      copy[start + random.int(copy.length - start)] = random.int(256);
    return copy;
  },
  truncate: (file, random) => file.slice(0, random.int(file.length)),
  insert(file, random) {
    const at = random.int(file.length + 1);
    const added = Array.from({ length: 1 + random.int(8) }, () => random.int(256));
    return Uint8Array.of(...file.subarray(0, at), ...added, ...file.subarray(at));
  },
  remove(file, random) {
    const at = random.int(file.length);
    return Uint8Array.of(...file.subarray(0, at), ...file.subarray(at + 1 + random.int(8)));
  },
  swap(file, random) {
    const copy = file.slice();
    const length = 1 + random.int(200);
    const [one, two] = [random.int(file.length - length), random.int(file.length - length)];
    copy.set(file.subarray(two, two + length), one);
    copy.set(file.subarray(one, one + length), two);
    return copy;
  },
};

export function footerStart(file: Uint8Array): number {
  const length = new DataView(file.buffer, file.byteOffset).getUint32(file.length - 8, true);
  return file.length - 8 - length;
}
