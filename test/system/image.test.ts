import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { freePort } from "../support/connection.ts";
import { buildContext, buildStage, finalStage, image, repository, wordsOf } from "../support/image.ts";
import { call, temporaryFolder, until } from "../support/server.ts";

/**
 * What the image runs, without an engine for containers: its instructions, carried out in a bare Debian 12. As there,
 * the root is read-only, the user isn't root, and the server is process 1.
 */

const folder = temporaryFolder();
const root = join(folder, "root");
const volumes = join(folder, "volumes");
const bytesOf = (path: string) =>
  Number(execFileSync("du", ["-sb", path], { encoding: "utf8" }).split("\t")[0]);

/** The first stage: its packages of Debian are this machine's npm. @returns the folder that it fills */
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

/** The second stage. @returns the bytes that it adds to Debian */
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

/** In namespaces of its own: mounts as a container has them, and then the command in place of the shell. */
const inContainer = `
mount --bind "$ROOT" "$ROOT"
mount -o remount,bind,ro "$ROOT"
for volume in $VOLUMES_OF; do mount --bind "$VOLUMES$volume" "$ROOT$volume"; done
mount --rbind /dev "$ROOT/dev"
mount -t proc -o subset=pid proc "$ROOT/proc"
exec chroot --userspec="$IMAGE_USER" --groups= "$ROOT" "$@"
`;

/** Starts a command in the image. */
function start(command: string[], env: Record<string, string> = {}) {
  const variables = Object.entries({ PATH: "/usr/local/bin:/usr/bin:/bin", ...image.env, ...env });
  const inside = [
    "env",
    "-i",
    `--chdir=${image.folder}`,
    ...variables.map((pair) => pair.join("=")),
    ...command,
  ];
  const child = spawn(
    "unshare",
    ["--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", inContainer, "sh", ...inside],
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

async function succeed(command: string[], env?: Record<string, string>): Promise<string> {
  const { said, ended } = start(command, env);
  assert.equal(await ended, 0, said.stderr);
  return said.stdout;
}

const added = assemble(build());
for (const path of image.volumes)
  cpSync(join(root, path), join(volumes, path), { recursive: true, preserveTimestamps: true });
execFileSync("chown", ["-R", image.user, ...image.volumes.map((path) => join(volumes, path))]);

test("the image holds no more than it has to", (t) => {
  t.diagnostic(`${Math.round(added / 1e6)} MB beside Debian's`);
  assert.ok(added < 260e6, `${added} bytes`);
});

test("its root can't be written to", async () => {
  const { said, ended } = start(["touch", "/tmp/file"]);
  assert.notEqual(await ended, 0);
  assert.match(said.stderr, /Read-only file system/);
});

test("it imports, makes keys, serves as process 1, says that it is healthy, and stops by SIGTERM", async () => {
  const [port, opsPort] = [String(await freePort()), String(await freePort())];
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

  const ports = { PORT: port, OPS_PORT: opsPort };
  const unhealthy = start(image.healthcheck, ports);
  assert.notEqual(await unhealthy.ended, 0);
  const { child, said, ended } = start([...image.entrypoint, ...image.command], ports);
  await until("the ready line", () => {
    if (child.exitCode !== null) throw new Error(said.stderr);
    return /^ready http:/m.test(said.stdout);
  });
  await succeed(image.healthcheck, ports);
  const api = `http://127.0.0.1:${port}`;
  const answer = await call({ api, key: key.trim() }, "GET /api/v1/healthcare/procedures");
  assert.equal(answer.status, 200);

  const [served] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim().split(" ");
  const status = readFileSync(`/proc/${served}/status`, "utf8");
  assert.match(status, /^NSpid:.*\t1$/m);
  assert.deepEqual(
    ["Uid", "Gid"].map((name) => new RegExp(`^${name}:\t(\\d+)`, "m").exec(status)?.[1]).join(":"),
    image.user,
  );
  process.kill(Number(served), "SIGTERM");
  assert.equal(await ended, 0);
  assert.match(said.stderr, /"msg":"stopped"/);
});
