import { encodeSnapshot } from "../../engine/index.ts";
import { changed, metadataOf, snapshotOf, testProvenance } from "./fixtures.ts";
import {
  type ChunkSpec,
  dictionaryPage,
  type FileSpec,
  fileOfSpec,
  isNumber,
  lengthOf,
  type PageSpec,
  page,
  run,
  specOf,
} from "./parquet-file.ts";

/** Makes small files that would cost a careless reader gigabytes. Each file has one of the `lies`. */

const huge = 2 ** 31 - 1;
/** A machine with 1 GiB could load so many rows if they existed. */
const manyRows = 500_000;

export function honestSpec(revision: number): FileSpec {
  const measures = { services: 41, beneficiaries: 40, payment: 4000, outlierServices: 0, outlierAmount: 0 };
  const snapshot = snapshotOf(
    [
      ["010001", "AL", "5071", 100, 50, undefined, measures],
      ["010001", "AL", "5072", 200.5, 60.25, undefined, measures],
      ["330001", "NY", "5072", 300, 70, undefined, measures],
    ],
    { ...testProvenance, revision },
  );
  const addresses = {
    street: ["1 Main St", "2 Main St"],
    zip: ["36301", "10001"],
    ruralUrbanCode: ["4.1", "1"],
    ruralUrbanDescription: ["Micropolitan area core", "Metropolitan area core"],
  };
  const full = changed(snapshot, ({ facilities }) => Object.assign(facilities, addresses));
  return specOf(full, metadataOf(encodeSnapshot(full)));
}

function column(spec: FileSpec, name: string): ChunkSpec {
  const chunk = spec.chunks.get(name);
  if (chunk === undefined) throw new Error(`no column ${name}`);
  return chunk;
}

function lastPage(spec: FileSpec, name: string): PageSpec {
  const { pages } = column(spec, name);
  return pages[pages.length - 1];
}

/** Zeros take four bytes for each 128 KiB. @param length a multiple of 128 KiB */
function bomb(length: number, windowLog: number): Uint8Array {
  const blockBytes = 2 ** 17;
  const blocks = length / blockBytes;
  const frame = Buffer.alloc(6 + 4 * blocks);
  frame.writeUInt32LE(0xfd2fb528);
  frame[5] = (windowLog - 10) << 3;
  // A block header has a flag for the last block, the block's type and its length. Type 1 repeats a byte.
  for (let i = 0; i < blocks; i++)
    frame.writeUInt32LE((i === blocks - 1 ? 1 : 0) | (1 << 1) | (blockBytes << 3), 6 + 4 * i);
  return frame;
}

function claimRows(spec: FileSpec, rows: number): void {
  spec.rows = rows;
  for (const key of ["rows", "priced_rows"]) spec.metadata.set(key, String(rows));
  for (const [name, chunk] of spec.chunks) {
    chunk.values = rows;
    const dictionary = isNumber(name) ? { ...page(lengthOf(1), 1, 0), dictionary: true } : chunk.pages[0];
    chunk.pages = [dictionary, page([8, ...run(rows, 0)], rows, 8)];
  }
}

const lies: Record<string, (spec: FileSpec) => void> = {
  "pages of 2 GiB by their headers": (spec) => {
    for (const { pages } of spec.chunks.values()) for (const each of pages) each.decodedLength = huge;
    for (const chunk of spec.chunks.values()) chunk.moreDecoded = -chunk.pages.length * huge;
  },
  "a page that decompresses to 2 GiB": (spec) => {
    lastPage(spec, "ccn").bytes = bomb(2 ** 31, 17);
  },
  "a page that decompresses to almost 2 GiB, as its header says": (spec) => {
    const last = lastPage(spec, "medicare_allowed_cents");
    last.decodedLength = 2 ** 31 - 2 ** 17;
    last.bytes = bomb(last.decodedLength, 17);
    column(spec, "medicare_allowed_cents").moreDecoded = -last.decodedLength;
  },
  "a page that wants a window of 128 MiB": (spec) => {
    for (const name of spec.chunks.keys()) lastPage(spec, name).bytes = bomb(2 ** 28, 27);
  },
  "a dictionary of two billion values": (spec) => {
    column(spec, "facility").pages[0].values = huge;
  },
  "an empty dictionary of two billion values": (spec) => {
    column(spec, "facility").pages[0] = { ...dictionaryPage([]), values: huge };
  },
  "a page of two billion values": (spec) => {
    lastPage(spec, "state").values = huge;
    lastPage(spec, "medicare_allowed_cents").values = huge;
  },
  "a text of 2 GiB": (spec) => {
    column(spec, "city").pages[0] = { ...page([...lengthOf(huge), 65], 1, 0), dictionary: true };
  },
  "a run of two billion values": (spec) => {
    const bytes = [8, ...run(huge, 0)];
    column(spec, "state").pages[1] = page(bytes, spec.rows, 8);
  },
  "a chunk of 2 GiB in the footer": (spec) => {
    column(spec, "state").moreDecoded = huge;
  },
  "22 million rows in a few bytes": (spec) => claimRows(spec, 22_000_000),
  "half a million equal rows in a few bytes": (spec) => claimRows(spec, manyRows),
  "half a million rows, and names that fill all that the footer may promise": (spec) => {
    claimRows(spec, manyRows);
    column(spec, "facility").pages[0] = { ...page(new Uint8Array(200 * 2 ** 20), 1, 0), dictionary: true };
  },
  "half a million rows, each with a name of its own": (spec) => {
    claimRows(spec, manyRows);
    const name = Buffer.alloc(404);
    name.writeUInt32LE(400);
    const names = Buffer.alloc(manyRows * name.length);
    for (let i = 0; i < manyRows; i++) {
      name.write(String(i).padEnd(400, "x"), 4);
      name.copy(names, i * name.length);
    }
    column(spec, "facility").pages = [page(names, manyRows, 0)];
  },
  "two billion procedures": (spec) => {
    spec.metadata.set("procedures", String(huge));
  },
};

/** Revisions are numbered from `revision` on. */
export function hostileFiles(
  dataYear: number,
  revision: number,
): { name: string; lie: string; bytes: Uint8Array }[] {
  return Object.entries(lies).map(([lie, tell], i) => {
    const spec = honestSpec(revision + i);
    spec.metadata.set("data_year", String(dataYear));
    tell(spec);
    return { name: `${dataYear}.${revision + i}.parquet`, lie, bytes: fileOfSpec(spec) };
  });
}
