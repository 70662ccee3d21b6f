import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  promises,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { createServer } from "node:net";
import { getPriority } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { setImmediate as immediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import pino from "pino";
import * as v from "valibot";
import { defaultSampleSeed, syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { attachImage, buildImage, decodeSnapshot, encodeSnapshot, versionName } from "../../engine/index.ts";
import type { LoadedSnapshot } from "../../server/shared/messages.ts";
import { Metrics } from "../../server/shared/metrics.ts";
import { listStates, openFile, type Wanted } from "../../server/snapshots/folder.ts";
import { Loader } from "../../server/snapshots/loader.ts";
import { SnapshotFolder, type Surroundings } from "../../server/snapshots/snapshots.ts";
import { Store } from "../../server/store/store.ts";
import { columnsOf, snapshotAs } from "../support/fixtures.ts";
import { fileOf as parquetOf } from "../support/parquet-file.ts";
import { seededRandom } from "../support/random.ts";
import { temporaryFolder, until } from "../support/server.ts";

/** Tests the folder of snapshots without a server: which files are loaded, refused, published and retired. */

const longAgo = new Date(Date.now() - 3_600_000);
const logLine = v.looseObject({
  msg: v.string(),
  file: v.optional(v.string()),
  reason: v.optional(v.string()),
  versions: v.optional(v.array(v.string())),
});

function fileOf(version: string, charge = 100): Buffer {
  return Buffer.from(encodeSnapshot(snapshotAs(version, [["010001", "AL", "5072", charge, 50]])));
}

/** A file as other tools write it. */
function uncheckedFileOf(version: string): Uint8Array {
  return parquetOf(columnsOf(snapshotAs(version, [["010001", "AL", "5072", 100, 50]])), new Map());
}

/** Sets another modification time than before. */
function touch(file: string): void {
  const { mtime } = statSync(file);
  utimesSync(file, mtime, new Date(mtime.getTime() + 1000));
}

/** Repeats a change until the system's clock, which has steps of milliseconds, gives it another time than before. */
function changeNow(file: string, change: () => void): void {
  const { ctimeMs } = statSync(file);
  do change();
  while (statSync(file).ctimeMs === ctimeMs);
}

/** Loads a snapshot in this thread, which is ten times as fast. `loader.test.ts` tests loads in loader threads. */
async function loadHere({ name, path }: Wanted): Promise<LoadedSnapshot> {
  const file = await openFile(path);
  try {
    const bytes = new Uint8Array(await file.handle.readFile());
    const { snapshot, isChecked, warnings } = await decodeSnapshot(bytes, name);
    return {
      image: buildImage(snapshot),
      file: { bytes, sha256: hash("sha256", bytes), isChecked },
      warnings,
    };
  } finally {
    await file.handle.close();
  }
}

/** A folder that the test scans, and the versions that are published from it. */
class Trial {
  readonly folder = temporaryFolder();
  readonly store: Store;
  readonly metrics = new Metrics();
  readonly lines: v.InferOutput<typeof logLine>[] = [];
  readonly published: string[][] = [];
  readonly snapshots: SnapshotFolder;
  onPublish = (_versions: string[]) => {};

  constructor(
    options: Partial<Pick<Surroundings, "fault" | "flush" | "load">> & {
      store?: Store;
      isServing?: boolean;
    } = {},
  ) {
    this.store = options.store ?? Store.inMemory();
    const log = pino(
      {},
      { write: (line: string) => void this.lines.push(v.parse(logLine, JSON.parse(line))) },
    );
    this.snapshots = new SnapshotFolder(this.folder, {
      log,
      metrics: this.metrics,
      registry: this.store,
      fault: options.fault ?? (() => undefined),
      flush: options.flush ?? (() => {}),
      load: options.load ?? loadHere,
      endLoads: async () => {},
      publish: async (published) => {
        const versions = published.map(({ image }) => versionName(attachImage(image).description.provenance));
        this.onPublish(versions);
        this.published.push(versions);
      },
    });
    if (options.isServing ?? true) this.snapshots.beginServing();
  }

  put(name: string, bytes: Uint8Array): void {
    const beside = path.join(this.folder, `.${name}.new`);
    writeFileSync(beside, bytes);
    utimesSync(beside, longAgo, longAgo);
    renameSync(beside, path.join(this.folder, name));
  }

  path(name: string): string {
    return path.join(this.folder, name);
  }

  get served(): string[] {
    return this.snapshots.images().map(({ description }) => versionName(description.provenance));
  }

  logged(message: string): (string | undefined)[][] {
    return this.lines.filter(({ msg }) => msg === message).map(({ file, reason }) => [file, reason]);
  }

  async metric(name: string): Promise<number | undefined> {
    const [value] = (await this.metrics.registry.getSingleMetric(name)?.get())?.values ?? [];
    return value?.value;
  }
}

const servedEver = (store: Store) =>
  store.versions
    .all()
    .map(({ version }) => version)
    .sort();

const refused = "snapshot refused";
const tried = "snapshot can't be read or served yet; retrying";
const lastGone = "the last data version is still served, though its file is gone";
const nameRefusal = (name: string) =>
  `name of a snapshot: found "${name}", expected <year>.<revision>.parquet with a year from 2016 to 2099 and a revision ` +
  "from 1 to 9999, without leading zeros, such as 2024.1.parquet";

test("other content under a served version number is refused, even after deletion or a restart", async () => {
  const trial = new Trial();
  trial.put("2024.1.parquet", fileOf("2024.1"));
  trial.put("2024.2.parquet", fileOf("2024.2"));
  await trial.snapshots.settle();
  trial.put("2024.1.parquet", fileOf("2024.1", 200));
  await trial.snapshots.settle();
  assert.match(
    trial.logged(refused)[0][1] ?? "",
    /^2024\.1\.parquet: checksum, while other content is loaded as version 2024\.1: found /,
  );
  assert.deepEqual(trial.served, ["2024.2", "2024.1"]);

  unlinkSync(trial.path("2024.1.parquet"));
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.2"]);
  trial.put("2024.1.parquet", fileOf("2024.1", 300));
  await trial.snapshots.settle();
  assert.match(
    trial.logged(refused)[1][1] ?? "",
    /^2024\.1\.parquet: checksum, while other content was served as version 2024\.1 from 20/,
  );
  assert.deepEqual(trial.served, ["2024.2"]);
  assert.equal(await trial.metric("hcqs_snapshots_refused_total"), 2);

  const next = new Trial({ store: trial.store });
  next.put("2024.1.parquet", fileOf("2024.1", 300));
  next.put("2024.2.parquet", fileOf("2024.2", 300));
  next.put("2024.3.parquet", fileOf("2024.3"));
  await next.snapshots.settle();
  assert.deepEqual(next.served, ["2024.3"]);
  assert.equal(next.logged(refused).length, 2);
  const others = next.lines.filter(({ file }) => file !== undefined && file !== "2024.3.parquet");
  assert.deepEqual(
    new Set(others.map(({ msg }) => msg)),
    new Set([refused]),
    "nothing else is logged of them",
  );

  const known = trial.store.versions.byName("2024.1");
  next.put("2024.1.parquet", fileOf("2024.1"));
  await next.snapshots.settle();
  assert.deepEqual(next.served, ["2024.3", "2024.1"]);
  assert.deepEqual(trial.store.versions.byName("2024.1"), known);
});

/** What a file's entry says of its version. */
const versionsOf = ({ snapshots }: Trial) =>
  snapshots
    .refused()
    .map(({ file, version, isServed, isLost }) => [file, version, isServed, isLost])
    .sort();
const lostNow = "data versions that were served before aren't served now, though their files are there";

test("for each refused file it is known whether its version is served, from memory, or was before", async () => {
  const trial = new Trial();
  const damaged = fileOf("2023.1").subarray(0, 500);
  for (const version of ["2022.1", "2023.1", "2024.1"]) trial.put(`${version}.parquet`, fileOf(version));
  await trial.snapshots.settle();
  trial.put("2023.1.parquet", damaged);
  trial.put("2025.1.parquet", damaged);
  trial.put("last.parquet", damaged);
  unlinkSync(trial.path("2022.1.parquet"));
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.1", "2023.1"]);
  assert.deepEqual(versionsOf(trial), [
    ["2023.1.parquet", "2023.1", true, false],
    ["2025.1.parquet", "2025.1", false, false],
    ["last.parquet", null, false, false],
  ]);
  assert.deepEqual([trial.snapshots.lost(), await trial.metric("hcqs_snapshots_lost")], [[], 0]);

  // A file that is there again, or that is removed and comes back damaged, is of a version that was served.
  trial.put("2022.1.parquet", damaged);
  await trial.snapshots.settle();
  assert.deepEqual(trial.snapshots.lost(), ["2022.1"]);
  unlinkSync(trial.path("2023.1.parquet"));
  await trial.snapshots.settle();
  assert.deepEqual([trial.served, trial.snapshots.lost()], [["2024.1"], ["2022.1"]], "that one was removed");
  trial.put("2023.1.parquet", fileOf("2023.1", 200));
  for (let i = 0; i < 2; i++) await trial.snapshots.settle();
  assert.deepEqual(trial.snapshots.lost().sort(), ["2022.1", "2023.1"]);
  assert.equal(await trial.metric("hcqs_snapshots_lost"), 2);
  assert.deepEqual(
    trial.lines.filter(({ msg }) => msg === lostNow).map(({ versions }) => versions),
    [["2022.1"], ["2023.1"]],
    "each is logged once",
  );
  for (const version of ["2022.1", "2023.1"]) trial.put(`${version}.parquet`, fileOf(version));
  await trial.snapshots.settle();
  assert.deepEqual([trial.snapshots.lost(), await trial.metric("hcqs_snapshots_lost")], [[], 0]);
  assert.deepEqual(trial.served, ["2024.1", "2023.1", "2022.1"]);
});

test("after a restart, a version whose file is damaged or can't be read is lost, and none whose file is gone", async () => {
  const before = new Trial();
  const versions = ["2021.1", "2022.1", "2023.1", "2024.1"];
  for (const version of versions) before.put(`${version}.parquet`, fileOf(version));
  await before.snapshots.settle();
  const next = new Trial({ store: before.store });
  next.put("2024.1.parquet", fileOf("2024.1"));
  next.put("2023.1.parquet", fileOf("2023.1").subarray(0, 500));
  symlinkSync("nowhere", next.path("2022.1.parquet"));
  await next.snapshots.settle();
  assert.deepEqual(next.served, ["2024.1"]);
  assert.deepEqual(versionsOf(next), [
    ["2022.1.parquet", "2022.1", false, true],
    ["2023.1.parquet", "2023.1", false, true],
  ]);
});

test("a synthetic version that real ones hide isn't lost", async () => {
  const { store } = new Trial();
  const synthetic = syntheticSnapshot({ dataYear: 2024, revision: 1, rows: 50, seed: defaultSampleSeed });
  for (const trial of [new Trial({ store }), new Trial({ store })]) {
    trial.put("2024.1.parquet", encodeSnapshot(synthetic));
    await trial.snapshots.settle();
    trial.put("2023.1.parquet", fileOf("2023.1"));
    for (let i = 0; i < 2; i++) await trial.snapshots.settle();
    assert.deepEqual([trial.served, trial.snapshots.lost()], [["2023.1"], []]);
  }
});

test("versions are registered only when serving begins, so a failed start leaves the registry unchanged", async () => {
  const store = Store.inMemory();
  store.versions.serve("2023.1", "a", "b", new Date(0));
  const trial = new Trial({ store, isServing: false });
  for (const version of ["2024.1", "2024.2"]) trial.put(`${version}.parquet`, fileOf(version));
  for (let i = 0; i < 2; i++) await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.2", "2024.1"]);
  assert.deepEqual(servedEver(store), ["2023.1"]);
  trial.snapshots.beginServing();
  assert.deepEqual(servedEver(store), ["2023.1", "2024.1", "2024.2"]);
});

test("a version that can't be registered isn't published, and is retried without another load", async (t) => {
  const store = Store.inMemory();
  let loads = 0;
  const serve = t.mock.method(store.versions, "serve", () => {
    throw new Error("disk full");
  });
  const load = (wanted: Wanted) => {
    loads++;
    return loadHere(wanted);
  };
  const trial = new Trial({ store, load });
  trial.put("2024.1.parquet", fileOf("2024.1"));
  for (let i = 0; i < 3; i++) await trial.snapshots.settle();
  assert.deepEqual(trial.published, []);
  assert.deepEqual(trial.logged(tried), [["2024.1.parquet", "disk full"]]);
  serve.mock.restore();
  await trial.snapshots.settle();
  assert.deepEqual(trial.published, [["2024.1"]]);
  assert.equal(loads, 1);
  assert.equal(await trial.metric("hcqs_snapshots_refused_total"), 0);
});

test("no version is published, refused or retired while the registry file is missing or replaced", async () => {
  const store = Store.inMemory();
  const world: { fault?: string } = {};
  let onLoad = () => {};
  const load = async (wanted: Wanted) => {
    const image = await loadHere(wanted);
    onLoad();
    return image;
  };
  const trial = new Trial({
    store,
    fault: () => world.fault,
    flush() {
      if (world.fault !== undefined) throw new Error(world.fault);
    },
    load,
  });
  for (const version of ["2023.1", "2024.1"]) trial.put(`${version}.parquet`, fileOf(version));
  await trial.snapshots.settle();
  const before = [...trial.published];

  world.fault = "state.sqlite was deleted";
  unlinkSync(trial.path("2023.1.parquet"));
  trial.put("2024.2.parquet", fileOf("2024.2"));
  trial.put("2024.3.parquet", Buffer.from("no snapshot"));
  for (let i = 0; i < 2; i++) await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.1", "2023.1"]);
  assert.deepEqual(trial.published, before);
  assert.deepEqual(servedEver(store), ["2023.1", "2024.1"]);
  assert.ok(trial.lines.every(({ reason }) => reason === undefined));

  delete world.fault;
  onLoad = () => {
    world.fault = "state.sqlite was replaced";
  };
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.1"], "a load that was under way");
  assert.deepEqual(trial.logged(tried), [["2024.2.parquet", "state.sqlite was replaced"]]);
  delete world.fault;
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.2", "2024.1"]);
  assert.equal(trial.logged(refused).length, 1);
  assert.deepEqual(servedEver(store), ["2023.1", "2024.1", "2024.2"]);
});

test("a start with known versions writes nothing to the registry, which may be on a full disk", async (t) => {
  const first = new Trial();
  first.put("2024.1.parquet", fileOf("2024.1"));
  await first.snapshots.settle();
  const flush = () => assert.fail("no room");
  const later = new Trial({ store: first.store, isServing: false, flush });
  later.put("2024.1.parquet", fileOf("2024.1"));
  await later.snapshots.settle();
  t.mock.method(first.store, "atomically", () => assert.fail("no room"));
  later.snapshots.beginServing();
  assert.deepEqual(later.served, ["2024.1"]);
});

test("a version is served only after the registry is flushed to disk", async () => {
  const store = Store.inMemory();
  let fault: string | undefined = "state.sqlite-wal was deleted";
  const entered: string[][] = [];
  const flush = () => {
    entered.push(servedEver(store));
    if (fault !== undefined) throw new Error(fault);
  };
  const trial = new Trial({ store, flush, isServing: false });
  trial.put("2024.1.parquet", fileOf("2024.1"));
  await trial.snapshots.settle();
  assert.throws(() => trial.snapshots.beginServing(), { message: fault });
  fault = undefined;
  trial.snapshots.beginServing();
  assert.deepEqual(entered, [["2024.1"]]);
  trial.onPublish = ([version]) => assert.deepEqual(entered.at(-1), ["2024.1", version]);
  fault = "state.sqlite-wal was deleted";
  trial.put("2024.2.parquet", fileOf("2024.2"));
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.1"]);
  fault = undefined;
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.2", "2024.1"]);
});

test("files that aren't regular are refused unopened, and valid snapshots beside them are served", async (t) => {
  const trial = new Trial();
  // The clock is a minute ahead, so that no new file counts as a file that is still being written.
  t.mock.timers.enable({ apis: ["Date"], now: Date.now() + 60_000 });
  execFileSync("mkfifo", [trial.path("2020.1.parquet")]);
  mkdirSync(trial.path("2020.2.parquet"));
  symlinkSync("/dev/zero", trial.path("2020.3.parquet"));
  const socket = createServer().listen(trial.path("2020.4.parquet"));
  after(() => socket.close());
  await once(socket, "listening");
  for (const [name, bytes] of [
    ["2020.5.parquet", 2 ** 16],
    ["2020.6.parquet", 2 ** 31],
  ] as const) {
    trial.put(name, Buffer.from("PAR1"));
    truncateSync(trial.path(name), bytes);
    utimesSync(trial.path(name), longAgo, longAgo);
  }
  symlinkSync("2020.7.parquet", trial.path("2020.7.parquet"));
  symlinkSync("nowhere", trial.path("2020.8.parquet"));
  symlinkSync("2020.5.parquet/x", trial.path("2020.9.parquet"));
  writeFileSync(trial.path("elsewhere"), fileOf("2024.2"));
  symlinkSync("elsewhere", trial.path("2024.2.parquet"));
  trial.put("2024.1.parquet", fileOf("2024.1"));
  for (let i = 0; i < 3; i++) await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.2", "2024.1"]);
  assert.deepEqual(Object.fromEntries(trial.logged(refused)), {
    "2020.1.parquet": "2020.1.parquet: found a FIFO, expected a regular file",
    "2020.2.parquet": "2020.2.parquet: found a folder, expected a regular file",
    "2020.3.parquet": "2020.3.parquet: found a device, expected a regular file",
    "2020.4.parquet": "2020.4.parquet: found a socket, expected a regular file",
    "2020.5.parquet": "2020.5.parquet: found a file that is cut off or damaged, expected PAR1 at its end",
    "2020.6.parquet": `2020.6.parquet: size: found ${2 ** 31} bytes, expected at most ${2 ** 31 - 1}`,
  });
  const codes = trial.logged(tried).map(([file, reason]) => [file, reason?.split(":")[0]]);
  assert.deepEqual(Object.fromEntries(codes), {
    "2020.7.parquet": "ELOOP",
    "2020.8.parquet": "ENOENT",
    "2020.9.parquet": "ENOTDIR",
  });
  assert.equal(codes.length, 3, "each is logged once");
  assert.equal(await trial.metric("hcqs_snapshots_unreadable"), 3);

  trial.put("2020.7.parquet", fileOf("2020.7"));
  await trial.snapshots.settle();
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.2", "2024.1", "2020.7"]);
  assert.equal(await trial.metric("hcqs_snapshots_unreadable"), 2);
});

test("an unchanged file that can't be served isn't opened again, however often the folder is looked at", async (t) => {
  const trial = new Trial();
  trial.put("2024.1.parquet", fileOf("2024.1"));
  trial.put("2024.2.parquet", fileOf("2024.2"));
  trial.put("2023.1.parquet", Buffer.from("damaged"));
  trial.put("odd.parquet", fileOf("2024.3"));
  mkdirSync(trial.path("2022.1.parquet"));
  let isDenied = true;
  const opened: string[] = [];
  const { open } = promises;
  t.mock.method(promises, "open", async (file: string, flags: number) => {
    opened.push(path.basename(file));
    if (isDenied && file.endsWith("2024.2.parquet"))
      throw Object.assign(new Error("EACCES: permission denied"), { code: "EACCES", syscall: "open" });
    return open(file, flags);
  });
  syncBuiltinESMExports();
  t.after(syncBuiltinESMExports);
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.1"]);
  opened.length = 0;
  for (let i = 0; i < 100; i++) await trial.snapshots.scan();
  assert.deepEqual(opened, []);
  assert.equal(await trial.metric("hcqs_snapshots_unreadable"), 1);
  for (let i = 0; i < 100; i++) await trial.snapshots.scan();
  assert.deepEqual(opened, ["2024.2.parquet"], "in case the reason was elsewhere");
  isDenied = false;
  chmodSync(trial.path("2024.2.parquet"), 0o600);
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.2", "2024.1"], "at once after a change of its permissions");
});

test("a snapshot is refused if its name isn't a version or differs from its metadata", async () => {
  const trial = new Trial();
  for (const name of [
    "copy.parquet",
    "2024.parquet",
    "2024.01.parquet",
    "2024.1.old.parquet",
    "24.1.parquet",
    "2015.1.parquet",
    "2040.10000.parquet",
    "2100.1.parquet",
  ])
    trial.put(name, fileOf("2024.1"));
  trial.put("2025.3.parquet", fileOf("2025.4"));
  trial.put("2024.1.parquet", fileOf("2024.1"));
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.1"]);
  const reasons = trial.logged(refused).map(([, reason]) => reason);
  assert.deepEqual(reasons.toSorted(), [
    "2025.3.parquet: metadata revision: found 4, expected 3, as in the file's name",
    ...[
      "2015.1.parquet",
      "2024.01.parquet",
      "2024.1.old.parquet",
      "2024.parquet",
      "2040.10000.parquet",
      "2100.1.parquet",
      "24.1.parquet",
      "copy.parquet",
    ].map(nameRefusal),
  ]);
});

test("while the folder can't be listed, scans fail and served versions stay", async () => {
  const trial = new Trial();
  trial.put("2024.1.parquet", fileOf("2024.1"));
  await trial.snapshots.settle();
  const elsewhere = `${trial.folder}-elsewhere`;
  renameSync(trial.folder, elsewhere);
  for (let i = 0; i < 3; i++) await assert.rejects(trial.snapshots.scan(), { code: "ENOENT" });
  assert.deepEqual(trial.served, ["2024.1"]);
  renameSync(elsewhere, trial.folder);
  await trial.snapshots.scan();
  assert.deepEqual(trial.served, ["2024.1"]);
});

test("a version whose file can't be examined stays served, and isn't loaded again afterwards", async () => {
  let loads = 0;
  const load = (wanted: Wanted) => {
    loads++;
    return loadHere(wanted);
  };
  const trial = new Trial({ load });
  const link = trial.path("2023.1.parquet");
  writeFileSync(trial.path("target"), fileOf("2023.1"));
  symlinkSync("target", link);
  trial.put("2024.1.parquet", fileOf("2024.1"));
  await trial.snapshots.settle();
  for (let turn = 0; turn < 2; turn++) {
    unlinkSync(link);
    symlinkSync("2023.1.parquet", link);
    for (let i = 0; i < 2; i++) await trial.snapshots.settle();
    assert.deepEqual(trial.served, ["2024.1", "2023.1"]);
    assert.equal(await trial.metric("hcqs_snapshots_unreadable"), 1);
    assert.equal(trial.logged(tried).length, turn + 1);
    unlinkSync(link);
    symlinkSync("target", link);
    await trial.snapshots.scan();
    assert.equal(await trial.metric("hcqs_snapshots_unreadable"), 0);
    assert.deepEqual(trial.snapshots.refused(), []);
  }
  assert.equal(loads, 2);
});

test("files whose links lead nowhere for a moment are served or refused as before", async () => {
  const trial = new Trial();
  const elsewhere = temporaryFolder();
  const volume = path.join(elsewhere, "volume");
  mkdirSync(volume);
  for (const [name, bytes] of [
    ["2022.1.parquet", fileOf("2022.1")],
    ["2023.1.parquet", fileOf("2023.1")],
    ["2024.1.parquet", Buffer.from("no snapshot")],
  ] as const) {
    writeFileSync(path.join(volume, name), bytes);
    symlinkSync(path.join(volume, name), trial.path(name));
  }
  trial.put("2021.1.parquet", fileOf("2021.1"));
  for (let turn = 0; turn < 2; turn++) {
    for (let i = 0; i < 2; i++) await trial.snapshots.settle();
    assert.deepEqual(trial.served, ["2023.1", "2022.1", "2021.1"]);
    assert.equal(await trial.metric("hcqs_snapshots_unreadable"), 0);
    assert.equal(await trial.metric("hcqs_snapshots_refused_total"), 1);
    assert.deepEqual(
      trial.snapshots.refused().map(({ file, at }) => [file, at === null]),
      [["2024.1.parquet", false]],
    );
    renameSync(volume, `${volume}-away`);
    for (let i = 0; i < 2; i++) await trial.snapshots.settle();
    assert.deepEqual(trial.served, ["2021.1"]);
    assert.equal(await trial.metric("hcqs_snapshots_unreadable"), 3);
    assert.ok(trial.snapshots.refused().every(({ at }) => at === null));
    assert.equal(trial.logged(tried).length, 3 * (turn + 1));
    renameSync(`${volume}-away`, volume);
  }
});

const second = "2024.2.parquet";

/** A load of `second` that makes a change before or after it reads, once. */
function changedOnce(change: () => void, isBefore: boolean): Surroundings["load"] {
  let isFirst = true;
  return async (wanted) => {
    const isChanged = isFirst && wanted.name === second;
    if (isChanged) isFirst = false;
    if (isChanged && isBefore) change();
    const result = await loadHere(wanted);
    if (isChanged && !isBefore) change();
    return result;
  };
}

test("a file that is deleted, replaced or modified while it loads isn't served, and its number stays free", async () => {
  const [checked, unchecked] = [fileOf("2024.2", 200), uncheckedFileOf("2024.2")];
  const changes: [kind: string, before: Uint8Array, change: (trial: Trial) => void, after?: Uint8Array][] = [
    ["deleted", checked, (trial) => unlinkSync(trial.path(second))],
    ["replaced", checked, (trial) => trial.put(second, checked), checked],
    ["written with another size", unchecked, (trial) => writeFileSync(trial.path(second), checked), checked],
    ["of another tool, touched", unchecked, (trial) => touch(trial.path(second)), unchecked],
    [
      "a folder",
      checked,
      (trial) => {
        unlinkSync(trial.path(second));
        mkdirSync(trial.path(second));
      },
    ],
  ];
  for (const [kind, bytes, change, after] of changes)
    for (const isBefore of [true, false]) {
      const trial: Trial = new Trial({ load: changedOnce(() => change(trial), isBefore) });
      trial.put("2024.1.parquet", fileOf("2024.1"));
      trial.put(second, bytes);
      await trial.snapshots.settle();
      assert.deepEqual([kind, trial.served, trial.snapshots.hasDropped], [kind, ["2024.1"], true]);
      assert.deepEqual(servedEver(trial.store), ["2024.1"]);
      await trial.snapshots.settle();
      assert.deepEqual(trial.served, after === undefined ? ["2024.1"] : ["2024.2", "2024.1"]);
      assert.equal(trial.snapshots.hasDropped, false);
      assert.equal(trial.logged(refused).length, kind === "a folder" ? 1 : 0);
      assert.deepEqual(trial.logged(tried), []);
      if (after === undefined) continue;
      const known = trial.store.versions.byName("2024.2");
      assert.equal(known?.sha256, (await decodeSnapshot(after, second)).snapshot.sha256);
    }
});

test("a load counts, though the file's permissions or links change meanwhile, or its times if it has a checksum", async () => {
  const [checked, unchecked] = [fileOf("2024.2"), uncheckedFileOf("2024.2")];
  const allow = (file: string) => chmodSync(file, 0o640);
  const link = (file: string) => linkSync(file, `${file}.copy`);
  const cases: [bytes: Uint8Array, change: (file: string) => void][] = [
    [checked, allow],
    [checked, link],
    [checked, touch],
    [checked, (file) => writeFileSync(file, checked)],
    [unchecked, allow],
    [unchecked, link],
  ];
  for (const [bytes, change] of cases)
    for (const isBefore of [true, false]) {
      const trial: Trial = new Trial({ load: changedOnce(() => change(trial.path(second)), isBefore) });
      // Synthetic rows are never served in place of real ones that are there.
      trial.put("2025.1.parquet", sampleOf("2025.1"));
      trial.put(second, bytes);
      await trial.snapshots.settle();
      assert.deepEqual([trial.served, trial.snapshots.hasDropped], [["2024.2"], false]);
    }
});

test("a file that changes during each load is reported once, and served when it stays as it is", async () => {
  let left = 4;
  const load = async (wanted: Wanted) => {
    const half = fileOf("2024.1").subarray(0, 2000);
    if (left-- > 0) writeFileSync(wanted.path, left % 2 === 0 ? fileOf("2024.1") : half);
    return loadHere(wanted);
  };
  const trial = new Trial({ load });
  trial.put("2024.1.parquet", fileOf("2024.1"));
  await trial.snapshots.settle();
  assert.deepEqual(trial.lines, []);
  for (let i = 0; i < 3; i++) await trial.snapshots.settle();
  assert.deepEqual(trial.logged(tried), [["2024.1.parquet", "it changes while it is loaded"]]);
  assert.equal(await trial.metric("hcqs_snapshots_unreadable"), 1);
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.1"]);
  assert.equal(await trial.metric("hcqs_snapshots_unreadable"), 0);
  assert.equal(trial.logged(refused).length, 0);
});

test("files that have to be loaded again and again take turns, and hold up no other file", async () => {
  const fail = async () => {
    throw new Error("thread can't start");
  };
  const kinds: [kind: string, makes: (version: string) => Uint8Array, load: typeof loadHere][] = [
    ["dropped", uncheckedFileOf, loadHere],
    ["loaded and touched", fileOf, loadHere],
    ["refused and touched", () => Buffer.from("damaged"), loadHere],
    ["not loaded by the system", fileOf, fail],
  ];
  for (const [kind, makes, loadIt] of kinds) {
    const asked: string[] = [];
    const load = async (wanted: Wanted) => {
      asked.push(wanted.name.replace(".parquet", ""));
      if (asked.length === 1)
        for (const version of ["2022.1", "2023.1"]) trial.put(`${version}.parquet`, fileOf(version));
      const isRestless = wanted.name.startsWith("2024") && asked.length < 8;
      try {
        return await (isRestless ? loadIt : loadHere)(wanted);
      } finally {
        if (isRestless) touch(wanted.path);
        // A server scans while it loads.
        await trial.snapshots.scan();
      }
    };
    const trial: Trial = new Trial({ load });
    for (const version of ["2024.1", "2024.2"]) trial.put(`${version}.parquet`, makes(version));
    for (let i = 0; i < 8; i++) await trial.snapshots.settle();
    const turns = ["2024.2", "2024.1", "2023.1", "2022.1", "2024.2", "2024.1", "2024.2", "2024.1"];
    assert.deepEqual([kind, asked.slice(0, turns.length)], [kind, turns]);
  }
});

test("a refused file that is repaired in place is served, even with its old size and modification time", async () => {
  const good = fileOf("2024.1");
  for (const bad of [Buffer.from(good).fill(0xff, 40, 80), fileOf("2024.1", 101)]) {
    assert.equal(bad.length, good.length);
    const before = new Trial();
    before.put("2024.1.parquet", good);
    await before.snapshots.settle();
    const trial = new Trial({ store: before.store });
    trial.put("2024.1.parquet", bad);
    const file = trial.path("2024.1.parquet");
    for (let i = 0; i < 2; i++) await trial.snapshots.settle();
    assert.deepEqual([trial.served, trial.logged(refused).length], [[], 1]);
    changeNow(file, () => chmodSync(file, 0o640));
    for (let i = 0; i < 2; i++) await trial.snapshots.settle();
    assert.equal(trial.logged(refused).length, 2, "tried again after any change");
    changeNow(file, () => {
      writeFileSync(file, good);
      utimesSync(file, longAgo, longAgo);
    });
    await trial.snapshots.settle();
    assert.deepEqual([trial.served, trial.snapshots.refused()], [["2024.1"], []]);
  }
});

test("a load is retried at each scan after a system error, but not after damaged content", async () => {
  let left = 3;
  let loads = 0;
  const load = async (wanted: Wanted) => {
    loads++;
    if (wanted.name === "2024.1.parquet" && left-- > 0)
      throw Object.assign(new Error("thread can't start"), { code: "ERR_WORKER_INIT_FAILED" });
    return loadHere(wanted);
  };
  const trial = new Trial({ load });
  trial.put("2024.1.parquet", fileOf("2024.1"));
  // This file has a valid footer and damaged pages.
  trial.put("2024.2.parquet", fileOf("2024.2").fill(0xff, 40, 80));
  for (let i = 0; i < 5; i++) await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.1"]);
  assert.deepEqual(trial.logged(tried), [["2024.1.parquet", "thread can't start"]]);
  assert.deepEqual(
    trial.logged(refused).map(([file]) => file),
    ["2024.2.parquet"],
  );
  assert.equal(loads, 4 + 1);
});

test("a load that takes long doesn't hold up retirements", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const load = async (wanted: Wanted) => {
    if (wanted.name === "2025.1.parquet") await promise;
    return loadHere(wanted);
  };
  const trial = new Trial({ load });
  for (const version of ["2023.1", "2024.1"]) trial.put(`${version}.parquet`, fileOf(version));
  await trial.snapshots.settle();
  trial.put("2025.1.parquet", fileOf("2025.1"));
  await trial.snapshots.scan();
  trial.put("2024.2.parquet", fileOf("2024.2"));
  unlinkSync(trial.path("2023.1.parquet"));
  await trial.snapshots.scan();
  assert.deepEqual(trial.served, ["2024.1"]);
  resolve();
  await until("the good file to be published", () => trial.served.includes("2024.2"));
});

test("50 junk files are refused, and a good one beside them is served", async () => {
  const trial = new Trial();
  const whole = fileOf("2024.1");
  const random = seededRandom(1);
  for (let i = 0; i < 50; i++) {
    const junk = [
      () => Buffer.alloc(5000, i),
      () => whole.subarray(0, 20 + random.int(whole.length - 30)),
      () =>
        Buffer.concat([
          Buffer.from("PAR1"),
          Buffer.alloc(3000, i),
          Buffer.from([0, 8, 0, 0]),
          Buffer.from("PAR1"),
        ]),
      // This file's footer has half the maximum size and consists of structures.
      () =>
        Buffer.concat([
          Buffer.from("PAR1"),
          Buffer.alloc(2 ** 18, 0x1c),
          Buffer.from([0, 0, 4, 0]),
          Buffer.from("PAR1"),
        ]),
    ][i % 4];
    trial.put(`2020.${i + 1}.parquet`, junk());
  }
  trial.put("2024.1.parquet", whole);
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.1"]);
  assert.equal(trial.logged(refused).length, 50);
  assert.equal(await trial.metric("hcqs_snapshots_refused_total"), 50);
});

test("a file that is written in place is refused until it is complete, and served then", async () => {
  const trial = new Trial();
  const whole = fileOf("2024.3");
  writeFileSync(trial.path("2024.3.parquet"), whole.subarray(0, whole.length >> 1));
  for (let i = 0; i < 2; i++) await trial.snapshots.settle();
  assert.deepEqual([trial.served, trial.logged(refused).length], [[], 1]);
  writeFileSync(trial.path("2024.3.parquet"), whole.subarray(whole.length >> 1), { flag: "a" });
  await trial.snapshots.settle();
  assert.deepEqual([trial.served, trial.snapshots.refused()], [["2024.3"], []]);
});

test("the newest version is loaded first, and one file at a time, whatever comes meanwhile", async () => {
  const asked: string[] = [];
  let underWay = 0;
  const load = async (wanted: Wanted) => {
    assert.equal(++underWay, 1);
    asked.push(wanted.name);
    await immediate();
    if (wanted.name === "2023.10.parquet") {
      trial.put("2024.1.parquet", fileOf("2024.1"));
      await trial.snapshots.scan();
    }
    underWay--;
    return loadHere(wanted);
  };
  const trial = new Trial({ load });
  for (const version of ["2022.7", "2023.9", "2023.10", "2020.1"])
    trial.put(`${version}.parquet`, fileOf(version));
  await trial.snapshots.settle();
  assert.deepEqual(
    asked.map((name) => name.replace(".parquet", "")),
    ["2023.10", "2024.1", "2023.9", "2022.7", "2020.1"],
  );
});

test("versions of the registry are loaded first, the newest first, and a start can load these alone", async () => {
  const store = Store.inMemory();
  for (const version of ["2022.7", "2023.9", "2019.1"]) store.versions.serve(version, "a", "b", new Date(0));
  const asked: string[] = [];
  const load = (wanted: Wanted) => {
    asked.push(wanted.name);
    return loadHere(wanted);
  };
  const trial = new Trial({ store, load });
  for (const name of ["2022.7", "2023.9", "2024.1", "2020.1"])
    trial.put(`${name}.parquet`, Buffer.from("no snapshot"));
  await trial.snapshots.settle(new Set(["2022.7.parquet"]));
  assert.deepEqual(asked, ["2022.7.parquet"]);
  await trial.snapshots.settle();
  assert.deepEqual(asked.slice(1), ["2023.9.parquet", "2024.1.parquet", "2020.1.parquet"]);
});

test("the memory of a retired version is freed soon", async () => {
  const trial = new Trial();
  for (const version of ["2023.1", "2024.1"]) trial.put(`${version}.parquet`, fileOf(version));
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.1", "2023.1"]);
  let isFreed = false;
  const registry = new FinalizationRegistry(() => {
    isFreed = true;
  });
  // In a function of its own, because a suspended function would hold the image.
  (() => registry.register(trial.snapshots.images()[1].facility.buffer, undefined))();
  unlinkSync(trial.path("2023.1.parquet"));
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.1"]);
  await until("the image to be freed", () => isFreed);
});

test("a closed folder publishes nothing, not even a load in progress, and leaves the registry unchanged", async () => {
  const trial = new Trial();
  trial.put("2024.1.parquet", fileOf("2024.1"));
  await trial.snapshots.settle();
  trial.put("2024.2.parquet", fileOf("2024.2"));
  await trial.snapshots.scan();
  trial.snapshots.close();
  trial.put("2024.3.parquet", fileOf("2024.3"));
  unlinkSync(trial.path("2024.1.parquet"));
  await trial.snapshots.settle();
  assert.deepEqual([trial.served, trial.published], [["2024.1"], [["2024.1"]]]);
  assert.deepEqual(servedEver(trial.store), ["2024.1"]);
});

/** Returns how many threads of this process have a lower priority than this one. */
function threadsBehind(): number {
  const nice = readdirSync("/proc/self/task").map((thread) => {
    // The program's name may contain spaces and parentheses, so fields are split after the last ")".
    const fields = readFileSync(`/proc/self/task/${thread}/stat`, "utf8").split(") ").at(-1)?.split(" ");
    return Number(fields?.[16]);
  });
  return nice.filter((value) => value > getPriority()).length;
}

test("a load has a lower priority only while requests are answered, and no other thread has", async () => {
  for (const isServing of [false, true]) {
    const loader = new Loader();
    const trial = new Trial({ isServing, load: (wanted) => loader.load(wanted) });
    trial.put("2024.1.parquet", fileOf("2024.1"));
    await trial.snapshots.settle();
    assert.equal(trial.snapshots.images().length, 1);
    assert.equal(threadsBehind(), isServing ? 1 : 0);
    await loader.end();
  }
});

test("a load that takes too long is aborted and its file refused", async () => {
  const loader = new Loader({ maxMs: 1 });
  const trial = new Trial({ load: (wanted) => loader.load(wanted) });
  trial.put("2024.1.parquet", fileOf("2024.1"));
  for (let i = 0; i < 2; i++) await trial.snapshots.settle();
  assert.deepEqual(trial.served, []);
  assert.deepEqual(trial.logged(refused), [
    [
      "2024.1.parquet",
      "2024.1.parquet: found no end of its load within 1 ms, expected a snapshot that can be loaded",
    ],
  ]);
});

test("one loader thread refuses wrong files with their reason, and loads a sound file after each", async () => {
  const loader = new Loader({ maxBytes: 100 * 2 ** 20 });
  const folder = temporaryFolder();
  const load = async (bytes: Uint8Array) => {
    const [name, rows]: [string, number[]] = ["2024.1.parquet", []];
    const file = path.join(folder, name);
    writeFileSync(file, bytes);
    const wanted = {
      name,
      path: file,
      onRows: (count: number) => void rows.push(count),
      isBackground: false,
    };
    const loaded = await loader.load(wanted);
    assert.deepEqual(rows, [1], "rows are reported");
    return loaded;
  };
  const sound = fileOf("2024.1");
  const unpriced = encodeSnapshot(snapshotAs("2024.1", [["010001", "AL", "5072", null, null]]));
  const refusals: [Uint8Array, RegExp][] = [
    [Buffer.from("no snapshot"), /^2024\.1\.parquet: found .*, expected /],
    [unpriced, /^2024\.1\.parquet: found no priced row, expected at least one$/],
    [
      new Uint8Array(61 * 2 ** 20),
      /^2024\.1\.parquet: size: found 63963136 bytes, expected at most 62914560 for a load on this machine$/,
    ],
  ];
  let threads = 0;
  const count = () => void threads++;
  process.on("worker", count);
  for (const [bytes, message] of refusals) {
    await assert.rejects(load(bytes), { name: "DataError", message });
    const { image, file, warnings } = await load(sound);
    assert.equal(attachImage(image).description.counts.rows, 1);
    assert.deepEqual(
      [Buffer.from(file.bytes), file.sha256, file.isChecked, warnings],
      [sound, hash("sha256", sound), true, []],
    );
  }
  assert.equal(threads, 1);
  process.off("worker", count);
  await loader.end();
});

test("a load is logged with its counts and warnings, and a long one with its progress every 2 s", async (t) => {
  let nowMs = 1000;
  t.mock.method(performance, "now", () => nowMs);
  const trial = new Trial({
    load: async (wanted) => {
      for (const [passedMs, rows] of [
        [1999, 10],
        [1, 20],
        [1999, 30],
        [1, 40],
      ]) {
        nowMs += passedMs;
        wanted.onRows(rows);
      }
      return loadHere(wanted);
    },
  });
  trial.put("2024.1.parquet", uncheckedFileOf("2024.1"));
  await trial.snapshots.settle();
  const file = "2024.1.parquet";
  const lines = trial.lines.map(({ level, time, pid, hostname, ...line }) => line);
  const [loaded, warned, published] = lines.slice(2);
  assert.deepEqual(lines.slice(0, 2), [
    { file, rows: 20, msg: "loading snapshot" },
    { file, rows: 40, msg: "loading snapshot" },
  ]);
  const { rows, pricedRows, facilities, ms } = loaded;
  assert.deepEqual(
    [loaded.msg, loaded.file, ms, rows, pricedRows, facilities],
    ["snapshot loaded", file, 4000, 1, 1, 1],
  );
  const { warning, ...rest } = warned;
  assert.deepEqual(rest, { file, msg: "snapshot with a warning" });
  assert.equal(warning, "the file has no file_sha256, so damage to it can't be seen");
  assert.deepEqual(published, { version: "2024.1", current: "2024.1", msg: "data version published" });
  assert.equal(lines.length, 5);
});

test("memory that runs out in a loader thread refuses the file, and another error of the thread doesn't", async (t) => {
  const file = path.join(temporaryFolder(), "2024.1.parquet");
  writeFileSync(file, fileOf("2024.1"));
  const wanted: Wanted = { name: "2024.1.parquet", path: file, onRows: () => {}, isBackground: false };
  let error: Error = Object.assign(new Error("heap"), { code: "ERR_WORKER_OUT_OF_MEMORY" });
  t.mock.method(Worker.prototype, "postMessage", function (this: Worker) {
    this.emit("error", error);
  });
  const loader = new Loader();
  await assert.rejects(loader.load(wanted), {
    name: "DataError",
    message:
      "2024.1.parquet: memory needed for the load: found more than the loader's heap, expected a snapshot that fits",
  });
  error = new Error("another");
  await assert.rejects(loader.load(wanted), error);
});

function sampleOf(version: string, seed = defaultSampleSeed): Buffer {
  const [dataYear, revision] = version.split(".").map(Number);
  return Buffer.from(encodeSnapshot(syntheticSnapshot({ dataYear, revision, rows: 300, seed })));
}

const hiddenIn = (trial: Trial) =>
  trial.lines.flatMap(({ msg, versions }) =>
    msg.startsWith("synthetic data versions aren't served") ? [versions] : [],
  );

test("a version is compared with the previous revision while both are served", async () => {
  const trial = new Trial();
  const previous = () => trial.snapshots.published().map(({ previous }) => previous);
  const changes = { rows_added: 0, rows_removed: 0, rows_changed: 1 };
  trial.put("2023.2.parquet", fileOf("2023.2"));
  trial.put("2024.2.parquet", fileOf("2024.2", 200));
  await trial.snapshots.settle();
  assert.deepEqual(previous(), [null, null]);
  trial.put("2024.1.parquet", fileOf("2024.1"));
  trial.put("2024.3.parquet", fileOf("2024.3", 200));
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.3", "2024.2", "2024.1", "2023.2"]);
  const [last, second, ...others] = previous();
  assert.deepEqual(last, { data_version: "2024.2", ...changes, rows_changed: 0 });
  assert.deepEqual(second, { data_version: "2024.1", ...changes });
  assert.deepEqual(others, [null, null]);
  assert.equal(previous()[1], second, "compared once");
  unlinkSync(trial.path("2024.1.parquet"));
  await trial.snapshots.settle();
  assert.deepEqual(previous(), [last, null, null]);
});

test("a real version immediately hides all synthetic ones, even of newer years, and logs it once", async () => {
  const trial = new Trial();
  trial.put("2023.1.parquet", sampleOf("2023.1"));
  trial.put("2024.1.parquet", sampleOf("2024.1"));
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.1", "2023.1"]);
  assert.deepEqual(hiddenIn(trial), []);
  trial.put("2023.2.parquet", fileOf("2023.2"));
  await trial.snapshots.settle();
  await trial.snapshots.settle();
  assert.deepEqual(trial.published.at(-1), ["2023.2"]);
  assert.ok(!trial.published.some((versions) => versions.includes("2023.2") && versions.length > 1));
  assert.deepEqual(hiddenIn(trial), [["2023.1", "2024.1"]]);

  trial.put("2024.2.parquet", sampleOf("2024.2"));
  await trial.snapshots.settle();
  const publications = trial.published.length;
  await trial.snapshots.settle();
  assert.equal(trial.published.length, publications, "nothing is published where nothing changes");
  assert.deepEqual(trial.served, ["2023.2"]);
  assert.deepEqual(hiddenIn(trial).slice(1), [["2024.2"]]);
  assert.equal(trial.store.versions.byName("2024.2"), undefined);
});

test("a hidden synthetic version is served after a real file replaces its file", async () => {
  const trial = new Trial();
  trial.put("2023.2.parquet", fileOf("2023.2"));
  await trial.snapshots.settle();
  trial.put("2023.1.parquet", sampleOf("2023.1"));
  await trial.snapshots.settle();
  trial.put("2023.1.parquet", fileOf("2023.1"));
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2023.2", "2023.1"]);
});

test("a start with a real version serves no synthetic ones, not even those served before", async () => {
  const before = new Trial();
  before.put("2024.1.parquet", sampleOf("2024.1"));
  await before.snapshots.settle();
  const trial = new Trial({ store: before.store, isServing: false });
  trial.put("2024.1.parquet", sampleOf("2024.1"));
  trial.put("2022.1.parquet", fileOf("2022.1"));
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2022.1"]);
  trial.snapshots.beginServing();
  assert.deepEqual(hiddenIn(trial), [["2024.1"]]);
  assert.deepEqual(trial.published, [], "nothing is published before the server answers");
});

test("a hidden version returns when the last real one is deleted, but never with other content", async () => {
  const trial = new Trial();
  trial.put("2024.1.parquet", sampleOf("2024.1"));
  trial.put("2023.1.parquet", sampleOf("2023.1"));
  await trial.snapshots.settle();
  trial.put("2022.1.parquet", fileOf("2022.1"));
  trial.put("2021.1.parquet", fileOf("2021.1"));
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2022.1", "2021.1"]);
  trial.put("2023.1.parquet", sampleOf("2023.1", 7));
  await trial.snapshots.settle();
  assert.match(
    trial.logged(refused)[0][1] ?? "",
    /^2023\.1\.parquet: checksum, while other content is loaded as version 2023\.1: found /,
  );

  unlinkSync(trial.path("2021.1.parquet"));
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2022.1"]);
  unlinkSync(trial.path("2022.1.parquet"));
  const publications = trial.published.length;
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.1", "2023.1"]);
  await trial.snapshots.settle();
  assert.deepEqual(trial.published.slice(publications), [["2024.1", "2023.1"]]);
  assert.deepEqual(trial.logged(lastGone), []);
  assert.equal(trial.logged(refused).length, 1);

  trial.put("2022.1.parquet", fileOf("2022.1"));
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2022.1"]);
});

test("a new version replaces one that is still served without its file in one swap, of either kind", async () => {
  for (const [version, make] of [
    ["2024.1", sampleOf],
    ["2024.1", fileOf],
    ["2022.1", fileOf],
  ] as const) {
    const trial = new Trial();
    trial.put("2023.1.parquet", fileOf("2023.1"));
    await trial.snapshots.settle();
    unlinkSync(trial.path("2023.1.parquet"));
    for (let i = 0; i < 2; i++) await trial.snapshots.settle();
    assert.deepEqual(trial.logged(lastGone), [["2023.1.parquet", undefined]]);
    trial.put(`${version}.parquet`, make(version));
    for (let i = 0; i < 2; i++) await trial.snapshots.settle();
    assert.deepEqual(trial.published, [["2023.1"], [version]]);
  }
});

test("a real version that is refused doesn't hide synthetic ones", async () => {
  const trial = new Trial();
  trial.put("2024.1.parquet", sampleOf("2024.1"));
  trial.put("2023.1.parquet", fileOf("2023.1").subarray(0, 2000));
  await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.1"]);
});

test("a file whose name isn't UTF-8 is refused once, and others are served", async () => {
  const trial = new Trial();
  trial.put("2024.1.parquet", fileOf("2024.1"));
  const name = Buffer.concat([Buffer.from(`${trial.folder}/`), Buffer.from("2024.2\xfc.parquet", "latin1")]);
  writeFileSync(name, fileOf("2024.2"));
  for (let i = 0; i < 3; i++) await trial.snapshots.settle();
  assert.deepEqual(trial.served, ["2024.1"]);
  assert.deepEqual(trial.logged(refused), [["2024.2\ufffd.parquet", nameRefusal("2024.2\ufffd.parquet")]]);
  unlinkSync(name);
  await trial.snapshots.settle();
  assert.deepEqual(trial.snapshots.refused(), []);
});

test("a listing of a folder that disappears meanwhile is complete or fails", async () => {
  const folder = path.join(temporaryFolder(), "snapshots");
  const names = Array.from({ length: 60 }, (_, i) => `${1000 + i}.1.parquet`);
  mkdirSync(folder);
  for (const name of names) writeFileSync(path.join(folder, name), "");
  let missed = 0;
  for (let turns = 0; turns < 60; turns++) {
    const listing = listStates(folder).then(
      (states) => [...states.keys()].sort(),
      (error) => {
        assert.equal(error.code, "ENOENT");
        missed++;
        return names;
      },
    );
    for (let i = 0; i < turns; i++) await immediate();
    renameSync(folder, `${folder}-away`);
    assert.deepEqual(await listing, names);
    renameSync(`${folder}-away`, folder);
  }
  assert.ok(missed > 0);
});
