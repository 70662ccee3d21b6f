import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { repository } from "../support/deployment.ts";
import { readmeBlocks, tracked } from "../support/readme.ts";
import { temporaryFolder, until } from "../support/server.ts";

/** Tests the package, installed below `node_modules`, where Node doesn't run TypeScript by itself. */

const folder = temporaryFolder();
const options = { cwd: folder, encoding: "utf8" } as const;
const { PATH, NODE_EXTRA_CA_CERTS } = process.env;
const home = { PATH: PATH?.replace(join(repository, "node_modules/.bin"), "/bin"), HOME: folder };
const npmSetting = (name: string) => execFileSync("npm", ["config", "get", name], options).trim();
// The home folder is replaced, so npm's cache and configuration are named.
const env = {
  ...home,
  NODE_EXTRA_CA_CERTS,
  npm_config_cache: npmSetting("cache"),
  npm_config_userconfig: npmSetting("userconfig"),
  npm_config_loglevel: "error",
};
const packed = execFileSync(
  "npm",
  ["pack", "--silent", "--ignore-scripts=false", "--pack-destination", folder],
  {
    cwd: repository,
    encoding: "utf8",
  },
).trim();
const install =
  readmeBlocks("sh").find((text) => text.includes(packed)) ?? assert.fail(`no block of ${packed}`);
const inFolder = { ...env, npm_config_prefix: folder, npm_config_prefer_offline: "true" };
execFileSync("sh", ["-euc", install], { ...options, env: inFolder });

test("the package contains the programs and documents but no tests", () => {
  const files = execFileSync("tar", ["-tzf", join(folder, packed)], { encoding: "utf8" });
  const wanted = tracked.filter(
    (path) =>
      ["CHANGELOG.md", "LICENSE", "README.md", "package.json"].includes(path) ||
      (/^(?:datasets|engine|server)\//.test(path) && !/tsconfig\.json$|\.test\.|\/screenshots\//.test(path)),
  );
  const names = files
    .trim()
    .split("\n")
    .map((path) => path.replace("package/", ""));
  const [bundles, others] = [true, false].map((isBundle) =>
    names.filter((name) => name.startsWith("server/bundles/") === isBundle),
  );
  assert.deepEqual(others.sort(), wanted.sort());
  assert.equal(bundles.length, 2, "the bundles of the portal and of the console");
});

test("npx runs the command in a project that has installed the package", () => {
  const project = temporaryFolder();
  const inProject = { ...options, cwd: project, env };
  execFileSync("npm", ["install", "--prefer-offline", join(folder, packed)], inProject);
  assert.match(execFileSync("npx", ["hcqs", "--version"], inProject), /^\d+\.\d+\.\d+\n$/);
  // The command runs with the Node version that is one of the package's dependencies.
  execFileSync("npx", ["hcqs", "sample", "--help"], inProject);
});

test("a trial server starts in the current folder, answers its printed curl command, and stops", async (t) => {
  const compiled = join(folder, "compiled");
  const server = spawn(join(folder, "bin/hcqs"), ["start"], {
    cwd: folder,
    env: { ...home, PORT: "0", OPS_PORT: "0", THREADS: "2", NODE_COMPILE_CACHE: compiled },
    stdio: ["ignore", "pipe", "pipe"],
  });
  after(() => server.kill("SIGKILL"));
  const ended = once(server, "close");
  let output = "";
  let log = "";
  server.stdout.on("data", (chunk: Buffer) => {
    output += chunk;
  });
  server.stderr.on("data", (chunk: Buffer) => {
    log += chunk;
  });
  const isReady = () => {
    if (server.exitCode !== null) throw new Error(log);
    return /^ready http:/m.test(output);
  };
  await until("the ready line", isReady, () => output + log);
  const [, command] = /^try: (curl .*)$/m.exec(output) ?? assert.fail(output);
  const answer: { data: unknown[] } = JSON.parse(
    execFileSync("sh", ["-c", `${command} --silent --show-error`], { encoding: "utf8" }),
  );
  assert.equal(answer.data.length, 3);
  assert.deepEqual(
    ["datasets/snapshots", "var"].map((name) => existsSync(join(folder, name))),
    [true, true],
  );
  // One thread has written the compile cache for all threads.
  assert.ok(readdirSync(compiled).some((name) => name.endsWith(".js")));
  server.kill("SIGTERM");
  assert.deepEqual(await ended, [0, null]);
  assert.match(log, /"msg":"stopped"/);
  t.diagnostic(`the package is of ${Math.ceil(statSync(join(folder, packed)).size / 1024)} KiB`);
});
