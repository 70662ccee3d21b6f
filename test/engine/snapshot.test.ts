import assert from "node:assert/strict";
import { test } from "node:test";
import * as parquet from "parquet-wasm";
import {
  columnBytesAllowance,
  DataError,
  decodeSnapshot,
  encodeSnapshot,
  maxColumnBytesPerRow,
  maxImageRows,
  maxSnapshotFileBytes,
  maxSnapshotRows,
  sealSnapshot,
} from "../../engine/index.ts";
import { arrow } from "../../engine/snapshot/arrow.ts";
import { parseFooter } from "../../engine/snapshot/footer.ts";
import { loadNeed, readSnapshotHead, snapshotFooterRange } from "../../engine/snapshot/head.ts";
import {
  type Column,
  changed,
  columnsOf,
  contentOf,
  damages,
  footerStart,
  metadataOf,
  randomSnapshot,
  snapshotOf,
  testProvenance,
} from "../support/fixtures.ts";
import { honestSpec } from "../support/hostile-files.ts";
import { type FileSpec, fileOf, fileOfSpec } from "../support/parquet-file.ts";
import { seededRandom } from "../support/random.ts";

const subject = "2024.3.parquet";
const damagedFiles = Number(process.env.DAMAGED_FILES || 150);

/** The tests damage this snapshot's file. It has a few hundred rows of all kinds. */
const sample = randomSnapshot(1, { facilities: 60, procedures: 6, density: 0.8, states: 4 });
const sampleFile = encodeSnapshot(sample);
const small = snapshotOf([
  ["010001", "AL", "5071", 100, 50],
  ["010001", "AL", "5072", 200.5, 60.25],
  ["050002", "CA", "5071", null, null],
  ["050002", "CA", "5072", 0, 7],
  ["3A0003", "NY", "5071", 300, null],
]);

type Builder = parquet.WriterPropertiesBuilder;

function reencoded(configure: (builder: Builder) => Builder): Uint8Array {
  const builder = configure(new parquet.WriterPropertiesBuilder());
  const properties = builder.setKeyValueMetadata(metadataOf(sampleFile)).build();
  return parquet.writeParquet(parquet.readParquet(sampleFile), properties);
}

function withColumns(change: (columns: Column[]) => Column[]): Uint8Array {
  return fileOf(change(columnsOf(small)), metadataOf(encodeSnapshot(small)));
}

function withCell(name: string, row: number, value: string | number | null): Uint8Array {
  return withColumns((columns) => {
    const column = columns.find((candidate) => candidate.name === name);
    assert.ok(column);
    column.values[row] = value;
    return columns;
  });
}

function withMetadata(changes: Record<string, string | undefined>): Uint8Array {
  const metadata = metadataOf(encodeSnapshot(small));
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined) metadata.delete(key);
    else metadata.set(key, value);
  }
  return fileOf(columnsOf(small), metadata);
}

function refusal(file: Uint8Array): string {
  try {
    decodeSnapshot(file, subject);
  } catch (error) {
    assert.ok(error instanceof DataError, `another error than DataError: ${error}`);
    assert.ok(error.message.startsWith(subject), error.message);
    return error.message.slice(subject.length).replace(/^: /, "");
  }
  return assert.fail("the file was accepted");
}

test("a random snapshot reads back as it was written", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const snapshot = randomSnapshot(seed);
    assert.deepEqual(
      contentOf(decodeSnapshot(encodeSnapshot(snapshot), subject)),
      contentOf(snapshot),
      `seed ${seed}`,
    );
  }
});

test("absent provenance reads back as absent", () => {
  const provenance = { ...testProvenance, sourceUrl: null, released: null };
  const snapshot = snapshotOf([["010001", "AL", "5071", 1, 1]], provenance);
  assert.deepEqual(decodeSnapshot(encodeSnapshot(snapshot), subject).provenance, provenance);
});

test("an empty text is read as an absent one", () => {
  assert.deepEqual(contentOf(decodeSnapshot(withCell("street", 4, ""), subject)), contentOf(small));
});

test("the checksum depends on the content and not on the Parquet encoding", () => {
  const { Compression, EnabledStatistics } = parquet;
  const settings: Record<string, (builder: Builder) => Builder> = {
    uncompressed: (builder) => builder.setCompression(Compression.UNCOMPRESSED),
    "no dictionary": (builder) => builder.setDictionaryEnabled(false),
    "row groups of 7": (builder) => builder.setMaxRowGroupSize(7),
    "row groups of 2": (builder) => builder.setMaxRowGroupSize(2),
    "row groups of 100, no dictionary": (builder) =>
      builder.setMaxRowGroupSize(100).setDictionaryEnabled(false),
    "tiny pages": (builder) => builder.setDataPageSizeLimit(16).setWriteBatchSize(3),
    "tiny dictionary, then plain": (builder) => builder.setDictionaryPageSizeLimit(16).setWriteBatchSize(3),
    statistics: (builder) => builder.setStatisticsEnabled(EnabledStatistics.Page),
  };
  for (const [name, configure] of Object.entries(settings)) {
    const file = reencoded(configure);
    assert.notDeepEqual(file, sampleFile, name);
    assert.deepEqual(contentOf(decodeSnapshot(file, subject)), contentOf(sample), name);
  }
});

test("a compression other than ZSTD or none is rejected", () => {
  const file = reencoded((builder) => builder.setCompression(parquet.Compression.SNAPPY));
  assert.equal(refusal(file), "compression: found SNAPPY, expected ZSTD or UNCOMPRESSED");
});

const later: ((content: ReturnType<typeof contentOf>) => void)[] = [
  ({ facilities }) => (facilities.street[1] = "1 Main St"),
  ({ facilities }) => (facilities.zip[1] = "36301"),
  ({ facilities }) => (facilities.ruralUrbanCode[1] = "4.1"),
  ({ facilities }) => (facilities.ruralUrbanDescription[1] = "Rural areas"),
  ({ rows }) => rows.services[1]++,
  ({ rows }) => rows.beneficiaries[1]++,
  ({ rows }) => rows.payment[1]++,
  ({ rows }) => rows.outlierServices[1]++,
  ({ rows }) => rows.outlierAmount[1]++,
];

test("every part of the content changes the checksum", () => {
  const parts: ((content: ReturnType<typeof contentOf>) => void)[] = [
    ({ provenance }) => provenance.dataYear++,
    ({ provenance }) => provenance.revision++,
    ({ provenance }) => (provenance.title += " "),
    ({ provenance }) => (provenance.publisher += " "),
    ({ provenance }) => (provenance.sourceUrl = null),
    ({ provenance }) => (provenance.released = null),
    ({ provenance }) => (provenance.caveat += " "),
    ...[0, 1].flatMap((i): ((content: ReturnType<typeof contentOf>) => void)[] => [
      ({ facilities }) => (facilities.ccn[i] = "050003"),
      ({ facilities }) => (facilities.name[i] = "Another"),
      ({ facilities }) => (facilities.city[i] = "Elsewhere"),
      ({ facilities }) => (facilities.state[i] = "NV"),
      ({ procedures }) => (procedures.code[i] = "5073"),
      ({ procedures }) => (procedures.name[i] = "Another"),
    ]),
    ({ rows }) => (rows.facility[1] = 1),
    ({ rows }) => (rows.procedure[1] = 0),
    ({ rows }) => rows.charge[1]++,
    ({ rows }) => rows.allowed[1]++,
    ...later,
  ];
  const seen = new Set([small.sha256]);
  for (const change of parts) {
    seen.add(changed(small, change).sha256);
  }
  assert.equal(seen.size, parts.length + 1);
});

test("a file that is no snapshot is refused", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  assert.equal(refusal(new Uint8Array()), "found an empty file, expected a Parquet snapshot");
  assert.equal(
    refusal(bytes("Rndrng_Prvdr_CCN,")),
    "found a file that isn't Parquet, expected a Parquet snapshot",
  );
  assert.equal(refusal(new Uint8Array(5000)), "found a file that isn't Parquet, expected a Parquet snapshot");
  for (const text of ["PAR1", "PAR1PAR1", "PAR1\0\0\0\0PAR1", "PAR1\u007f\u007f\u007f\u007fPAR1"])
    assert.match(refusal(bytes(text)), /^footer: found damage \(.+\), expected a readable snapshot$/);
  const anothers = refusal(fileOf(columnsOf(small), new Map()));
  assert.equal(anothers, 'metadata schema_version: found nothing, expected "schema_version"');
});

test("missing or malformed metadata is rejected with the name of its key", () => {
  const cases: [string, string | undefined, RegExp][] = [
    ["schema_version", "3", /^metadata schema_version: found "3", expected 2$/],
    ["data_year", "2015", /^metadata data_year: found "2015", expected >=2016$/],
    ["revision", "0", /^metadata revision: found "0", expected >=1$/],
    ["released", "2024-13", /^metadata released: found "2024-13", expected /],
    ["rows", "0", /^metadata rows: found "0", expected >=1$/],
    ["caveat", "x".repeat(4001), /^metadata caveat: found "x{63}…", expected <=4000$/],
    ["title", "a\nb", /^metadata title: found "a\\nb", expected no control character$/],
    ["sha256", undefined, /^metadata sha256: found nothing, expected "sha256"$/],
    ["priced_rows", undefined, /^metadata priced_rows: found nothing, expected "priced_rows"$/],
  ];
  for (const [key, value, expected] of cases) assert.match(refusal(withMetadata({ [key]: value })), expected);
});

test("a source URL that isn't http or https or has a password is rejected without showing the password", () => {
  const refused = [
    ["javascript:alert(document.domain)", "javascript:alert(document.domain)"],
    ["ftp://example.org/data.csv", "ftp://example.org/data.csv"],
    [" https://example.org/", " https://example.org/"],
    ["https://example.org/\u001b[2J", "https://example.org/\\u001b[2J"],
    ["https://example.org:99999/", "https://example.org:99999/"],
    ["https://example.org/é", "https://example.org/é"],
    ["https://me:secret@example.org/", "https://…@example.org/"],
    [`https://example.org/${"x".repeat(2000)}`, `https://example.org/${"x".repeat(43)}…`],
  ];
  for (const [url, shown] of refused)
    assert.equal(
      refusal(withMetadata({ source_url: url })),
      `metadata source_url: found "${shown}", expected an http or https URL, without a password`,
    );
  // These URLs are valid, so only the checksum is wrong.
  for (const url of ["http://example.org", "HTTPS://example.org/a?b=c&d=%20#e", "https://[::1]:8443/", ""])
    assert.match(refusal(withMetadata({ source_url: url })), /^checksum of the content: /);
});

test("counts in the metadata that differ from the rows are rejected", () => {
  const cases: [string, string, string][] = [
    ["rows", "4", "rows in the footer: found 5, expected 4 as in its metadata"],
    ["priced_rows", "3", "pricedRows: found 2, expected 3 as in its metadata"],
    ["suppressed_rows", "0", "suppressedRows: found 1, expected 0 as in its metadata"],
    ["incomplete_rows", "1", "incompleteRows: found 2, expected 1 as in its metadata"],
    ["facilities", "4", "facilities: found 3, expected 4 as in its metadata"],
    ["procedures", "1", "procedures: found 2, expected 1 as in its metadata"],
  ];
  for (const [key, value, expected] of cases) assert.equal(refusal(withMetadata({ [key]: value })), expected);
});

test("content that differs from its checksum is refused", () => {
  const zeros = "0".repeat(64);
  const message = (found: string, expected: string) =>
    `checksum of the content: found ${found}, expected ${expected} as in its metadata`;
  assert.equal(refusal(withMetadata({ sha256: zeros })), message(small.sha256, zeros));
  const other = sealSnapshot(small.table, { ...small.provenance, title: "Another" });
  assert.equal(refusal(withMetadata({ title: "Another" })), message(other.sha256, small.sha256));
  assert.match(refusal(withCell("submitted_charge_cents", 0, 10_001)), /^checksum of the content: found /);
  assert.equal(
    refusal(withMetadata({ content_sha256: zeros })),
    `checksum of the rows: found ${small.contentSha256}, expected ${zeros} as in its metadata`,
  );
});

test("a column that is missing, added, renamed, mis-typed or out of place is refused", () => {
  const expected = columnsOf(small).map(
    ({ name, type }) => `${name}: ${type instanceof arrow.Int32 ? "INT32" : "BYTE_ARRAY"}`,
  );
  const cases: [(columns: Column[]) => Column[], string[]][] = [
    [(columns) => columns.slice(1), expected.slice(1)],
    [(columns) => columns.slice(0, -1), expected.slice(0, -1)],
    [(columns) => [...columns, { ...columns[7], name: "more" }], [...expected, "more: INT32"]],
    [(columns) => columns.toReversed(), expected.toReversed()],
    [([first, ...rest]) => [{ ...first, name: "CCN" }, ...rest], ["CCN: BYTE_ARRAY", ...expected.slice(1)]],
    [(columns) => columns.with(2, { ...columns[7], name: "city" }), expected.with(2, "city: INT32")],
    [
      (columns) => columns.with(7, { ...columns[7], type: new arrow.Float64() }),
      expected.with(7, "medicare_allowed_cents: DOUBLE"),
    ],
  ];
  for (const [change, found] of cases)
    assert.equal(
      refusal(withColumns(change)),
      `columns: found ${found.join(", ")}, expected ${expected.join(", ")}`,
    );
});

test("an invalid value in a column is rejected", () => {
  const cases: [string, number, string | number | null, string][] = [
    ["submitted_charge_cents", 0, -1, "submitted_charge_cents: found -1, expected no negative number"],
    ["services", 0, -1, "services: found -1, expected no negative number"],
    ["zip", 4, "3630", 'ZIP code of 3A0003: found "3630", expected five digits'],
    ["rural_urban_code", 4, "11", 'RUCA code of 3A0003: found "11", expected a code such as 1 or 4.1'],
    ["rural_urban_code", 4, "1.", 'RUCA code of 3A0003: found "1.", expected a code such as 1 or 4.1'],
    ["state", 4, "ZZ", 'state of 3A0003: found "ZZ", expected a known state code'],
    ["state", 4, "constructor", 'state of 3A0003: found "constructor", expected a known state code'],
    ["ccn", 4, "3A003", 'CCN: found "3A003", expected six letters or digits'],
    ["ccn", 4, "é00003", 'CCN: found "é00003", expected six letters or digits'],
    ["procedure_code", 4, "507", 'procedure code: found "507", expected four digits'],
  ];
  for (const [name, row, value, expected] of cases)
    assert.equal(refusal(withCell(name, row, value)), expected, `${name} ${value}`);
  for (const name of ["ccn", "facility", "city", "state", "procedure_code", "procedure_name"])
    assert.equal(refusal(withCell(name, 1, null)), `column ${name}: found an absent value, expected text`);
});

test("rows that contradict each other or stand out of order are refused", () => {
  const twice = "twice or out of order, expected each CCN and procedure once, in order";
  assert.equal(
    refusal(withCell("facility", 1, "Other")),
    'facility of 010001: found "Other", expected "Hospital 010001"',
  );
  assert.equal(refusal(withCell("state", 1, "AK")), 'state of 010001: found "AK", expected "AL"');
  assert.equal(refusal(withCell("zip", 1, "36301")), 'zip of 010001: found "36301", expected ""');
  assert.equal(
    refusal(withCell("procedure_name", 2, "Other")),
    'name of procedure "5071": found "Other", expected "Level 1 Procedures"',
  );
  const swapped = (first: number, second: number) =>
    withColumns((columns) => {
      for (const { values } of columns) [values[first], values[second]] = [values[second], values[first]];
      return columns;
    });
  const repeated = withColumns((columns) =>
    columns.map((column) => ({ ...column, values: column.values.with(1, column.values[0]) })),
  );
  assert.equal(refusal(repeated), `rows: found 010001 and 5071 ${twice}`);
  assert.equal(refusal(swapped(0, 1)), `rows: found 010001 and 5071 ${twice}`);
  assert.equal(refusal(swapped(1, 2)), 'order of CCNs: found "010001", expected a CCN after 050002');
});

test("a footer with too many rows or a too large decoded size is rejected", () => {
  const rows = String(maxSnapshotRows + 1);
  assert.equal(refusal(withMetadata({ rows })), `rows: found ${rows}, expected at most ${maxSnapshotRows}`);
  const long = changed(small, ({ facilities }) => {
    facilities.name = facilities.name.map((short) => short.padEnd(2 ** 20));
  });
  const expanding = encodeSnapshot(long);
  assert.ok(expanding.length < 16_384, `${expanding.length} bytes`);
  assert.match(
    refusal(expanding),
    /^decoded size: found 31[0-9]{5} bytes, expected at most 1051136 for 5 rows$/,
  );
});

test("row counts and decoded sizes in a footer are accepted exactly up to their limits", () => {
  const refusalOf = (change: (spec: FileSpec) => void) => {
    const spec = honestSpec(3);
    change(spec);
    return refusal(fileOfSpec(spec));
  };
  const told = (key: string, value: number) => refusalOf(({ metadata }) => metadata.set(key, String(value)));
  const most = String(maxImageRows);
  assert.equal(
    told("rows", maxSnapshotRows),
    `rows in the footer: found 3, expected ${maxSnapshotRows} as in its metadata`,
  );
  assert.equal(told("priced_rows", maxImageRows), `pricedRows: found 3, expected ${most} as in its metadata`);
  assert.equal(
    told("priced_rows", maxImageRows + 1),
    `priced rows: found ${maxImageRows + 1}, expected at most ${most}, as an image has 4 GiB`,
  );
  assert.equal(
    refusalOf((spec) => {
      spec.groupRows = 2;
    }),
    "rows in its row groups: found 2, expected 3 as in its metadata",
  );

  const spec = honestSpec(3);
  const [chunk] = spec.chunks.values();
  const file = fileOfSpec(spec);
  const { groups } = parseFooter(file.subarray(footerStart(file), -8), footerStart(file));
  const decoded = groups[0].chunks.reduce((sum, { decodedLength }) => sum + decodedLength, 0);
  const ceiling = columnBytesAllowance + 3 * maxColumnBytesPerRow;
  chunk.moreDecoded = ceiling - decoded;
  assert.equal(decodeSnapshot(fileOfSpec(spec), subject).counts.rows, 3);
  chunk.moreDecoded++;
  assert.equal(
    refusal(fileOfSpec(spec)),
    `decoded size: found ${ceiling + 1} bytes, expected at most ${ceiling} for 3 rows`,
  );
});

test("the memory for a load is computed from the largest row group and column and from all texts", () => {
  const metadata = { rows: 10, procedures: 3 };
  const chunk = (length: number, decodedLength: number) => ({
    codec: "ZSTD",
    values: 0,
    start: 4,
    length,
    decodedLength,
  });
  const groups = [
    { rows: 3, chunks: [chunk(1000, 2000), chunk(9000, 10_000)] },
    { rows: 7, chunks: [chunk(500, 30_000), chunk(10, 20)] },
  ];
  const columns = ["BYTE_ARRAY", "INT32"].map((type) => ({ name: type, type, isOptional: false }));
  const file = encodeSnapshot(small);
  const honest = readSnapshotHead(file.subarray(footerStart(file), -8), footerStart(file), subject);
  assert.equal(honest.fileBytes, file.length);
  const head = {
    fileBytes: 123_456,
    footer: { ...honest.footer, columns, groups },
    metadata: { ...honest.metadata, ...metadata },
  };
  assert.deepEqual(loadNeed(head), {
    buffers: 123_456 + 10 * 108 + 7 * 64 + 2 * 30_000 + 3 * 12_288,
    heap: 6 * 30_000 + 2 * 32_000,
  });
  const coded = { ...head, metadata: { ...head.metadata, hcpcs_codes: "x".repeat(1000) } };
  assert.equal(loadNeed(coded).heap, loadNeed(head).heap + 32 * 1000);
});

test("files over 2 GiB less one byte and names over 500 characters are rejected", () => {
  const magic = Buffer.from("PAR1");
  const range = (size: number) =>
    snapshotFooterRange(size, magic, Buffer.concat([Buffer.alloc(4), magic]), subject);
  assert.deepEqual(range(maxSnapshotFileBytes), { start: maxSnapshotFileBytes - 8, length: 0 });
  assert.throws(
    () => range(maxSnapshotFileBytes + 1),
    new DataError(`${subject}: size`, `${maxSnapshotFileBytes + 1} bytes`, `at most ${maxSnapshotFileBytes}`),
  );
  for (const name of ["facility", "city", "procedure_name", "street", "rural_urban_description"]) {
    assert.equal(
      refusal(withCell(name, 4, "é".repeat(501))),
      `column ${name}: found 501 characters, expected at most 500`,
    );
    assert.doesNotMatch(refusal(withCell(name, 4, "é".repeat(500))), /characters/);
  }
});

/** @returns whether the file is refused; otherwise it has exactly the sample's content */
function refusedOrIntact(file: Uint8Array, described: string): boolean {
  try {
    assert.equal(decodeSnapshot(file, subject).sha256, sample.sha256, `${described}: other content`);
    return false;
  } catch (error) {
    if (error instanceof DataError) return true;
    if (error instanceof assert.AssertionError) throw error;
    throw new Error(`${described}: another error than DataError`, { cause: error });
  }
}

test(`each of ${damagedFiles} damaged files is refused or read with its original content`, (t) => {
  const kinds = Object.keys(damages);
  const none = parquet.Compression.UNCOMPRESSED;
  const plain = (builder: Builder) =>
    builder.setCompression(none).setDictionaryEnabled(false).setMaxRowGroupSize(100);
  const files = [sampleFile, reencoded(plain)];
  let refused = 0;
  for (let seed = 1; seed <= damagedFiles; seed++) {
    const kind = kinds[seed % kinds.length];
    const damaged = damages[kind](files[seed % files.length], seededRandom(seed));
    if (refusedOrIntact(damaged, `seed ${seed}, ${kind}`)) refused++;
  }
  t.diagnostic(`${refused} refused`);
  assert.ok(refused > 0.85 * damagedFiles, `only ${refused} refused`);
  for (const file of files)
    assert.deepEqual(contentOf(decodeSnapshot(file, subject)), contentOf(sample), "the file itself reads on");
});
