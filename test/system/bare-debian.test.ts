import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { csv, otherRow, row } from "../support/cms-files.ts";
import { freePort } from "../support/connection.ts";
import {
  buildContext,
  buildStage,
  finalStage,
  image,
  repository,
  unitEnvironment,
  unitValues,
  wordsOf,
} from "../support/deployment.ts";
import { catalogue, file, Publisher } from "../support/publisher.ts";
import { readmeBlocks } from "../support/readme.ts";
import { call, temporaryFolder, until } from "../support/server.ts";

/**
 * Tests the commands of the Dockerfile and the systemd unit in a bare Debian 12, without a container engine or systemd.
 * As in a container, the root is read-only, the user isn't root, and the server is process 1.
 */

const folder = temporaryFolder();
const root = join(folder, "root");
const volumes = join(folder, "volumes");
const bytesOf = (path: string) =>
  Number(execFileSync("du", ["-sb", path], { encoding: "utf8" }).split("\t")[0]);

/** Runs the Dockerfile's first stage, with this machine's npm instead of Debian's. @returns the folder that it fills */
function build(): string {
  const work = join(folder, "build");
  const [installPackages, ...commands] = wordsOf(buildStage, "RUN");
  assert.match(installPackages, /^apt-get update && apt-get install .* npm$/);
  for (const path of buildContext()) {
    mkdirSync(dirname(join(work, path)), { recursive: true });
    cpSync(join(repository, path), join(work, path));
  }
  for (const command of commands) execFileSync("sh", ["-euc", command], { cwd: work, stdio: "inherit" });
  return work;
}

/** @returns the number of bytes that the second stage adds to Debian */
function assemble(built: string): number {
  execFileSync("mmdebstrap", ["--quiet", "--variant=apt", "bookworm", root]);
  const bare = bytesOf(root);
  const [[source, to]] = wordsOf(finalStage, "COPY").map((words) =>
    words.replace("--from=build ", "").split(" "),
  );
  assert.deepEqual([source], wordsOf(buildStage, "WORKDIR"));
  mkdirSync(dirname(join(root, to)), { recursive: true });
  cpSync(built, join(root, to), { recursive: true, verbatimSymlinks: true });
  for (const command of wordsOf(finalStage, "RUN")) execFileSync("chroot", [root, "sh", "-euc", command]);
  return bytesOf(root) - bare;
}

const path = { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" };
const mounts = `
mount --rbind /dev "$ROOT/dev"
mount -t proc -o subset=pid proc "$ROOT/proc"`;
/** Makes the mounts of a container, and then replaces itself by the command. */
const asContainer = `
mount --bind "$ROOT" "$ROOT"
mount -o remount,bind,ro "$ROOT"
for volume in $VOLUMES_OF; do mount --bind "$VOLUMES$volume" "$ROOT$volume"; done
${mounts}
exec chroot --userspec="$IMAGE_USER" --groups= "$ROOT" "$@"`;
const asMachine = `
${mounts}
exec chroot "$ROOT" "$@"`;

function startIn(script: string, command: string[], env: Record<string, string>, folder = "/") {
  const inside = [
    "env",
    "-i",
    `--chdir=${folder}`,
    ...Object.entries(env).map((pair) => pair.join("=")),
    ...command,
  ];
  const child = spawn(
    "unshare",
    ["--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", script, "sh", ...inside],
    {
      env: {
        PATH: process.env.PATH,
        ROOT: root,
        VOLUMES: volumes,
        VOLUMES_OF: image.volumes.join(" "),
        IMAGE_USER: image.user,
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  after(() => child.kill("SIGKILL"));
  const said = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => {
      said[name] += text;
    });
  const ended = once(child, "close").then(([code]: unknown[]) => code);
  return { child, said, ended };
}
type Started = ReturnType<typeof startIn>;

function start(command: string[], env: Record<string, string> = {}): Started {
  return startIn(asContainer, command, { ...path, ...image.env, ...env }, image.folder);
}

/** @returns the server's `/proc/PID/status` */
async function useServer({ child, said, ended }: Started, port: number, key: string): Promise<string> {
  const isReady = () => {
    if (child.exitCode !== null) throw new Error(said.stderr);
    return /^ready http:/m.test(said.stdout);
  };
  await until("the ready line", isReady, () => said.stdout + said.stderr);
  const answer = await call(
    { api: `http://127.0.0.1:${port}`, key: key.trim() },
    "GET /api/v1/healthcare/procedures",
  );
  assert.equal(answer.status, 200);
  const [served] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim().split(" ");
  const status = readFileSync(`/proc/${served}/status`, "utf8");
  process.kill(Number(served), "SIGTERM");
  assert.equal(await ended, 0);
  assert.match(said.stderr, /"msg":"stopped"/);
  return status;
}

async function succeed(command: string[], env?: Record<string, string>): Promise<string> {
  const { said, ended } = start(command, env);
  assert.equal(await ended, 0, said.stderr);
  return said.stdout;
}

const added = assemble(build());
for (const path of image.volumes)
  cpSync(join(root, path), join(volumes, path), { recursive: true, preserveTimestamps: true });
execFileSync("chown", ["-R", image.user, ...image.volumes.map((path) => join(volumes, path))]);

test("the image adds less than 260 MB to Debian", (t) => {
  t.diagnostic(`${Math.round(added / 1e6)} MB beside Debian's`);
  assert.ok(added < 260e6, `${added} bytes`);
});

test("the image's root file system is read-only", async () => {
  const { said, ended } = start(["touch", "/tmp/file"]);
  assert.notEqual(await ended, 0);
  assert.match(said.stderr, /Read-only file system/);
});

test("the image creates snapshots and keys, serves as process 1, reports health and stops on SIGTERM", async () => {
  const [port, opsPort] = [await freePort(), await freePort()];
  const rows = ["--rows", "2000", "--seed", "1"];
  await succeed([...image.entrypoint, "sample", "--out", image.volumes[0], "--year", "2024", ...rows]);
  const key = await succeed([
    ...image.entrypoint,
    "keys",
    "create",
    "--account",
    "acme",
    "--plan",
    "developer",
  ]);

  const ports = { PORT: String(port), OPS_PORT: String(opsPort) };
  assert.notEqual(await start(image.healthcheck, ports).ended, 0);
  const server = start([...image.entrypoint, ...image.command], ports);
  await until("health", async () => (await start(image.healthcheck, ports).ended) === 0);
  const status = await useServer(server, port, key);
  assert.match(status, /^NSpid:.*\t1$/m);
  const ids = ["Uid", "Gid"].map((name) => new RegExp(`^${name}:\t(\\d+)`, "m").exec(status)?.[1]);
  assert.equal(ids.join(":"), image.user);
});

test("the README's commands install a working service", async () => {
  const block = readmeBlocks("sh").find((text) => text.includes("hcqs.service")) ?? assert.fail("no block");
  // The image already has the first command's result, and the last two commands need systemd.
  const [install, ...commands] = block.trim().split("\n");
  assert.equal(install, `cd ${wordsOf(buildStage, "WORKDIR")[0]} && ${wordsOf(buildStage, "RUN")[1]}`);
  assert.equal(commands.pop(), "systemctl daemon-reload && systemctl enable --now hcqs");
  const enabled = "echo PORTAL_ACCOUNT=visitors >> /etc/hcqs.env";
  assert.equal(commands.pop(), `cp server/deploy/hcqs.service /etc/systemd/system/ && ${enabled}`);
  commands.push(enabled);
  for (const path of ["usr/local/bin/hcqs", "var/lib/hcqs"]) rmSync(join(root, path), { recursive: true });
  const publisher = await Publisher.start();
  const release = publisher.answers("/MUP_OUT_RY26_P04_V10_DY24_Prov_Svc.csv", file(csv(row, otherRow)));
  const offered = catalogue([{ url: release, temporal: "2024-01-01/2024-12-31", modified: "2026-06-01" }]);
  const fetching = commands.findIndex((command) => command.endsWith("hcqs fetch --year 2024"));
  commands[fetching] += ` --catalogue ${publisher.answers("/data.json", file(offered))}`;
  const typed = startIn(asMachine, ["sh", "-euxc", commands.join("\n")], path, "/opt/hcqs");
  assert.equal(await typed.ended, 0, typed.said.stderr);
  const [snapshot, key] = typed.said.stdout.trim().split("\n");
  assert.equal(snapshot, `${unitEnvironment.DATASETS_DIR}/2024.1.parquet`);

  const port = await freePort();
  const user = unitValues("User")[0];
  const env = { ...path, ...unitEnvironment, PORT: String(port), OPS_PORT: "0" };
  // systemd would make the cache folder.
  const cache = `/var/cache/${unitValues("CacheDirectory")[0]}`;
  const start = `install --directory --owner=${user} ${cache} && exec setpriv --reuid=${user} --regid=${user} --clear-groups ${unitValues("ExecStart")[0]}`;
  await useServer(
    startIn(asMachine, ["sh", "-euc", start], env, unitValues("WorkingDirectory")[0]),
    port,
    key,
  );
  assert.ok(readdirSync(join(root, cache)).length > 0);
});
