import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { coreSettings, readSettings, settingsHelp } from "../../server/shared/settings.ts";
import { deployFile, repository, unitEnvironment, unitValues } from "../support/deployment.ts";
import { temporaryFolder } from "../support/server.ts";

/** Tests the systemd unit by systemd's own checks. */

const unit = deployFile("hcqs.service");

/** Maximum exposure in tenths. systemd rates services from 0.0 (safe) to 10.0. */
const maxExposure = 15;

test("systemd-analyze rates the unit's exposure within the allowed limit", (t) => {
  const file = join(repository, "server/deploy/hcqs.service");
  const options = ["security", "--offline=true", "--no-pager", `--threshold=${maxExposure}`, file];
  const { status, stdout, stderr } = spawnSync("systemd-analyze", options, { encoding: "utf8" });
  assert.equal(status, 0, stdout + stderr);
  t.diagnostic(stdout.trim().split("\n").at(-1) ?? "");
  // The unit doesn't set MemoryDenyWriteExecute, because V8's compiler needs memory that is writable and executable.
  assert.deepEqual(unitValues("MemoryDenyWriteExecute"), []);
});

test("systemd-analyze verify accepts the unit", () => {
  const folder = temporaryFolder();
  const [start] = unitValues("ExecStart");
  // The program isn't installed on this machine.
  const program = join(folder, "hcqs");
  writeFileSync(program, "", { mode: 0o755 });
  mkdirSync(join(folder, "units"));
  const file = join(folder, "units/hcqs.service");
  writeFileSync(file, unit.replace(start.split(" ")[0], program));
  const { status, stdout, stderr } = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
  assert.deepEqual([status, stdout, stderr], [0, "", ""]);
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
