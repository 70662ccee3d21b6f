import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import { after, test } from "node:test";
import { encodeSnapshot } from "../../engine/index.ts";
import { deployFile, repository } from "../support/deployment.ts";
import { blocksOf, documentAt } from "../support/readme.ts";
import {
  call,
  freePort,
  listening,
  pricesPath,
  startServer,
  temporaryFolder,
  until,
  versionSnapshot,
} from "../support/server.ts";

/**
 * Tests the README's way to share snapshots, with rclone and rsync, while a server runs. A web server with a list of
 * its files and an rsync daemon are the sources.
 */

const script = join(repository, "server/deploy/hcqs-snapshots");
const source = temporaryFolder();
const nameOf = (version: string) => `${version}.parquet`;

/** Puts a snapshot into the source. Only its owner can read it. */
function offer(version: string): Buffer {
  const bytes = Buffer.from(encodeSnapshot(versionSnapshot(version)));
  writeFileSync(join(source, nameOf(version)), bytes, { mode: 0o600 });
  return bytes;
}

function withdraw(...versions: string[]): void {
  for (const version of versions) rmSync(join(source, nameOf(version)));
}

/** The name of the file of which only the first half is sent, until `held` is ended. */
let holding: string | undefined;
let held: ServerResponse | undefined;
const web = createServer(({ url = "", method }, response) => {
  const name = decodeURIComponent(url.slice(1));
  if (name === "") {
    const links = readdirSync(source).map((each) => `<a href="${encodeURIComponent(each)}">${each}</a>`);
    response.writeHead(200, { "Content-Type": "text/html" }).end(links.join("\n"));
    return;
  }
  const bytes = readFileSync(join(source, name));
  response.writeHead(200, { "Content-Length": bytes.length });
  if (method === "HEAD") response.end();
  else if (name === holding) {
    response.write(bytes.subarray(0, bytes.length / 2));
    held = response;
  } else response.end(bytes);
});
const webPort = await listening(web);

const daemonPort = await freePort();
const daemonConfig = join(temporaryFolder(), "rsyncd.conf");
writeFileSync(
  daemonConfig,
  `use chroot = no\nuid = root\ngid = root\n[snapshots]\npath = ${source}\n[nothing]\npath = ${source}/none\n`,
);
const daemon = spawn(
  "rsync",
  ["--daemon", "--no-detach", "--address=127.0.0.1", `--port=${daemonPort}`, `--config=${daemonConfig}`],
  { stdio: "ignore" },
);
after(() => {
  daemon.kill();
  web.close();
  web.closeAllConnections();
});
await until("the rsync daemon", async () => {
  const listed = spawn("rsync", [`rsync://127.0.0.1:${daemonPort}/`], { stdio: "ignore" });
  return (await once(listed, "close"))[0] === 0;
});

/** The settings of the README's block about rclone, with another address. */
const documented = Object.fromEntries(
  blocksOf(documentAt("server/README.md"), "ini")
    .flatMap((block) => block.match(/^(?:SNAPSHOTS_SOURCE|RCLONE_CONFIG_\w+)=.*$/gm) ?? [])
    .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
);
assert.match(documented.RCLONE_CONFIG_FILES_URL, /^https:/);
const tools: [tool: string, env: Record<string, string>, unreachable: Record<string, string>][] = [
  [
    "rclone",
    { ...documented, RCLONE_CONFIG_FILES_URL: `http://127.0.0.1:${webPort}/` },
    { ...documented, RCLONE_CONFIG_FILES_URL: "http://127.0.0.1:1/" },
  ],
  [
    "rsync",
    { SNAPSHOTS_SOURCE: `rsync rsync://127.0.0.1:${daemonPort}/snapshots/` },
    { SNAPSHOTS_SOURCE: `rsync rsync://127.0.0.1:${daemonPort}/nothing` },
  ],
];

/** Starts the script as the unit does, in a process group of its own. */
function start(datasetsDir: string, env: Record<string, string>, programs = "") {
  const [program] = /^ExecStart=(.*) \$SNAPSHOTS_SOURCE$/m
    .exec(deployFile("hcqs-snapshots.service"))
    ?.slice(1) ?? [""];
  assert.equal(program.replace("/opt/hcqs", repository), script);
  const child = spawn(
    "sh",
    ["-c", 'umask 077 && exec "$0" "$@"', script, ...env.SNAPSHOTS_SOURCE.split(" ")],
    {
      env: { PATH: `${programs}${process.env.PATH}`, ...env, DATASETS_DIR: datasetsDir, RCLONE_RETRIES: "1" },
      stdio: ["ignore", "ignore", "pipe"],
      detached: true,
    },
  );
  let said = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const ended = once(child, "close").then(([code]) => ({
    code,
    said: said.split("\n").filter((line) => line.startsWith("hcqs-snapshots: ")),
  }));
  return { ended, kill: () => process.kill(-(child.pid ?? assert.fail("not started")), "SIGKILL") };
}

const run = (...args: Parameters<typeof start>) => start(...args).ended;

const filesIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith(".parquet"));
const incomingIn = (folder: string) => readdirSync(join(folder, ".incoming"));

function datasetsWith(...versions: string[]): string {
  const folder = temporaryFolder();
  for (const version of versions)
    writeFileSync(join(folder, nameOf(version)), encodeSnapshot(versionSnapshot(version)));
  return folder;
}

for (const [tool, env, unreachable] of tools) {
  test(`${tool}: a running server gets versions of the source and retires those that it no longer has`, async () => {
    offer("2023.1");
    const datasetsDir = temporaryFolder();
    await run(datasetsDir, env);
    const server = await startServer({ datasetsDir, env: { THREADS: "2" } });
    let isDone = false;
    const statuses = new Map<number, number>();
    const ask = async () => {
      while (!isDone) {
        const { status } = await call(server, `GET ${pricesPath}?procedure=5072`);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    };
    const asking = Promise.all([ask(), ask()]);
    const says = (version: string, what: string) =>
      until(`${version} to be ${what}`, () =>
        server.process.stderr
          .split("\n")
          .find((line) => line.includes(`"${version}","current"`) && line.includes(what)),
      );
    const bytes = offer("2024.1");
    offer("2024.2");
    assert.deepEqual(await run(datasetsDir, env), {
      code: 0,
      said: ["2024.2", "2024.1"].map((version) => `hcqs-snapshots: copied ${nameOf(version)}`),
    });
    await says("2024.1", "published");
    await says("2024.2", "published");
    assert.deepEqual(readFileSync(join(datasetsDir, nameOf("2024.1"))), bytes);
    assert.deepEqual(await run(datasetsDir, env), { code: 0, said: [] }, "nothing is copied twice");
    withdraw("2023.1", "2024.2");
    assert.equal((await run(datasetsDir, env)).code, 0);
    await says("2023.1", "retired");
    await says("2024.2", "retired");
    assert.deepEqual(filesIn(datasetsDir), [nameOf("2024.1")]);
    isDone = true;
    await asking;
    assert.deepEqual([...statuses.keys()], [200]);
    assert.doesNotMatch(server.process.stderr, /refused/);
    assert.equal(await server.stop(), 0);
    withdraw("2024.1");
  });

  test(`${tool}: a source that is empty, wrong or unreachable retires nothing`, async () => {
    const datasetsDir = datasetsWith("2023.1", "2024.1");
    const kept = ["2023.1", "2024.1"].map(nameOf);
    const [, , address] = /^(\S+) (\S+)$/.exec(env.SNAPSHOTS_SOURCE) ?? assert.fail();
    const none = `hcqs-snapshots: ${address.replace(/\/$/, "")}: found no snapshots, expected at least one <year>.<revision>.parquet; nothing is retired`;
    assert.deepEqual(await run(datasetsDir, env), { code: 1, said: [none] });
    const others = [
      "notes.txt",
      "copy of 2025.1.parquet",
      "2025.parquet",
      "2025.0.parquet",
      "2025.1.parquet.part",
    ];
    for (const other of others) writeFileSync(join(source, other), "x");
    assert.deepEqual(await run(datasetsDir, env), { code: 1, said: [none] });
    for (const other of others) rmSync(join(source, other));
    const { code, said } = await run(datasetsDir, unreachable);
    assert.equal(code, 1);
    assert.match(
      said.join(),
      /: found no list of its files \(r\w+ failed\), expected one; nothing is copied or retired$/,
    );
    assert.deepEqual(filesIn(datasetsDir), kept);
  });

  test(`${tool}: every user can read the copied files, and only a rename changes a file's content`, async () => {
    const bytes = offer("2024.1");
    const datasetsDir = temporaryFolder();
    const path = join(datasetsDir, nameOf("2024.1"));
    // A source may show a file before it is complete. The sizes differ then.
    writeFileSync(path, bytes.subarray(0, 100));
    const { ino } = statSync(path);
    assert.equal((await run(datasetsDir, env)).code, 0);
    assert.deepEqual(readFileSync(path), bytes);
    assert.equal(statSync(path).mode & 0o777, 0o644);
    assert.notEqual(statSync(path).ino, ino);
    withdraw("2024.1");
  });

  test(`${tool}: a copy that fails halfway leaves only a file in the staging folder, and retires nothing`, async () => {
    offer("2024.1");
    const good = offer("2024.2");
    const datasetsDir = datasetsWith("2023.1");
    const programs = temporaryFolder();
    // The program writes half of one file and fails, as on a full disk or a broken connection.
    writeFileSync(
      join(programs, tool),
      `#!/bin/sh
case "$*" in
  *2024.1.parquet*) head --bytes=100 '${source}/2024.1.parquet' >'${datasetsDir}/.incoming/2024.1.parquet'; exit 1 ;;
esac
PATH=\${PATH#*:} exec ${tool} "$@"
`,
      { mode: 0o755 },
    );
    const { code, said } = await run(datasetsDir, env, `${programs}:`);
    assert.equal(code, 1);
    assert.match(said[1], /: 2024\.1\.parquet can't be copied; the next run tries again$/);
    assert.equal(said[2], "hcqs-snapshots: some files weren't copied, so nothing is retired");
    assert.deepEqual(filesIn(datasetsDir), ["2023.1", "2024.2"].map(nameOf));
    assert.deepEqual(readFileSync(join(datasetsDir, nameOf("2024.2"))), good);
    assert.deepEqual(incomingIn(datasetsDir), [nameOf("2024.1")]);
    assert.equal((await run(datasetsDir, env)).code, 0);
    assert.deepEqual([filesIn(datasetsDir), incomingIn(datasetsDir)], [["2024.1", "2024.2"].map(nameOf), []]);
    withdraw("2024.1", "2024.2");
  });
}

test("a copy that is killed in the middle changes nothing for a running server, and the next run completes it", async () => {
  const [[, env]] = tools;
  offer("2023.1");
  const datasetsDir = temporaryFolder();
  await run(datasetsDir, env);
  const server = await startServer({ datasetsDir });
  holding = nameOf("2024.1");
  const bytes = offer("2024.1");
  const staged = join(datasetsDir, ".incoming", holding);
  const copying = start(datasetsDir, env);
  await until("half of the file", () => existsSync(staged) && statSync(staged).size > 0);
  assert.ok(statSync(staged).size < bytes.length);
  const second = await run(datasetsDir, env);
  assert.equal(second.code, 1);
  assert.match(second.said[0], /found another run that copies into it, expected one at a time$/);
  copying.kill();
  await copying.ended;
  held?.destroy();
  holding = undefined;
  assert.deepEqual(filesIn(datasetsDir), [nameOf("2023.1")]);
  // The server has looked into the folder after this version came, so it has passed over the part.
  offer("2022.1");
  const other = join(datasetsDir, ".other");
  writeFileSync(other, readFileSync(join(source, nameOf("2022.1"))));
  renameSync(other, join(datasetsDir, nameOf("2022.1")));
  const published = (version: string) =>
    until(version, () => server.process.stderr.includes(`"version":"${version}","current"`));
  await published("2022.1");
  assert.doesNotMatch(server.process.stderr, /2024\.1|refused/);
  assert.deepEqual(await run(datasetsDir, env), { code: 0, said: ["hcqs-snapshots: copied 2024.1.parquet"] });
  await published("2024.1");
  assert.deepEqual(incomingIn(datasetsDir), []);
  assert.equal(await server.stop(), 0);
  withdraw("2022.1", "2023.1", "2024.1");
});

test("wrong arguments give one line", async () => {
  const datasetsDir = temporaryFolder();
  const saidOf = async (SNAPSHOTS_SOURCE: string, folder = datasetsDir) =>
    (await run(folder, { SNAPSHOTS_SOURCE })).said;
  assert.deepEqual(await saidOf("rsync"), [
    "hcqs-snapshots: found 1 arguments, expected two, rclone REMOTE:PATH or rsync HOST:PATH; the unit reads them from SNAPSHOTS_SOURCE",
  ]);
  assert.deepEqual(await saidOf("scp host:/srv"), ['hcqs-snapshots: found "scp", expected rclone or rsync']);
  assert.deepEqual(await saidOf("rsync host:/srv", `${datasetsDir}/none`), [
    `hcqs-snapshots: DATASETS_DIR "${datasetsDir}/none": found no folder, expected an existing one`,
  ]);
});
