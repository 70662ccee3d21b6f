import assert from "node:assert/strict";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { publishSnapshot } from "../../datasets/revisions.ts";
import { syntheticSnapshot } from "../../datasets/sample/synthetic.ts";
import { encodeSnapshot, plainWordsOf } from "../../engine/index.ts";
import { parseOptions } from "../../server/commands/import.ts";
import { Store } from "../../server/store/store.ts";
import { addendum, codeLine } from "../support/addendum.ts";
import {
  csv,
  fullCsv,
  more,
  optionsFor,
  otherRow,
  partWarning,
  plainImport,
  row,
} from "../support/cms-files.ts";
import { type Result, run } from "../support/commands.ts";
import { temporaryFolder } from "../support/folders.ts";

/** The state of a server that has served no data version. */
function emptyState(): string {
  const folder = temporaryFolder();
  Store.open(folder).close();
  return folder;
}
const state = emptyState();

const command = async (args: string[], stateDir = state, env = {}): Promise<Result> =>
  (await run(stateDir, [["import", ...args].join(" ")], env))[0];

test("import prints the snapshot's path on stdout and a summary on stderr and leaves no other files", async () => {
  const { file, out } = optionsFor(fullCsv(`${row},${more}`, `${otherRow},,,,,,,,`));
  const written = path.join(out, "2023.1.parquet");
  const summary =
    "2 rows: 1 priced, 1 suppressed, 0 incomplete; 2 facilities, 2 procedures, 2 states\n" +
    `${partWarning(2, 2, 2)}\n`;
  assert.deepEqual(await command([file, "--year", "2023", "--out", out]), {
    code: 0,
    stdout: `${written}\n`,
    stderr: summary,
  });
  assert.deepEqual(readdirSync(out), ["2023.1.parquet"]);

  assert.deepEqual(await command([file, "--year", "2023"], state, { DATASETS_DIR: out }), {
    code: 0,
    stdout: `${written}\n`,
    stderr: `${summary}nothing written: 2023.1 has these rows already; --force writes them\n`,
  });
  assert.deepEqual(readdirSync(out), ["2023.1.parquet"]);
});

test("importing known rows with another --released or --source-url reports that these aren't written", async () => {
  const { file, out } = optionsFor(csv(row, otherRow));
  const released = [file, "--year", "2023", "--out", out, "--released", "2025-06"];
  assert.ok((await command(released)).stderr.endsWith(`${partWarning(2, 2, 2)}\n`));
  const there = "nothing written: 2023.1 has these rows already";
  const lastLine = async (...args: string[]) => (await command(args)).stderr.split("\n").at(-2);
  const url = ["--source-url", "https://data.example/a.csv"];
  assert.equal(
    await lastLine(...released.slice(0, -1), "2025-07", ...url),
    `${there}, but not this --released and --source-url; --force writes them`,
  );
});

test("import reports the detected encoding, absent columns and ambiguous names", async () => {
  const windows = csv(row, row.replace("5072,Level 2", "5073,Level 3").replace("Dothan", "D\xf6than"));
  const { file, out } = optionsFor(Buffer.from(windows, "latin1"));
  const none = temporaryFolder();
  const { code, stdout, stderr } = await command([file, "--year", "2023", "--out", out], none);
  assert.deepEqual([code, stdout], [0, `${path.join(out, "2023.1.parquet")}\n`]);
  assert.deepEqual(stderr.split("\n"), [
    "read as Windows-1252, as it is not UTF-8: 0xF6 in line 3, byte 36",
    "columns that are not in the file, so unknown for every row: Rndrng_Prvdr_Zip5, Rndrng_Prvdr_RUCA, Rndrng_Prvdr_RUCA_Desc, " +
      "CAPC_Srvcs, Bene_Cnt, Avg_Mdcr_Pymt_Amt, Outlier_Srvcs, Avg_Mdcr_Outlier_Amt",
    "facilities with several names or addresses: 1; the commonest of each is taken",
    "2 rows: 2 priced, 0 suppressed, 0 incomplete; 1 facilities, 2 procedures, 1 states",
    partWarning(2, 1, 1),
    "",
  ]);
});

test("import reports the revision numbers that it skips because they were served before", async () => {
  const { file, out } = optionsFor(csv(row));
  const served = emptyState();
  const store = Store.open(served);
  for (const version of ["2022.1", "2023.1"])
    store.versions.serve(version, "0".repeat(64), "1".repeat(64), new Date());
  store.close();
  const finished = await command([file, "--year", "2023", "--out", out], served);
  assert.equal(finished.stdout, `${path.join(out, "2023.2.parquet")}\n`);
  assert.match(finished.stderr, /^served before, so not given out again: 2023\.1\n/);
});

test("import explains why real data beside a synthetic snapshot gets revision 2", async () => {
  const { file, out } = optionsFor(csv(row));
  const sample = (revision: number) =>
    encodeSnapshot(syntheticSnapshot({ dataYear: 2023, revision, rows: 300, seed: 1 }));
  publishSnapshot(out, 2023, [], sample);
  const again = (...more: string[]) => command([file, "--year", "2023", "--out", out, ...more]);
  const reason = "numbered 2023.2, as 2023.1 is synthetic, and a version number never gets other content";
  const first = await again();
  assert.equal(first.stdout, `${path.join(out, "2023.2.parquet")}\n`);
  assert.ok(first.stderr.split("\n").includes(reason), first.stderr);
  assert.doesNotMatch((await again("--force")).stderr, /synthetic/);
});

test("a rejected import prints one line and exits with 1", async () => {
  const { file, out } = optionsFor(csv("x"));
  assert.deepEqual(await command([file, "--year", "2023", "--out", out]), {
    code: 1,
    stdout: "",
    stderr: `${file} line 2: found 1 field, expected 9 as in the header; delete the line if it is a title or a note\n`,
  });
  assert.equal(existsSync(out), false);
});

test("import --codes prints the number of codes and one warning per line", async () => {
  const { file, out } = optionsFor(csv(row, otherRow));
  const codes = `${file}.codes.csv`;
  const [moved, kept] = plainWordsOf["5072"].codes;
  writeFileSync(codes, addendum(codeLine(moved, "5073"), codeLine(kept, "5072"), codeLine("27447", "5115")));
  const args = [file, "--year", "2023", "--out", out, "--codes", codes];
  const { code, stdout, stderr } = await command(args);
  assert.deepEqual([code, stdout], [0, `${path.join(out, "2023.1.parquet")}\n`]);
  const [summary, ...warnings] = stderr.split("\n").slice(-4, -1);
  assert.match(summary, /; 2 facilities, 2 procedures, 2 states, 2 HCPCS codes$/);
  assert.deepEqual(warnings, [
    partWarning(2, 2, 2),
    `warning: ${codes} contradicts the codes beside this program's plain words: ${moved} is in 5073, not 5072`,
  ]);
  assert.match((await command(args)).stderr, /\nnothing written: 2023\.1 has these rows and codes already; /);
});

const now = new Date("2026-11-21T12:00:00Z");

test("options are parsed, and --out defaults to the folder that the server serves", () => {
  const plain = { ...plainImport("a.csv", "datasets/snapshots"), year: 2024 };
  assert.deepEqual(parseOptions(["a.csv", "--year", "2024"], {}, now), plain);
  const environment = { DATASETS_DIR: "served" };
  assert.equal(parseOptions(["a.csv", "--year", "2024"], environment, now).out, "served");
  const all = [
    "--year=2016",
    "--out=o",
    "--released=2026-06",
    "--source-url",
    "https://a.example/b",
    "a.csv",
  ];
  assert.deepEqual(parseOptions([...all, "--force", "--allow-unterminated"], environment, now), {
    ...{ file: "a.csv", year: 2016, out: "o", released: "2026-06", sourceUrl: "https://a.example/b" },
    ...{ force: true, allowUnterminated: true, codesFile: null, totalsFile: null },
  });
});

test("years and months after the current month are rejected", () => {
  const wanted = ["a.csv", "--year", "2026", "--released", "2026-11"];
  assert.equal(parseOptions(wanted, {}, now).year, 2026);
  assert.throws(() => parseOptions(wanted, {}, new Date("2026-10-31T23:59:59Z")), {
    message: '--released is "2026-11", expected no month after the present one, 2026-10',
  });
  assert.throws(() => parseOptions(wanted, {}, new Date("2025-12-31T23:59:59Z")), {
    message: '--year is "2026", expected no year after 2025',
  });
});

test("a data year in the file name or source URL has to equal --year", () => {
  const year = (file: string) => parseOptions([file, "--year", "2023"], {}, now).year;
  for (const file of "MUP_OUT_RY25_P04_V10_DY23_Prov_Svc.csv dy2023.csv DY22/a.csv BODY22.csv a.DY221".split(
    " ",
  ))
    assert.equal(year(file), 2023, file);
  for (const file of "x/MUP_OUT_RY25_DY22_Prov_Svc.csv dy22.csv a-DY2022.csv DY23_DY22.csv".split(" "))
    assert.throws(
      () => year(file),
      /^Error: --year is "2023", expected 2022 for a file with DY(20)?22 in its/i,
    );
  const url = ["--source-url", "https://data.example/2024-06/MUP_OUT_RY24_P04_V10_DY22_Prov_Svc.csv"];
  assert.throws(() => parseOptions(["a.csv", "--year", "2023", ...url], {}, now), {
    message: '--year is "2023", expected 2022 for a source URL with DY22 in its name',
  });
});

test("an invalid command line gets one error with the expected value", () => {
  const usage =
    "hcqs import FILE.csv --year YYYY [--out DIR] [--codes FILE] [--totals FILE] [--released YYYY-MM] [--source-url URL] " +
    "[--allow-unterminated] [--force]";
  const year = "expected a year from 2016 to 2099";
  const url = "expected an http or https URL, without a password";
  const wrong: [string[], string][] = [
    [[], `import needs a FILE: ${usage}`],
    [["a.csv", "b.csv", "--year", "2024"], `import needs only one FILE: ${usage}`],
    [["a.csv"], `import needs --year: ${usage}`],
    [["a.csv", "--year", "-1"], '--year needs a value, as --year=VALUE, not "-1"'],
    [["a.csv", "--year", "2015"], `--year is "2015", ${year}`],
    [["a.csv", "--year", "2100"], `--year is "2100", ${year}`],
    [["a.csv", "--year", "2027"], '--year is "2027", expected no year after 2026'],
    [
      ["a.csv", "--year", "2024", "--released", "2023-12"],
      '--released is "2023-12", expected no month before the data year 2024',
    ],
    [
      ["a.csv", "--year", "2024", "--released", "2026-12"],
      '--released is "2026-12", expected no month after the present one, 2026-11',
    ],
    [["a.csv", "--year", "2024", "--out", ""], "--out needs a folder"],
    [["a.csv", "--year", "2024", "--codes", ""], "--codes needs a file"],
    [
      ["a.csv", "--year", "2024", "--released", "2024-13"],
      '--released is "2024-13", expected a month as YYYY-MM',
    ],
    [["a.csv", "--year", "2024", "--source-url", "ftp://a.b/c"], `--source-url is "ftp://a.b/c", ${url}`],
    [
      ["a.csv", "--year", "2024", "--source-url", "https://me:secret@a.b/c"],
      `--source-url is "https://…@a.b/c", ${url}`,
    ],
  ];
  for (const [args, message] of wrong) assert.throws(() => parseOptions(args, {}, now), { message });
});
