import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { parse as parseCsv } from "csv-parse/sync";
import * as parquet from "parquet-wasm";
import {
  columnBytesAllowance,
  DataError,
  DecoderError,
  decodeSnapshot,
  encodeSnapshot,
  maxColumnBytesPerRow,
  type Snapshot,
  sealSnapshot,
  syntheticCaveat,
  syntheticPublisher,
} from "../../engine/index.ts";
import { arrow } from "../../engine/snapshot/arrow.ts";
import {
  type DecodedRows,
  decodedRows,
  isReadable,
  readsOf,
  typeName,
} from "../../engine/snapshot/columns.ts";
import { rowGroups } from "../../engine/snapshot/footer.ts";
import { fileSha256Key } from "../../engine/snapshot/integrity.ts";
import { refusalOf } from "../../engine/snapshot/parquet-file.ts";
import { checkColumns, tableOf } from "../../engine/snapshot/rules.ts";
import { dataPath } from "../support/data.ts";
import {
  type Column,
  changed,
  columnsOf,
  contentOf,
  damages,
  randomSnapshot,
  readBack,
  rowsOf,
  type ShortRow,
  snapshotOf,
  testProvenance,
} from "../support/fixtures.ts";
import { type Builder, fileOf, metadataOf, reencoded } from "../support/parquet-file.ts";
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
const smallFile = encodeSnapshot(small);
const noMetadata = new Map<string, string>();

/** A file of another tool has no metadata of ours. */
function foreign(
  change: (columns: Column[]) => Column[],
  configure?: (builder: Builder) => Builder,
): Uint8Array {
  return fileOf(change(columnsOf(small)), noMetadata, configure);
}

function withCell(name: string, row: number, value: string | number | null): Uint8Array {
  return foreign((columns) => {
    const column = columns.find((candidate) => candidate.name === name);
    assert.ok(column);
    column.values[row] = value;
    return columns;
  });
}

/** Changes the metadata of our own file, with a right checksum of the file. */
function withMetadata(changes: Record<string, string | undefined>): Uint8Array {
  const metadata = metadataOf(smallFile);
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined) metadata.delete(key);
    else metadata.set(key, value);
  }
  return fileOf(columnsOf(small), metadata);
}

async function refusal(file: Uint8Array, name = subject): Promise<string> {
  try {
    await decodeSnapshot(file, name);
  } catch (error) {
    assert.ok(error instanceof DataError, `another error than DataError: ${error}`);
    assert.ok(error.message.startsWith(name), error.message);
    return error.message.slice(name.length).replace(/^: /, "");
  }
  return assert.fail("the file was accepted");
}

test("a random snapshot reads back as it was written", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const snapshot = randomSnapshot(seed);
    const { isChecked, warnings } = await decodeSnapshot(encodeSnapshot(snapshot), subject);
    assert.deepEqual([isChecked, warnings], [true, []]);
    assert.deepEqual(
      contentOf(await readBack(encodeSnapshot(snapshot))),
      contentOf(snapshot),
      `seed ${seed}`,
    );
  }
});

test("absent provenance reads back as absent", async () => {
  const provenance = { ...testProvenance, sourceUrl: null, sourceSha256: null, released: null };
  const snapshot = snapshotOf([["010001", "AL", "5071", 1, 1]], provenance);
  assert.deepEqual((await readBack(encodeSnapshot(snapshot))).provenance, provenance);
});

test("the checksum depends on the content and not on the Parquet encoding", async () => {
  const { Compression, EnabledStatistics, WriterVersion } = parquet;
  const settings: Record<string, (builder: Builder) => Builder> = {
    uncompressed: (builder) => builder.setCompression(Compression.UNCOMPRESSED),
    snappy: (builder) => builder.setCompression(Compression.SNAPPY),
    gzip: (builder) => builder.setCompression(Compression.GZIP),
    brotli: (builder) => builder.setCompression(Compression.BROTLI),
    "no dictionary": (builder) => builder.setDictionaryEnabled(false),
    "row groups of 7": (builder) => builder.setMaxRowGroupSize(7),
    "row groups of 100, no dictionary": (builder) =>
      builder.setMaxRowGroupSize(100).setDictionaryEnabled(false),
    "tiny pages": (builder) => builder.setDataPageSizeLimit(16).setWriteBatchSize(3),
    "tiny dictionary, then plain": (builder) => builder.setDictionaryPageSizeLimit(16).setWriteBatchSize(3),
    "statistics of pages": (builder) => builder.setStatisticsEnabled(EnabledStatistics.Page),
    "version 2": (builder) => builder.setWriterVersion(WriterVersion.V2),
  };
  for (const [name, configure] of Object.entries(settings)) {
    const file = reencoded(sampleFile, configure);
    assert.notDeepEqual(file, sampleFile, name);
    assert.deepEqual(contentOf(await readBack(file)), contentOf(sample), name);
  }
});

test("a file has row groups of 131,072 rows, zstd and statistics", async () => {
  const rows = 131_072 + 1;
  const procedures = 64;
  const ccnOf = (i: number) => String(Math.floor(i / procedures)).padStart(6, "0");
  const pairs = Array.from(
    { length: rows },
    (_, i): ShortRow => [ccnOf(i), "AL", String(5000 + (i % procedures)), 1, 1],
  );
  const file = encodeSnapshot(snapshotOf(pairs));
  const footer = (await parquet.ParquetFile.fromFile(new Blob([Uint8Array.from(file)]))).metadata();
  assert.deepEqual(
    footer.rowGroups().map((group) => group.numRows()),
    [rows - 1, 1],
  );
  const [group] = footer.rowGroups();
  assert.ok(group.columns().every((column) => column.compression() === parquet.Compression.ZSTD));
  assert.ok(Buffer.from(file).includes(ccnOf(rows - 2)), "the largest CCN as a statistic");
  const { counts } = await readBack(file);
  assert.deepEqual([counts.facilities, counts.rows], [Math.ceil(rows / procedures), rows]);
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

test("a file that is no Parquet is refused", async () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  assert.equal(await refusal(new Uint8Array()), "found an empty file, expected a Parquet snapshot");
  for (const file of [bytes("Rndrng_Prvdr_CCN,"), new Uint8Array(5000)])
    assert.equal(await refusal(file), "found a file that isn't Parquet, expected a Parquet snapshot");
  for (const text of ["PAR1", "PAR1PAR1", "PAR1 and more"])
    assert.equal(
      await refusal(bytes(text)),
      "found a file that is cut off or damaged, expected PAR1 at its end",
    );
  assert.match(
    await refusal(bytes("PAR1\0\0\0\0PAR1")),
    /^footer: found damage \(.+\), expected a readable /,
  );
  assert.equal(
    await refusal(bytes("PAR1\u007f\u007f\u007f\u007fPAR1")),
    "footer: found 2139062143 bytes, expected at most 0",
  );
});

const rewritten =
  "(it is damaged, or another tool has rewritten it), expected the file as it was written; another tool has to leave " +
  "out the metadata file_sha256 and schema_version";

test("our file without its own checksum is refused, and so is one whose checksum is wrong", async () => {
  const lacks = `found no valid file_sha256 ${rewritten}`;
  const without = (...keys: string[]) => {
    const metadata = metadataOf(smallFile);
    for (const key of keys) metadata.delete(key);
    // Metadata without a schema version aren't sealed.
    return fileOf(columnsOf(small), metadata);
  };
  const other = { compression: parquet.Compression.SNAPPY };
  const copied = parquet.writeParquet(
    parquet.readParquet(smallFile),
    new parquet.WriterPropertiesBuilder()
      .setCompression(other.compression)
      .setKeyValueMetadata(metadataOf(smallFile))
      .build(),
  );
  assert.equal(await refusal(copied), `found other content than its checksum says ${rewritten}`);
  const unsealed = parquet.writeParquet(
    parquet.readParquet(smallFile),
    new parquet.WriterPropertiesBuilder().setKeyValueMetadata(new Map([["schema_version", "2"]])).build(),
  );
  assert.equal(await refusal(unsealed), lacks);
  assert.equal(
    await refusal(without("schema_version")),
    `found other content than its checksum says ${rewritten}`,
  );
  assert.equal((await readBack(without("schema_version", fileSha256Key), subject)).sha256, small.sha256);
});

test("a text with the bytes of the checksum's entry can't stand for it", async () => {
  const entry = `\u0018\u000bfile_sha256\u0018@${"0".repeat(64)}`;
  const named = changed(small, ({ facilities }) => (facilities.name[0] = entry));
  assert.throws(() => encodeSnapshot(named), {
    message: "file_sha256: found its bytes in another text, expected texts without control characters",
  });
  const file = foreign(
    () => columnsOf(named),
    (builder) => builder.setCompression(parquet.Compression.UNCOMPRESSED),
  );
  assert.equal(await refusal(file), `found other content than its checksum says ${rewritten}`);
});

test("every flipped bit near the end, every truncation and every added byte refuse a file", async () => {
  const refused = (file: Uint8Array, described: string) =>
    assert.rejects(decodeSnapshot(file, subject), { name: "DataError" }, described);
  for (let at = smallFile.length - 300; at < smallFile.length; at++)
    for (let bit = 0; bit < 8; bit++) {
      const copy = smallFile.slice();
      copy[at] ^= 1 << bit;
      await refused(copy, `bit ${bit} of byte ${at}`);
    }
  for (let length = 0; length < smallFile.length; length++)
    await refused(smallFile.subarray(0, length), `${length} bytes`);
  for (let byte = 0; byte < 256; byte++)
    await refused(Buffer.concat([smallFile, Buffer.of(byte)]), `+${byte}`);
  await refused(Buffer.concat([smallFile, Buffer.from("PAR1")]), "another end");
});

test("flipped bits anywhere in ten files refuse them", async () => {
  const random = seededRandom(5);
  for (let seed = 1; seed <= 10; seed++) {
    const file = encodeSnapshot(randomSnapshot(seed));
    for (let i = 0; i < 100; i++) {
      const copy = file.slice();
      const [at, bit] = [random.int(copy.length), random.int(8)];
      copy[at] ^= 1 << bit;
      await assert.rejects(decodeSnapshot(copy, subject), { name: "DataError" }, `${seed}: ${bit} of ${at}`);
    }
  }
});

test("malformed metadata are rejected with the name of their key", async () => {
  const cases: [string, string, RegExp][] = [
    ["schema_version", "3", /^metadata schema_version: found "3", expected 2$/],
    ["data_year", "2015", /^metadata data_year: found "2015", expected a year from 2016 to 2099$/],
    ["data_year", "02024", /^metadata data_year: found "02024", expected a year from 2016 to 2099$/],
    ["data_year", "2023", /^metadata data_year: found 2023, expected 2024, as in the file's name$/],
    ["revision", "0", /^metadata revision: found "0", expected a number from 1 to 9999$/],
    ["revision", "x", /^metadata revision: found "x", expected a number from 1 to 9999$/],
    ["revision", "4", /^metadata revision: found 4, expected 3, as in the file's name$/],
    ["released", "2024-13", /^metadata released: found "2024-13", expected a month as YYYY-MM$/],
    [
      "released",
      "2023-12",
      /^metadata released: found "2023-12", expected no month before the data year 2024$/,
    ],
    ["rows", "-1", /^metadata rows: found "-1", expected a whole number$/],
    ["sha256", "A", /^metadata sha256: found "A", expected 64 hexadecimal digits in lower case$/],
    ["caveat", "x".repeat(4001), /^metadata caveat: found 4001 characters, expected at most 4000$/],
    ["title", "a\nb", /^metadata title: found the control character U\+000A, expected printable text$/],
    ["publisher", " ", /^metadata publisher: found only spaces, expected printable text$/],
  ];
  for (const [key, value, expected] of cases) {
    assert.match(await refusal(withMetadata({ [key]: value })), expected);
    if (key !== "schema_version")
      assert.match(await refusal(fileOf(columnsOf(small), new Map([[key, value]]))), expected);
  }
});

test("metadata with empty texts are as those that are left out", async () => {
  const empty = new Map([...metadataOf(smallFile).keys(), "hcpcs_codes"].map((key) => [key, ""]));
  const columns = columnsOf(small);
  const [one, other] = [empty, noMetadata].map((metadata) => readBack(fileOf(columns, metadata), subject));
  assert.deepEqual(contentOf(await one), contentOf(await other));
});

test("a file of another tool isn't released in the future, and an import may be, because a clock may be slow", async () => {
  const foreignFile = fileOf(columnsOf(small), new Map([["released", "2026-06"]]));
  const read = (file: Uint8Array, month: string) => decodeSnapshot(file, subject, { month });
  await assert.rejects(read(foreignFile, "2026-05"), {
    message: `${subject}: metadata released: found "2026-06", expected no month after the present one, 2026-05`,
  });
  for (const [file, month] of [
    [foreignFile, "2026-06"],
    [smallFile, "1970-01"],
  ] as const)
    assert.equal((await read(file, month)).snapshot.provenance.released, "2026-06");
});

test("a source URL that isn't http or https or has a password is rejected without showing the password", async () => {
  const refused = [
    ["javascript:alert(document.domain)", "javascript:alert(document.domain)"],
    ["ftp://example.org/data.csv", "ftp://example.org/data.csv"],
    [" https://example.org/", " https://example.org/"],
    ["https://example.org/\u001b[2J", "https://example.org/\\u001b[2J"],
    ["https://example.org:99999/", "https://example.org:99999/"],
    ["https://example.org/é", "https://example.org/é"],
    ["https://me:secret@example.org/", "https://…@example.org/"],
    ["me:secret@example.org/", "…@example.org/"],
    [`https://example.org/${"x".repeat(2000)}`, `https://example.org/${"x".repeat(43)}…`],
  ];
  for (const [url, shown] of refused)
    assert.equal(
      await refusal(withMetadata({ source_url: url })),
      `metadata source_url: found "${shown}", expected an http or https URL, without a password`,
    );
  for (const url of ["http://example.org", "HTTPS://example.org/a?b=c&d=%20#e", "https://[::1]:8443/"]) {
    const { provenance } = await readBack(fileOf(columnsOf(small), new Map([["source_url", url]])), subject);
    assert.equal(provenance.sourceUrl, url);
  }
});

test("counts and checksums in the metadata of a file with a checksum have to agree with the rows", async () => {
  const zeros = "0".repeat(64);
  const other = sealSnapshot(small.table, { ...small.provenance, title: "Another" });
  const cases: [string, string, string][] = [
    ["rows", "4", "rows of the rows: found 5, expected 4 as in its metadata"],
    ["priced_rows", "3", "priced_rows of the rows: found 2, expected 3 as in its metadata"],
    ["suppressed_rows", "0", "suppressed_rows of the rows: found 1, expected 0 as in its metadata"],
    ["incomplete_rows", "1", "incomplete_rows of the rows: found 2, expected 1 as in its metadata"],
    ["facilities", "4", "facilities of the rows: found 3, expected 4 as in its metadata"],
    ["procedures", "1", "procedures of the rows: found 2, expected 1 as in its metadata"],
    ["sha256", zeros, `sha256 of the rows: found ${small.sha256}, expected ${zeros} as in its metadata`],
    [
      "title",
      "Another",
      `sha256 of the rows: found ${other.sha256}, expected ${small.sha256} as in its metadata`,
    ],
    [
      "content_sha256",
      zeros,
      `content_sha256 of the rows: found ${small.contentSha256}, expected ${zeros} as in its metadata`,
    ],
  ];
  for (const [key, value, expected] of cases) {
    assert.equal(await refusal(withMetadata({ [key]: value })), expected);
    const kept = metadataOf(smallFile).set(key, value).set("schema_version", "").set(fileSha256Key, "");
    const { snapshot, isChecked } = await decodeSnapshot(fileOf(columnsOf(small), kept), subject);
    assert.deepEqual([snapshot.counts, isChecked], [small.counts, false], "another tool may have kept them");
  }
});

test("a file without metadata has the defaults, which take no part in the checksum", async () => {
  const { snapshot, isChecked, warnings } = await decodeSnapshot(
    foreign((columns) => columns),
    `folder/${subject}`,
  );
  const { provenance } = snapshot;
  assert.deepEqual(
    [isChecked, warnings],
    [false, ["the file has no file_sha256, so damage to it can't be seen"]],
  );
  assert.deepEqual(
    [provenance.title, provenance.publisher, provenance.sourceUrl, provenance.released, provenance.dataYear],
    ["OPPS charges 2024.3", "unknown", null, null, 2024],
  );
  assert.match(provenance.caveat, /^Averages per hospital .* in calendar year 2024; /);
  // A small file says how small a part it is. What is said by default takes no part in the checksum.
  assert.match(
    provenance.caveat,
    / This file has only \d+ hospitals?, where a whole release has some 3,000: /,
  );
  const stated = { ...provenance, title: null, publisher: null, caveat: null };
  assert.equal(snapshot.sha256, sealSnapshot(small.table, stated).sha256);
  assert.notEqual(snapshot.sha256, sealSnapshot(small.table, provenance).sha256);
  assert.equal(snapshot.contentSha256, small.contentSha256);
  assert.equal(
    await refusal(
      foreign((columns) => columns),
      "a file",
    ),
    "name: found no data version, expected <year>.<revision>.parquet with a year from 2016 to 2099 and a revision from " +
      "1 to 9999, without leading zeros, such as 2024.1.parquet",
  );
});

test("rows are synthetic if the publisher says so or every CCN begins with 99", async () => {
  const all = snapshotOf([
    ["990001", "AL", "5071", 1, 1],
    ["990002", "AL", "5071", 2, 1],
  ]);
  const synthetic = await readBack(fileOf(columnsOf(all), noMetadata), subject);
  assert.deepEqual([synthetic.isSynthetic, synthetic.provenance.caveat], [true, syntheticCaveat]);
  const some = snapshotOf([
    ["990001", "AL", "5071", 1, 1],
    ["010002", "AL", "5071", 2, 1],
  ]);
  assert.equal((await readBack(fileOf(columnsOf(some), noMetadata), subject)).isSynthetic, false);
  const told = fileOf(columnsOf(some), new Map([["publisher", syntheticPublisher]]));
  assert.equal((await readBack(told, subject)).isSynthetic, true);
});

test("columns are read by name, in any order, of any integer width and any kind of text", async () => {
  const { Dictionary, Int8, Int16, Int32, Int64, LargeUtf8, Uint8, Uint16, Uint32, Uint64, Utf8 } = arrow;
  const narrow = changed(small, ({ rows }) => {
    for (const column of [rows.charge, rows.allowed])
      column.forEach((cents, i) => {
        column[i] = Math.min(cents, 100 + i);
      });
  });
  const numbers = [
    new Int8(),
    new Int16(),
    new Int32(),
    new Int64(),
    new Uint8(),
    new Uint16(),
    new Uint32(),
    new Uint64(),
  ];
  const indices = [Int8, Int16, Int32, Uint8, Uint16, Uint32];
  // Each column needs a type of its own, because a dictionary belongs to its type.
  const texts = [
    () => new Utf8(),
    () => new LargeUtf8(),
    ...indices.map((Index) => () => new Dictionary(new Utf8(), new Index())),
  ];
  for (const [i, type] of numbers.entries())
    for (const textType of texts.slice(
      i === 0 ? 0 : i % texts.length,
      i === 0 ? undefined : (i % texts.length) + 1,
    )) {
      const is64 = type instanceof Int64 || type instanceof Uint64;
      const columns = columnsOf(narrow).map((column) =>
        column.type instanceof Int32
          ? {
              ...column,
              type,
              values: column.values.map((value) =>
                is64 && typeof value === "number" ? BigInt(value) : value,
              ),
            }
          : { ...column, type: textType() },
      );
      const file = fileOf(columns.toReversed(), noMetadata);
      assert.equal(
        (await readBack(file, subject)).contentSha256,
        narrow.contentSha256,
        `${type} ${textType()}`,
      );
    }
});

type Vector = InstanceType<typeof arrow.Vector>;

/** Decodes a table as if it were that of a file's second row group, after an empty one. */
async function stepOf(
  columns: Record<string, Vector>,
  rows?: number,
  maxCharacters = 1000,
): Promise<DecodedRows> {
  const table = new arrow.Table(columns);
  const file = { metadata: new Map(), groups: [], read: async () => table };
  const groups = [0, rows ?? table.numRows].map((count) => ({ rows: count, bytes: 0, keyBytes: 0 }));
  const steps: DecodedRows[] = [];
  for await (const step of decodedRows(file, [], groups, "s", maxCharacters)) steps.push(step);
  assert.equal(steps.length, 1);
  return steps[0];
}

test("columns of rare types, in several pieces, or that begin within a piece are decoded like plain ones", async () => {
  const { Decimal, Dictionary, Int32, Int64, Null, Utf8, Utf8View } = arrow;
  const texts = ["b", null, "a text that a view doesn't have within itself", "", "b"];
  const plain = arrow.vectorFromArray(texts, new Utf8());
  const coded = arrow.vectorFromArray(texts, new Dictionary(new Utf8(), new Int32()));
  const numbers = [7, null, 0, null, 2_147_483_647];
  const wide = arrow.makeData({
    type: new Decimal(0, 18, 128),
    ...{ length: 5, nullCount: 2, nullBitmap: Uint8Array.of(0b10101) },
    data: Uint32Array.from(numbers.flatMap((number) => [number ?? 9, 0, 0, 0])),
  });
  const before = ["x", null, "y"];
  const columns: Record<string, Vector> = {
    plain,
    view: arrow.vectorFromArray(texts, new Utf8View()),
    codes: coded,
    cut: arrow.vectorFromArray([...before, ...texts], new Utf8()).slice(before.length),
    cutCodes: arrow.vectorFromArray([...before, ...texts], new Dictionary(new Utf8(), new Int32())).slice(3),
    pieces: plain.slice(0, 2).concat(plain.slice(2)),
    numbers: arrow.vectorFromArray(numbers, new Int32()),
    wide: new arrow.Vector([wide]),
    cutNumbers: arrow.vectorFromArray([1, null, 2, ...numbers], new Int32()).slice(3),
    long: arrow.vectorFromArray(
      numbers.map((number) => (number === null ? null : BigInt(number))),
      new Int64(),
    ),
    none: arrow.vectorFromArray([null, null, null, null, null], new Null()),
  };
  const step = await stepOf(columns);
  assert.deepEqual([step.start, step.length], [0, 5]);
  for (const name of ["plain", "view", "codes", "cut", "cutCodes", "pieces", "none", "absent"]) {
    const { codes, values } = step.texts(name as "city");
    const expected = name === "none" || name === "absent" ? [] : texts;
    assert.deepEqual(
      Array.from(codes, (code) => (code < 0 ? "" : values[code])),
      texts.map((_, i) => expected[i] ?? ""),
      name,
    );
    assert.equal(new Set(values).size, values.length, name);
  }
  for (const name of ["numbers", "wide", "cutNumbers", "long", "none", "absent"]) {
    const into = new Int32Array(5).fill(5);
    step.numbers(name as "services", into);
    const expected = name === "none" || name === "absent" ? [] : numbers;
    assert.deepEqual(
      [...into],
      numbers.map((_, i) => expected[i] ?? -1),
      name,
    );
  }
  for (const [name, { type }] of Object.entries(columns)) {
    const field = new arrow.Field(name, type);
    const isText = /plain|view|odes|cut$|pieces/.test(name);
    assert.deepEqual(
      [isReadable(field, "text"), isReadable(field, "number")],
      [isText || name === "none", !isText],
      name,
    );
  }
});

test("a number that is too wide is refused with its row, in whichever piece it is", async () => {
  const { Int32, Int64 } = arrow;
  const range = "expected a whole number from 0 to 2147483647, or no value";
  for (const [value, found] of [
    [2n ** 31n, "2147483648"],
    [2n ** 32n + 1n, "4294967297"],
    [2n ** 62n, "4611686018427387904"],
    [-1n, "-1"],
    [-(2n ** 32n), "-4294967296"],
  ] as const) {
    const small = arrow.vectorFromArray([1n, 2n], new Int64());
    const step = await stepOf({ x: small.concat(arrow.vectorFromArray([null, value], new Int64())) });
    assert.throws(() => step.numbers("x" as "services", new Int32Array(4)), {
      message: `s: row 4, column x: found ${found}, ${range}`,
    });
  }
  const step = await stepOf({ x: arrow.vectorFromArray([0, 2 ** 31 - 1], new Int32()) });
  step.numbers("x" as "services", new Int32Array(2));
});

test("a row group with another number of rows than its footer says, and texts beyond the limit, are refused", async () => {
  const x = arrow.vectorFromArray(["ab", "ab", "cde"], new arrow.Utf8());
  await assert.rejects(stepOf({ x }, 4), {
    message: "s: rows: found 3 of a row group, expected 4 as in its footer",
  });
  // A text counts once, with its characters and one more.
  assert.deepEqual((await stepOf({ x }, 3, 7)).texts("x" as "city").values, ["ab", "cde"]);
  const step = await stepOf({ x }, 3, 6);
  assert.throws(() => step.texts("x" as "city"), {
    message:
      "s: texts of 3 rows: found more than 6 characters, expected distinct texts that fit into the memory of a load",
  });
});

test("texts of facilities may take as much heap as is left, and one byte more is refused", async () => {
  const { facilities, procedures } = small.table;
  const heapOf = (texts: Record<string, string[]>) =>
    Object.values(texts)
      .flat()
      .reduce((sum, { length }) => sum + 32 + 2 * length, 0);
  const most = heapOf(facilities);
  assert.ok(most > heapOf(procedures));
  const vectors = columnsOf(small).map(({ name, type, values }) => [
    name,
    arrow.vectorFromArray(values, type),
  ]);
  const step = await stepOf(Object.fromEntries(vectors), undefined, 10_000);
  async function* steps() {
    yield step;
  }
  const read = (maxHeap: number) => tableOf(steps(), step.length, "s", maxHeap, () => {});
  assert.deepEqual((await read(most)).facilities, facilities);
  await assert.rejects(read(most - 1), {
    message: `s: texts of facilities and procedures: found ${most} bytes or more, expected at most ${most - 1}`,
  });
});

test("the names of columns' types are cut, and damage that a column's values show is refused", () => {
  const field = (type: ConstructorParameters<typeof arrow.Field>[1]) => new arrow.Field("x", type);
  assert.equal(typeName(field(new arrow.Decimal(2, 18, 128))), "DECIMAL(18,2)");
  const nested = (letters: number) =>
    typeName(field(new arrow.Struct([new arrow.Field("n".repeat(letters), new arrow.Int32())])));
  const whole = 64 - nested(1).length + 1;
  assert.equal(nested(whole).length, 64);
  assert.ok(!nested(whole).includes("…"));
  assert.equal(nested(whole + 1).length, 64);
  assert.ok(nested(whole + 1).endsWith("…"));
  const known = new DataError("a", "b", "c");
  assert.equal(refusalOf(known, "s"), known);
  assert.equal(
    refusalOf(new Error("x".repeat(121)), "s").message,
    `s: found damage (${"x".repeat(120)}), expected a readable Parquet file`,
  );
  for (const error of [new RangeError("deep"), new WebAssembly.RuntimeError("unreachable")]) {
    const refused = refusalOf(error, "s");
    assert.ok(refused instanceof DecoderError);
    assert.equal(refused.message, "s: found damage (the decoder failed), expected a readable Parquet file");
  }
  assert.ok(!(refusalOf(new TypeError("x"), "s") instanceof DecoderError));
});

test("a column that a file has twice is refused, and parts of one nested column are one", async () => {
  const head = (...paths: string[][]) => ({
    file: {
      metadata: new Map(),
      groups: [{ rows: 1, columns: paths.map((path) => ({ path, bytes: 1, isLzo: false })) }],
      read: async () => new arrow.Table(new arrow.Schema([])),
    },
  });
  const required = ["ccn", "facility", "city", "state", "procedure_code", "procedure_name"];
  const amounts = ["submitted_charge_cents", "medicare_allowed_cents"];
  const ours = [...required, ...amounts].map((name) => [name]);
  const twice = (name: string) => ({ message: `s: column ${name}: found two of this name, expected one` });
  await assert.rejects(checkColumns(head(...ours, ["city"]), "s"), twice("city"));
  await assert.rejects(checkColumns(head(...ours, ["zip"], ["x"], ["zip"]), "s"), twice("zip"));
  const nested = [["x", "a"], ["x", "b"], ["y"], ["y"], ["z", "a"], ["w", "a"], ["w"], ["w", "b"]];
  assert.deepEqual(await checkColumns(head(...nested, ...ours), "s"), {
    columns: ours.flat(),
    ignored: ["x", "y", "y", "z", "w", "w", "w"],
  });
});

test("rows in any order give the same snapshot", async () => {
  const random = seededRandom(3);
  const order = random.shuffled(Array.from({ length: sample.counts.rows }, (_, i) => i));
  const columns = columnsOf(sample).map((column) => ({
    ...column,
    values: order.map((i) => column.values[i]),
  }));
  for (const rows of [7, 1000]) {
    const file = fileOf(columns, noMetadata, (builder) => builder.setMaxRowGroupSize(rows));
    assert.equal((await readBack(file, subject)).contentSha256, sample.contentSha256);
  }
});

test("a warning cuts and counts the names of ignored columns, like other texts of a file", async () => {
  const names = ["x".repeat(1_000_000), "a\nb", ...Array.from({ length: 20 }, (_, i) => `c${i}`)];
  const { warnings } = await decodeSnapshot(
    foreign((columns) => [
      ...columns,
      ...names.map((name) => ({ ...columns[0], name, type: new arrow.Utf8() })),
    ]),
    subject,
  );
  const shown = [`"${"x".repeat(63)}…"`, '"a\\nb"', ...Array.from({ length: 8 }, (_, i) => `c${i}`)];
  assert.equal(
    warnings[1],
    `columns that are ignored, but that /export.parquet hands out: ${shown.join(", ")} and 12 more`,
  );
});

test("optional columns may be absent or empty, and other columns are ignored with a warning", async () => {
  const { snapshot, warnings } = await decodeSnapshot(
    foreign((columns) => [
      ...columns.slice(0, 8),
      { ...columns[0], name: "note", type: new arrow.Utf8() },
      { ...columns[7], name: "more" },
    ]),
    subject,
  );
  const without = changed(small, ({ rows }) => {
    for (const field of ["services", "beneficiaries", "payment", "outlierServices", "outlierAmount"] as const)
      rows[field].fill(-1);
  });
  assert.equal(snapshot.contentSha256, without.contentSha256);
  assert.equal(warnings[1], "columns that are ignored, but that /export.parquet hands out: note, more");
  assert.deepEqual(contentOf(await readBack(withCell("street", 4, ""), subject)).rows, contentOf(small).rows);
});

const item = new arrow.Field("item", new arrow.Int32(), true);
const listValues = [[1], [2, 3], [], null, [4]];
const lists: Column = { name: "odd", type: new arrow.List(item), values: listValues };
const largeLists: Column = { name: "odd", type: new arrow.LargeList(item), values: listValues };
const integers: Column = { name: "odd", type: new arrow.Int64(), values: [1n, 2n, 3n, null, 4n] };
const shorts: Column = { name: "odd", type: new arrow.Int32(), values: [1, 2, 3, null, 4] };

/** The description of Arrow's types in a file's footer, and its place. */
function arrowTypes(file: Uint8Array): { bytes: Buffer; at: number } {
  const text = Buffer.from(file).toString("latin1");
  const [description] = /\/{5}[A-Za-z0-9+/]+=*/.exec(text) ?? assert.fail("no description");
  return { bytes: Buffer.from(description, "base64"), at: text.indexOf(description) };
}

/**
 * Makes a file with another column, whose type has the number `to` in the description of Arrow's types. In the
 * descriptions of the two columns, the byte of this number is the first that differs.
 */
function withArrowType([column, other]: Column[], to: number): Uint8Array {
  const withColumn = (added: Column) => foreign((columns) => [...columns, added]);
  const file = Buffer.from(withColumn(column));
  const { bytes, at } = arrowTypes(file);
  const { bytes: others } = arrowTypes(withColumn(other));
  bytes[bytes.findIndex((byte, i) => byte !== others[i])] = to;
  file.write(bytes.toString("base64"), at, "latin1");
  return file;
}

test("ignored columns of any type don't refuse a file, even if apache-arrow doesn't know the type", async () => {
  const [listView, largeListView] = [25, 26];
  const files = [
    foreign((columns) => [lists, ...columns, { ...integers, name: "odd.ccn" }]),
    withArrowType([lists, largeLists], listView),
    withArrowType([lists, largeLists], largeListView),
  ];
  for (const file of files) {
    const { snapshot, warnings } = await decodeSnapshot(file, subject);
    assert.equal(snapshot.contentSha256, small.contentSha256);
    assert.match(warnings[1], /^columns that are ignored, but that \/export\.parquet hands out: odd/);
  }
});

test("types that the decoder can't read, and encryption, are named in a refusal", async () => {
  const runEndEncoded = 22;
  for (const file of [
    withArrowType([integers, shorts], 128),
    withArrowType([lists, largeLists], runEndEncoded),
  ])
    assert.equal(
      await refusal(file),
      "footer: found a type of Arrow that the decoder can't read, such as integers of 128 bits or run-end encoding, or damage (the decoder failed), expected a readable Parquet file",
    );
});

test("encryption is named in a refusal, unless only columns are encrypted that a snapshot doesn't have", async () => {
  const encrypted = (name: string) => readFileSync(dataPath(`encrypted/${name}.parquet`));
  assert.equal(
    await refusal(encrypted("footer")),
    "found an encrypted Parquet file, expected a Parquet snapshot without encryption",
  );
  assert.match(
    await refusal(encrypted("ccn")),
    /^column (ccn|submitted_charge_cents): found encryption, expected a column that isn't encrypted: write the file again without encryption$/,
  );
  const { warnings } = await decodeSnapshot(encrypted("other-column"), subject);
  assert.equal(warnings[1], "columns that are ignored, but that /export.parquet hands out: patient");
});

/** Makes a file that states another codec for a column than the one that its pages have. */
function withCodec(name: string, codec: number): Buffer {
  const column = { ...integers, name: "odd" };
  const file = Buffer.from(foreign((columns) => [...columns, column]));
  // In Thrift's compact protocol: a list of one text, which is the column's name, and then a number.
  const before = Buffer.concat([Buffer.of(0x19, 0x18, name.length), Buffer.from(name), Buffer.of(0x15)]);
  const at = file.indexOf(before) + before.length;
  assert.equal(file.indexOf(before, at), -1, "one row group");
  assert.equal(file[at], 0, "uncompressed");
  file[at] = codec < 0 ? -2 * codec - 1 : 2 * codec;
  return file;
}

test("a codec that can't be read is named in a refusal, with those that can be read", async () => {
  const expected =
    "expected no compression, or snappy, gzip, brotli, lz4 or zstd: write the file again with one of them";
  const lzo = 3;
  assert.equal(await refusal(withCodec("ccn", lzo)), `column ccn: found compression by LZO, ${expected}`);
  assert.equal(
    (await decodeSnapshot(withCodec("odd", lzo), subject)).snapshot.contentSha256,
    small.contentSha256,
  );
  // The library refuses a codec that it doesn't know in any column.
  for (const name of ["ccn", "odd"])
    for (const codec of [-1, 8, 63])
      assert.equal(
        await refusal(withCodec(name, codec)),
        `footer: found a column with the unknown compression codec ${codec}, or damage, ${expected}`,
      );
});

test("every codec that the refusal names is read", async () => {
  const { UNCOMPRESSED, SNAPPY, GZIP, BROTLI, LZ4, LZ4_RAW, ZSTD } = parquet.Compression;
  for (const codec of [UNCOMPRESSED, SNAPPY, GZIP, BROTLI, LZ4, LZ4_RAW, ZSTD])
    await readBack(
      foreign(
        (columns) => columns,
        (builder) => builder.setCompression(codec),
      ),
      subject,
    );
});

test("a page that makes the decoder fail refuses the file, and the thread goes on", async (t) => {
  const plain = globalThis.queueMicrotask;
  const escaped = t.mock.fn();
  process.on("uncaughtException", escaped);
  t.after(() => process.off("uncaughtException", escaped));
  // Pages of empty columns aren't decoded.
  const whole = foreign(
    (columns) => columns.slice(0, 8),
    (builder) => builder.setCompression(parquet.Compression.ZSTD),
  );
  const { contentSha256 } = await readBack(whole, subject);
  const zstdFrame = Buffer.of(0x28, 0xb5, 0x2f, 0xfd);
  for (let at = Buffer.from(whole).indexOf(zstdFrame), page = 0; at >= 0; page++) {
    const damaged = Buffer.from(whole);
    damaged[at] ^= 1;
    await assert.rejects(
      decodeSnapshot(damaged, subject),
      {
        name: "DataError",
        message: `${subject}: rows from 1 on: found damage or encryption (the decoder failed), expected a readable Parquet file`,
      },
      `page ${page}`,
    );
    assert.equal(globalThis.queueMicrotask, plain);
    assert.equal((await readBack(whole, subject)).contentSha256, contentSha256);
    at = damaged.indexOf(zstdFrame, at + 1);
  }
  assert.equal(escaped.mock.callCount(), 0);
});

test("files by pandas, Polars and pyarrow have the values of their CSV file", async () => {
  const folder = dataPath("other-tools");
  const csv = readFileSync(path.join(folder, "rows.csv"));
  const expected = parseCsv<Record<string, string>>(csv, { columns: true });
  const sorted = (rows: Record<string, string | number | null>[]) =>
    rows
      .map((row) =>
        Object.keys(expected[0])
          .map((name) => String(row[name] ?? ""))
          .join("|"),
      )
      .sort();
  for (const name of readdirSync(folder).filter((each) => each.endsWith(".parquet"))) {
    const snapshot = await readBack(readFileSync(path.join(folder, name)), "2023.1.parquet");
    assert.deepEqual(sorted(rowsOf(snapshot)), sorted(expected), name);
  }
});

const ofType = (name: string, type: Column["type"], value: Column["values"][number]) =>
  foreign((columns) =>
    columns.map((column) =>
      column.name === name ? { name, type, values: column.values.map(() => value) } : column,
    ),
  );

test("a required column that is missing, twice or of another type is refused", async () => {
  const cases: [Uint8Array, string | RegExp][] = [
    [
      foreign((columns) => columns.slice(1)),
      /^column ccn: found none among "facility, city, .*…", expected a column of this name$/,
    ],
    [
      foreign(([first, ...rest]) => [
        ...rest,
        ...Array.from({ length: 9 }, (_, i) => ({ ...rest[6], name: `another column ${i}` })),
        { ...first, name: "CCN " },
      ]),
      /^column ccn: found none among "CCN , another column 0, .*…", expected a column of this name$/,
    ],
    [
      foreign((columns) =>
        columns.map((column) => ({ ...column, name: column.name.replace("city", "town") })),
      ),
      /^column city: found none among "town, ccn, .*…", expected a column of this name$/,
    ],
    [
      ofType("submitted_charge_cents", new arrow.Decimal(2, 18, 128), null),
      "column submitted_charge_cents: found values of the type DECIMAL(18,2), expected integers of any width",
    ],
    [
      foreign(([first, ...rest]) => [{ ...first, name: "CCN" }, ...rest]),
      /^column ccn: found none among "CCN, facility, .*…", expected a column of this name$/,
    ],
    [
      ofType("submitted_charge_cents", new arrow.Float64(), 1),
      "column submitted_charge_cents: found values of the type Float64, expected integers of any width",
    ],
    [
      ofType("services", new arrow.Utf8(), "1"),
      "column services: found values of the type Utf8, expected integers of any width",
    ],
    [ofType("ccn", new arrow.Int32(), 10001), "column ccn: found values of the type Int32, expected text"],
    [ofType("zip", new arrow.Int32(), 36301), "column zip: found values of the type Int32, expected text"],
  ];
  for (const [file, expected] of cases)
    if (typeof expected === "string") assert.equal(await refusal(file), expected);
    else assert.match(await refusal(file), expected);
});

test("a wrong value is refused with its row, its column, what was found and what was expected", async () => {
  const cases: [string, number, string | number | null, string][] = [
    ["submitted_charge_cents", 1, -1, "found -1, expected a whole number from 0 to 2147483647, or no value"],
    ["services", 0, -1, "found -1, expected a whole number from 0 to 2147483647, or no value"],
    ["zip", 4, "3630", 'found "3630", expected five digits'],
    ["rural_urban_code", 4, "11", 'found "11", expected a code such as 1 or 4.1'],
    ["rural_urban_code", 4, "1.", 'found "1.", expected a code such as 1 or 4.1'],
    ["state", 4, "ZZ", 'found "ZZ", expected a state\'s code, such as CA'],
    ["state", 4, "constructor", 'found "constructor", expected a state\'s code, such as CA'],
    ["ccn", 4, "3A003", 'found "3A003", expected six digits or capital letters'],
    ["ccn", 4, "é00003", 'found "é00003", expected six digits or capital letters'],
    ["ccn", 4, "05a001", 'found "05a001", expected six digits or capital letters'],
    ["procedure_code", 4, "507", 'found "507", expected four digits'],
    [
      "facility",
      1,
      "Other",
      'found "Other", expected "Hospital 010001" as in row 1, which has the same ccn 010001',
    ],
    ["state", 1, "AK", 'found "AK", expected "AL" as in row 1, which has the same ccn 010001'],
    ["zip", 1, "36301", 'found "36301", expected no value as in row 1, which has the same ccn 010001'],
    [
      "procedure_name",
      2,
      "Other",
      'found "Other", expected "Level 1 Procedures" as in row 1, which has the same procedure_code 5071',
    ],
  ];
  for (const [name, row, value, expected] of cases)
    assert.equal(await refusal(withCell(name, row, value)), `row ${row + 1}, column ${name}: ${expected}`);
  for (const name of ["ccn", "facility", "city", "state", "procedure_code", "procedure_name"])
    for (const value of [null, ""])
      assert.equal(
        await refusal(withCell(name, 1, value)),
        `row 2, column ${name}: found no value, expected text`,
      );
  for (const name of ["facility", "city", "procedure_name", "street", "rural_urban_description"])
    assert.match(
      await refusal(withCell(name, 4, "é".repeat(501))),
      /^row \d, column [a-z_]+: found 501 characters, expected at most 500$|^row 5, column procedure_name: /,
    );
  const long = withCell("facility", 4, "é".repeat(500));
  assert.ok((await readBack(long, subject)).table.facilities.name.includes("é".repeat(500)));
  const wide = ofType("services", new arrow.Int64(), 2n ** 31n);
  assert.equal(
    await refusal(wide),
    "row 1, column services: found 2147483648, expected a whole number from 0 to 2147483647, or no value",
  );
});

const wrongTexts: [text: string, found: string][] = [
  ["\0", "the control character U+0000"],
  ["\u001b[2J", "the control character U+001B"],
  ["a\nb", "the control character U+000A"],
  ["a\u0085", "the control character U+0085"],
  ["\u202eb", "the bidirectional control U+202E"],
  ["a\u2066b", "the bidirectional control U+2066"],
  ["\ufeffa", "the invisible character U+FEFF"],
  ["a\u2028", "the invisible character U+2028"],
  ["\u200b", "the invisible character U+200B"],
  ["\u3164", "the invisible character U+3164"],
  ["S\ufffdo Paulo", "the replacement character U+FFFD"],
  ["\ue000", "the character without a meaning U+E000"],
  ["\uffff", "the character without a meaning U+FFFF"],
  [" ", "only spaces"],
  ["\u00a0 \u3000", "only spaces"],
];

test("texts that import refuses are refused in files of any tool, in every column and in the codes", async () => {
  for (const [text, found] of wrongTexts) {
    for (const name of ["facility", "city", "procedure_name", "street", "rural_urban_description"])
      assert.equal(
        await refusal(
          foreign((columns) =>
            columns.map((column) =>
              column.name === name ? { ...column, values: column.values.map(() => text) } : column,
            ),
          ),
        ),
        `row 1, column ${name}: found ${found}, expected printable text`,
      );
    for (const code of [
      ["27447", "5071", "", text],
      ["27447", "5071", text, ""],
    ]) {
      const metadata = new Map([["hcpcs_codes", JSON.stringify([["0616T", "5071", "", ""], code])]]);
      assert.equal(
        await refusal(fileOf(columnsOf(small), metadata)),
        `metadata hcpcs_codes, entry 2: found ${found} at code 27447, expected printable text`,
      );
    }
  }
});

test("contradictions between row groups are found as within one", async () => {
  const oneByOne = (file: Uint8Array) => reencoded(file, (builder) => builder.setMaxRowGroupSize(1));
  assert.equal(
    await refusal(oneByOne(withCell("facility", 1, "Other"))),
    'row 2, column facility: found "Other", expected "Hospital 010001" as in row 1, which has the same ccn 010001',
  );
});

test("a facility and procedure in two rows are refused with both rows", async () => {
  const repeated = (first: number, second: number) =>
    foreign((columns) =>
      columns.map((column) => ({ ...column, values: column.values.with(second, column.values[first]) })),
    );
  for (const file of [repeated(0, 4), reencoded(repeated(0, 4), (builder) => builder.setMaxRowGroupSize(2))])
    assert.equal(
      await refusal(file),
      "row 5, columns ccn and procedure_code: found 010001 and 5071, as in row 1, expected each pair in one row",
    );
});

test("an empty table, and a footer that declares too many bytes, are refused", async () => {
  const empty = foreign((columns) => columns.map((column) => ({ ...column, values: [] })));
  assert.equal(await refusal(empty), "rows: found none, expected at least one");
  const long = changed(small, ({ facilities }) => {
    facilities.name = facilities.name.map((short) => short.padEnd(2 ** 20));
  });
  const expanding = encodeSnapshot(long);
  const most = columnBytesAllowance + 5 * maxColumnBytesPerRow;
  assert.match(
    await refusal(expanding),
    new RegExp(`^decoded size: found 31[0-9]{5} bytes, expected at most ${most} for 5 rows$`),
  );
});

/** Repeats the first `count` rows of the small snapshot, up to `rows` rows, in row groups of 131,072 rows. */
function repeatedRows(count: number, rows: number): Uint8Array {
  return foreign(
    (columns) =>
      columns.map((column) => ({
        ...column,
        values: Array.from({ length: rows }, (_, i) => column.values[i % count]),
      })),
    (builder) => builder.setMaxRowGroupSize(131_072),
  );
}

test("one row again and again is refused before it is decoded", async () => {
  const withDamagedPages = repeatedRows(1, 20_000).fill(0xff, 4, 40);
  assert.match(
    await refusal(withDamagedPages),
    /^columns ccn and procedure_code: found \d+ bytes for 20000 rows, expected each pair in one row, which takes at least a bit per row$/,
  );
});

test("after more rows than pairs of a facility and a procedure, no more rows are decoded", async () => {
  const steps: number[] = [];
  const onRows = (rows: number) => void steps.push(rows);
  await assert.rejects(decodeSnapshot(repeatedRows(5, 140_000), subject, { onRows }), {
    message: `${subject}: row 6, columns ccn and procedure_code: found 010001 and 5071, as in row 1, expected each pair in one row`,
  });
  assert.deepEqual(steps, [131_072]);
});

test("a file that needs more memory than a load may take is refused before it is decoded", async () => {
  await assert.rejects(decodeSnapshot(smallFile, subject, { maxBytes: 2 ** 20 }), (error) => {
    assert.ok(error instanceof DataError);
    return /^2024\.3\.parquet: memory needed for the load: found 17 MiB, expected at most 1 MiB, the limit of a load$/.test(
      error.message,
    );
  });
});

test("a footer may declare as many rows and bytes as the limits say, and not one more or less", () => {
  const head = (...groups: [rows: number, ccn: number, name: number, other: number][]) => ({
    file: {
      metadata: new Map(),
      groups: groups.map(([rows, ccn, name, other]) => ({
        rows,
        columns: Object.entries({ ccn, city: name, ignored: other }).map(([column, bytes]) => ({
          ...{ path: [column], bytes, isLzo: false },
        })),
      })),
      read: async () => assert.fail("nothing is read"),
    },
  });
  const most = (rows: number) => 2 ** 20 + 512 * rows;
  const accepted: Parameters<typeof head>[] = [
    [[1, 0, most(1), 2 ** 30]],
    [[50_000_000, 6_250_000, 0, 0]],
    [
      [9, 1, 0, 0],
      [1, 0, 0, 0],
    ],
  ];
  for (const groups of accepted)
    assert.deepEqual(
      rowGroups(head(...groups), "s"),
      groups.map(([rows, ccn, name]) => ({ rows, bytes: ccn + name, keyBytes: ccn })),
    );
  const negative =
    "s: footer: found a negative number of rows or bytes, expected the numbers of its row groups";
  const refused: [Parameters<typeof head>, string][] = [
    [[[1, 0, most(1) + 1, 0]], "s: decoded size: found 1049089 bytes, expected at most 1049088 for 1 rows"],
    [[[50_000_001, 2 ** 25, 0, 0]], "s: rows: found 50000001, expected at most 50000000"],
    [[[0, 0, 0, 0]], "s: rows: found none, expected at least one"],
    [
      [[10, 1, 0, 0]],
      "s: columns ccn and procedure_code: found 1 bytes for 10 rows, expected each pair in one row, which takes at least a bit per row",
    ],
    [
      [
        [2, 1, 0, 0],
        [-1, 1, 0, 0],
      ],
      negative,
    ],
    [
      [
        [2, 1, 0, 0],
        [1, -1, 0, 0],
      ],
      negative,
    ],
    [[[Number.NaN, 1, 0, 0]], negative],
  ];
  for (const [groups, message] of refused)
    assert.throws(() => rowGroups(head(...groups), "s"), { name: "DataError", message });
});

test("a file is read in steps of whole row groups, small ones together", () => {
  const groupsOf = (...rows: number[]) => rows.map((each) => ({ rows: each, bytes: 0, keyBytes: 0 }));
  assert.deepEqual(readsOf(groupsOf(131_072, 131_072, 1, 1_000_000, 60, 0, 12)), [
    { rowGroups: [0], rows: 131_072 },
    { rowGroups: [1], rows: 131_072 },
    { rowGroups: [2], rows: 1 },
    { rowGroups: [3], rows: 1_000_000 },
    { rowGroups: [4, 5, 6], rows: 72 },
  ]);
});

/** @returns whether the file is refused; otherwise it has exactly the content of `whole` */
async function refusedOrIntact(file: Uint8Array, whole: Snapshot, described: string): Promise<boolean> {
  try {
    const { sha256 } = await readBack(file, subject);
    assert.equal(sha256, whole.sha256, `${described}: other content`);
    return false;
  } catch (error) {
    if (error instanceof DataError) return true;
    throw error;
  }
}

test(`each of ${damagedFiles} damaged files is refused, unless nothing has changed`, async (t) => {
  const kinds = Object.keys(damages);
  const plain = (builder: Builder) =>
    builder
      .setCompression(parquet.Compression.UNCOMPRESSED)
      .setDictionaryEnabled(false)
      .setMaxRowGroupSize(100);
  const files = [sampleFile, reencoded(sampleFile, plain)];
  let refused = 0;
  for (let seed = 1; seed <= damagedFiles; seed++) {
    const kind = kinds[seed % kinds.length];
    const whole = files[seed % files.length];
    const damaged = damages[kind](whole, seededRandom(seed));
    const isRefused = await refusedOrIntact(damaged, sample, `seed ${seed}, ${kind}`);
    assert.equal(isRefused, !Buffer.from(whole).equals(damaged), `seed ${seed}, ${kind}`);
    if (isRefused) refused++;
  }
  t.diagnostic(`${refused} refused`);
});

test("damaged files of other tools are refused or read, and the decoder goes on", async () => {
  const whole = foreign(
    () => columnsOf(sample),
    (builder) => builder.setMaxRowGroupSize(100),
  );
  for (let seed = 1; seed <= damagedFiles; seed++)
    await decodeSnapshot(damages.flip(whole, seededRandom(seed)), subject).catch((error: unknown) =>
      assert.ok(error instanceof DataError, `seed ${seed}: ${error}`),
    );
  assert.equal((await readBack(whole, subject)).contentSha256, sample.contentSha256);
});
