import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { coreSettings, readSettings, settingsHelp } from "../../server/shared/settings.ts";
import { deployFile, repository, unitEnvironment, unitValues } from "../support/deployment.ts";
import { temporaryFolder } from "../support/server.ts";

/** Tests the systemd units by systemd's own checks. */

const services = ["hcqs.service", "hcqs-snapshots.service"];

/** Maximum exposure in tenths. systemd rates services from 0.0 (safe) to 10.0. */
const maxExposure = 15;

for (const service of services)
  test(`systemd-analyze rates the exposure of ${service} within the allowed limit`, (t) => {
    const file = join(repository, "server/deploy", service);
    const options = ["security", "--offline=true", "--no-pager", `--threshold=${maxExposure}`, file];
    const { status, stdout, stderr } = spawnSync("systemd-analyze", options, { encoding: "utf8" });
    assert.equal(status, 0, stdout + stderr);
    t.diagnostic(stdout.trim().split("\n").at(-1) ?? "");
  });

test("the server's unit doesn't set MemoryDenyWriteExecute, because V8's compiler needs such memory", () => {
  assert.deepEqual(unitValues("MemoryDenyWriteExecute"), []);
});

test("systemd-analyze verify accepts the units", () => {
  const folder = temporaryFolder();
  mkdirSync(join(folder, "units"));
  const files = [...services, "hcqs-snapshots.timer"].map((name) => {
    // The programs aren't installed on this machine.
    const program = join(folder, name);
    writeFileSync(program, "", { mode: 0o755 });
    const file = join(folder, "units", name);
    writeFileSync(file, deployFile(name).replace(/^ExecStart=\S+/m, `ExecStart=${program}`));
    return file;
  });
  const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", ...files], { encoding: "utf8" });
  assert.deepEqual([status, stdout, stderr], [0, "", ""]);
});

test("the unit that copies snapshots has the server's user, folders and settings, and the timer starts it", () => {
  const unit = "hcqs-snapshots.service";
  for (const name of ["User", "EnvironmentFile", "WorkingDirectory", "StateDirectoryMode"])
    assert.deepEqual(unitValues(name, unit), unitValues(name), name);
  assert.deepEqual(unitValues("Environment", unit), [`DATASETS_DIR=${unitEnvironment.DATASETS_DIR}`]);
  const folders = unitValues("StateDirectory")[0].split(" ");
  assert.deepEqual(unitValues("StateDirectory", unit), [folders.slice(0, 2).join(" ")]);
  const script = "server/deploy/hcqs-snapshots";
  assert.deepEqual(unitValues("ExecStart", unit), [`/opt/hcqs/${script} $SNAPSHOTS_SOURCE`]);
  assert.equal(statSync(join(repository, script)).mode & 0o111, 0o111);
  // A timer starts the service of its name.
  assert.deepEqual(unitValues("Unit", "hcqs-snapshots.timer"), []);
});

test("the unit runs the package's command with valid settings in its own folders", () => {
  const { bin } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8"));
  assert.deepEqual(unitValues("ExecStart"), [`/opt/hcqs/${bin.hcqs} start`]);
  assert.deepEqual(unitValues("Restart"), ["always"]);
  const { NODE_COMPILE_CACHE: cache, ...settings } = unitEnvironment;
  for (const name of Object.keys(settings))
    assert.match(settingsHelp([coreSettings]), new RegExp(`^ {2}${name} `, "m"));
  const read = readSettings(settings);
  assert.ok(!Array.isArray(read), String(read));
  const folders = unitValues("StateDirectory")[0]
    .split(" ")
    .map((name) => `/var/lib/${name}`);
  assert.deepEqual([read.DATASETS_DIR, read.STATE_DIR].sort(), folders.slice(1));
  assert.equal(cache, `/var/cache/${unitValues("CacheDirectory")[0]}`);
  assert.deepEqual(unitValues("WorkingDirectory"), [folders[0]]);
});
