import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { csv, row } from "../support/cms-files.ts";
import { run, succeed } from "../support/commands.ts";
import { keepingStripped, Running, temporaryFolder } from "../support/server.ts";

/** Tests the errors of the operator's commands, with their messages. */

const stateDir = temporaryFolder();
await succeed(
  stateDir,
  "keys create --account A~&~B~hospitals --plan free",
  "keys create --account A~&~B~hospitals --expires 2037-01-01",
  "keys create --account large --plan enterprise --burst 1000 --quota 2000000000 --webhook https://example.com/",
);
const look = () => succeed(stateDir, "keys list", "accounts list --json");
const before = await look();

const expectedName = "1 to 64 ASCII characters, without a space at the start or end";
const expectedBurst = "a whole number from 1 to 1000000";
const expectedQuota = "a whole number from 1 to 2000000000";
const needsId = "needs a key's id, as keys list shows it";
const plans = "free, developer, startup, business, enterprise, portal";
const needsBoth = "plan enterprise needs --burst and --quota";
const expectedInRange = "a time that exists, from 1970-01-01 to 9999-12-31 in UTC";
const expectedLabel = "1 to 64 printable ASCII characters, without a space at the start or end";
const expectedTime = "a time such as 2027-01-31T00:00:00Z";
const words = "use create, update, list, revoke, expire, rotate; --help explains them";
const custom = "create --account new --plan enterprise";
const another = "create --account large --expires";
const hook = "update --account large --webhook";
const hospitals = "update --account A~&~B~hospitals";
const refused: [command: string, message: string | RegExp][] = [
  ["", `keys needs a command: ${words}`],
  ["toString", `keys has no command "toString": ${words}`],
  ["create", "keys create needs --account"],
  ["create --account=", `--account is "", expected ${expectedName}`],
  ["create --account x~", `--account is "x ", expected ${expectedName}`],
  ["create --account é", `--account is "é", expected ${expectedName}`],
  [`create --account ${"x".repeat(65)}`, `--account is "${"x".repeat(63)}…", expected ${expectedName}`],
  ["create --account new", `account new is new, so it needs --plan: ${plans}`],
  ["create --account new --plan gold", `--plan is "gold", expected one of ${plans}`],
  [custom, needsBoth],
  [`${hospitals} --plan enterprise --quota 5`, needsBoth],
  [`${custom} --burst 1000001 --quota 5`, `--burst is "1000001", expected ${expectedBurst}`],
  [`${custom} --burst 5 --quota 0`, `--quota is "0", expected ${expectedQuota}`],
  [`${custom} --burst 5 --quota 2000000001`, `--quota is "2000000001", expected ${expectedQuota}`],
  [
    "create --account new --plan free --burst 5 --quota 5",
    "plan free has its own burst and quota: leave out --burst and --quota",
  ],
  [`${another} 2020-01-01`, "--expires is 2020-01-01T00:00:00.000Z, expected a time in the future"],
  [`${another} tomorrow`, `--expires is "tomorrow", expected ${expectedTime}`],
  ...["2099-02-30", "9999-12-31T23:59:59-00:01", "1970-01-01T00:00:00+00:01"].map(
    (text): [string, string] => [`${another} ${text}`, `--expires is "${text}", expected ${expectedInRange}`],
  ),
  ...["~build", "bü", "x".repeat(65)].map((text): [string, string] => [
    `create --account large --label ${text}`,
    `--label is "${text.length > 64 ? `${"x".repeat(63)}…` : text.replace("~", " ")}", expected ${expectedLabel}`,
  ]),
  ["create --account large --colour red", /^keys create: unknown option '--colour'; use --account/],
  ["list all", 'keys list takes only --json, not "all"'],
  ["revoke x", `keys revoke ${needsId}, not "x"`],
  ["revoke 999", "there is no key 999: keys list has all ids"],
  ["revoke", `keys revoke ${needsId}`],
  ["revoke 01", `keys revoke ${needsId}, not "01"`],
  ["revoke 1 2", 'keys revoke takes nothing after the id, but has "2"'],
  ["rotate 1", "keys rotate needs --overlap"],
  ["rotate 1 --overlap -x", '--overlap needs a value, as --overlap=VALUE, not "-x"'],
  ["expire 3", "keys expire needs --at"],
  ...["soon", "Now", "2027-01-31T00:00:00.Z", "2027-01-31T00:00:00,5Z", "NaN", "-1"].map(
    (text): [string, string] => [
      `expire 3 --at=${text}`,
      `--at is "${text}", expected ${expectedTime}, up to 9999-12-31 in UTC, now or never`,
    ],
  ),
  [`${another} now`, `--expires is "now", expected ${expectedTime}`],
  ["expire 3 --at 2020-01-01", "--at is 2020-01-01T00:00:00.000Z, expected a time in the future"],
  ["update", "keys update needs --account"],
  ["update --account none --plan free", "there is no account none: accounts list has all names"],
  [
    "update --account large",
    "keys update needs something to change: --plan, --burst, --quota, --webhook, --email",
  ],
  ...["ann", "ann@exa mple.com", "<ann@example.com>"].map((text): [string, string] => [
    `update --account large --email ${text.replace(" ", "~")}`,
    `--email is "${text}", expected an e-mail address such as ann@example.com, or none`,
  ]),
  [`${hook} example.com`, '--webhook is "example.com", expected a URL'],
  [`${hook} https://a.example/${"x".repeat(2000)}`, /^--webhook is "https:.*x…", expected a URL$/],
  [`${hook} http://example.com/`, '--webhook is "http://example.com/", expected an https URL'],
  [`${hook} http://localhost:80/`, '--webhook is "http://localhost:80/", expected an https URL'],
  [
    `${hook} https://a:b@c.example/`,
    '--webhook is "https://…@c.example/", expected a URL without a user name or password',
  ],
  ...["10.0.0.1", "0x7f.1", "169.254.169.254", "[::1]"].map((host): [string, string] => [
    `${hook} https://${host}/`,
    `--webhook is "https://${host}/", expected a public address`,
  ]),
];
for (const [given, message] of refused)
  test(`keys ${given.slice(0, 100)} is refused`, async () => {
    const [{ code, stdout, stderr }] = await run(stateDir, [`keys ${given}`.trimEnd()]);
    assert.equal(stdout, "");
    if (typeof message === "string") assert.equal(stderr, `${message}\n`);
    else assert.match(stderr.trimEnd(), message);
    assert.doesNotMatch(stderr, /\n\s+at /);
    assert.equal(code, 1);
  });

for (const [given, message] of [
  [
    "accounts",
    "accounts needs a command: use list, export, import, suspend, resume, delete, rotate-secret; --help explains them",
  ],
  ["accounts suspend", "accounts suspend needs an account's name"],
  ["accounts delete none --yes", 'there is no account "none": accounts list has all names'],
  ["accounts delete large --no", 'accounts delete takes --yes after the name, not "--no"'],
  ["accounts delete large --yes more", 'accounts delete takes nothing after --yes, but has "more"'],
  [
    "accounts delete large",
    "accounts delete large needs --yes. It deletes the account for good: 1 key, 0 months of use, 0 events, 0 signups, its webhook. To block it for a time, use accounts suspend.",
  ],
  ["accounts rotate-secret large", "accounts rotate-secret needs --overlap"],
  [
    "accounts rotate-secret A~&~B~hospitals --overlap 1",
    "account A & B hospitals has no webhook, so no secret to rotate",
  ],
  ["events", "events needs a command: use list, retry; --help explains them"],
  ["events retry", "events retry needs an event's id, as events list shows it"],
  ["events retry 1 2", 'events retry takes nothing after the id, but has "2"'],
  ["events retry x", 'there is no event "x": events list has all ids'],
])
  test(`${given} is refused`, async () => {
    const [{ code, stdout, stderr }] = await run(stateDir, [given]);
    assert.deepEqual([code, stdout, stderr], [1, "", `${message}\n`]);
  });

/** Files that no command can use. Their names say what they are. */
const files = temporaryFolder();
mkdirSync(path.join(files, "folder"));
execFileSync("mkfifo", [path.join(files, "fifo")]);
writeFileSync(path.join(files, "empty"), "");
writeFileSync(path.join(files, "zeros"), Buffer.alloc(100));
writeFileSync(path.join(files, "binary"), Buffer.from("89504e470d0a1a0a00ff", "hex"));
symlinkSync("loop", path.join(files, "loop"));
writeFileSync(path.join(files, "release.csv"), csv(row));
const badFiles = [
  "folder",
  "fifo",
  "empty",
  "zeros",
  "binary",
  "loop",
  "missing",
  "empty/file",
  "loop/file",
].map((name) => path.join(files, name));
const oneLine = /^([^\n]+: found [^\n]+, expected [^\n]+|can't write [^\n]+: [^\n]+)\n$/;

test("a bad FILE gives one line that says what is wrong", async () => {
  const existing = badFiles.filter((file) => !file.endsWith("missing"));
  const commands = [
    ...badFiles.map((file) => `accounts import ${file}`),
    ...badFiles.map((file) => `import ${file} --year 2023 --out ${files}/out`),
    ...badFiles.map((file) => `import ${files}/release.csv --year 2023 --out ${files}/out --codes ${file}`),
    ...existing.map((file) => `accounts export ${file}`),
    ...existing.map((file) => `state backup ${file}`),
  ];
  for (const [i, { code, stdout, stderr }] of (await run(stateDir, commands)).entries()) {
    assert.deepEqual([code, stdout], [1, ""], commands[i]);
    assert.match(stderr, oneLine, commands[i]);
  }
  assert.ok(!existsSync(path.join(files, "out")));
});

test("accounts import takes only a regular file, and doesn't wait for anything else", async () => {
  for (const file of [path.join(files, "fifo"), "/dev/zero", "/dev/stdin"]) {
    const [{ stderr }] = await run(stateDir, [`accounts import ${file}`]);
    assert.equal(
      stderr,
      `file ${file}: found something that isn't a regular file, expected the output of accounts export or state backup\n`,
    );
  }
});

test("import passes over what isn't a snapshot in its folder", async () => {
  for (const make of [
    (file: string) => void execFileSync("mkfifo", [file]),
    (file: string) => mkdirSync(file),
    (file: string) => symlinkSync(path.basename(file), file),
  ]) {
    const datasets = temporaryFolder();
    await succeed(stateDir, `sample --out ${datasets} --year 2023 --rows 5`);
    make(path.join(datasets, "2023.9.parquet"));
    const [imported] = await run(stateDir, [`import ${files}/release.csv --year 2023 --out ${datasets}`]);
    assert.deepEqual([imported.code, imported.stdout], [0, `${datasets}/2023.10.parquet\n`], imported.stderr);
  }
});

const importUsage = /^import: unknown option '--other'; use hcqs import [^\n]*\n$/;
const fetchUsage = /^fetch: unknown option '--other'; use hcqs fetch [^\n]*\n$/;
const repeated = (option: string) => `${option} is given more than once`;
const wrongLines: [command: string, message: string | RegExp][] = [
  ["accounts export --other", "accounts export: unknown option '--other'; use a file to make"],
  [
    "accounts import --other",
    "accounts import: unknown option '--other'; use a file of accounts export or state backup",
  ],
  ["state backup --other", "state backup: unknown option '--other'; use a file to make"],
  ["import a.csv --year 2023 --other", importUsage],
  ["fetch --year 2023 --other", fetchUsage],
  ["keys expire 1 --other", "keys expire: unknown option '--other'; use --at with a value"],
  ["accounts export ", "accounts export needs a file to make, not an empty name"],
  ["accounts export", "accounts export needs a file to make"],
  ["accounts import", "accounts import needs a file of accounts export or state backup"],
  ["accounts import a --after 1 --after 2", repeated("--after")],
  ["accounts import ", "accounts import needs a file of accounts export or state backup, not an empty name"],
  ["state backup ", "state backup needs a file to make, not an empty name"],
  ["import  --year 2023", "import needs a FILE, not an empty name"],
  ["keys create --account b --account c --plan free", repeated("--account")],
  ["keys update --account large --plan free --plan=free", repeated("--plan")],
  ["keys expire 1 --at never --at now", repeated("--at")],
  ["keys rotate 1 --overlap 1 --overlap 2", repeated("--overlap")],
  ["accounts rotate-secret large --overlap 1 --overlap 1", repeated("--overlap")],
  ["import a.csv --year 2023 --year 2024", repeated("--year")],
  ["import a.csv --year 2023 --force --force", repeated("--force")],
  ["sample --year 2023 --out a --out b", repeated("--out")],
  ["fetch --year 2023 --url http://127.0.0.1:1/ --url http://127.0.0.1:1/", repeated("--url")],
];
const wrongNumbers = ["", "-1", "1e3", "NaN", "0x10", "1.0", "+1", "~1", "9".repeat(400)];
const numbers: [command: string, option: string][] = [
  ["sample --out a --year 2023", "--rows"],
  ["sample --out a --year 2023", "--seed"],
  ["sample --out a", "--year"],
  ["import a.csv", "--year"],
  ["fetch", "--year"],
  ["keys create --account b --plan enterprise --quota 5", "--burst"],
  ["keys create --account b --plan enterprise --burst 5", "--quota"],
  ["keys rotate 1", "--overlap"],
  ["accounts rotate-secret large", "--overlap"],
  ["keys expire 1", "--at"],
  ["keys create --account b --plan free", "--expires"],
];

test("unknown and repeated options, and empty names, give one line", async () => {
  const results = await run(
    stateDir,
    wrongLines.map(([command]) => command),
  );
  for (const [i, [command, message]] of wrongLines.entries()) {
    const { code, stdout, stderr } = results[i];
    assert.deepEqual([code, stdout], [1, ""], command);
    if (typeof message === "string") assert.equal(stderr, `${message}\n`);
    else assert.match(stderr, message);
  }
  for (const name of ["--other", "a", "b"]) assert.ok(!existsSync(name), name);
});

test("values of options that are no numbers give one line", async () => {
  const commands = numbers.flatMap(([command, option]) =>
    wrongNumbers.map((value) => ({ option, line: `${command} ${option}=${value}` })),
  );
  const results = await run(
    stateDir,
    commands.map(({ line }) => line),
  );
  for (const [i, { option, line }] of commands.entries()) {
    const { code, stdout, stderr } = results[i];
    assert.deepEqual([code, stdout], [1, ""], line);
    assert.match(stderr, /^[^\n]+, expected [^\n]+\n$/, line);
    assert.ok(stderr.startsWith(`${option} is "`), stderr);
  }
});

test("refused commands change nothing", async () => {
  assert.deepEqual(await look(), before);
});

const onMissingState = [
  "keys list",
  "keys list --json",
  "keys revoke 1",
  "keys expire 1 --at never",
  "keys rotate 1 --overlap 1",
  "keys update --account a --plan free",
  "accounts list",
  "accounts rotate-secret a --overlap 1",
  "events list",
  "events retry x",
];
test("without a state, every command but create is refused and creates nothing", async () => {
  const home = temporaryFolder();
  const empty = path.join(home, "empty");
  mkdirSync(empty);
  for (const folder of [path.join(home, "var"), empty])
    for (const { code, stdout, stderr } of await run(folder, onMissingState)) {
      assert.deepEqual([code, stdout], [1, ""]);
      assert.equal(
        stderr,
        `STATE_DIR ${folder}: found no state.sqlite, expected a folder with the state of a server\n`,
      );
    }
  assert.deepEqual([readdirSync(home), readdirSync(empty)], [["empty"], []]);
});

test("a refused create command creates no state", async () => {
  const home = temporaryFolder();
  const folder = path.join(home, "var");
  const commands = ["keys create --account a", "keys create --account a --plan gold", "keys create"];
  for (const { code, stdout, stderr } of await run(folder, commands)) {
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^[^\n]*--\w+[^\n]*\n$/);
    assert.deepEqual(readdirSync(home), []);
  }
});

test("STATE_DIR defaults to var, and keys list doesn't create it", async () => {
  const home = temporaryFolder();
  const { code, stderr } = await new Running(
    "server/commands/keys.ts",
    ["list"],
    {},
    { cwd: home },
  ).finished();
  assert.equal(code, 1);
  assert.ok(stderr.startsWith(`STATE_DIR ${path.join(home, "var")}: found no state.sqlite`), stderr);
  assert.ok(!existsSync(path.join(home, "var")));
});

test("an unusable STATE_DIR gives one line without a stack trace", async () => {
  for (const folder of ["/proc/self/state", "/dev/null/state"]) {
    const [{ code, stdout, stderr }] = await run(folder, ["keys create --account a --plan free"]);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(
      stderr,
      /^state database .*: found .*, expected a database that can be read and written; STATE_DIR may name another folder\n$/,
    );
  }
});

function spawnKeys(word: string, stdout: "pipe" | number) {
  const file = path.resolve(import.meta.dirname, "../../server/commands/keys.ts");
  const env = {
    PATH: process.env.PATH,
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    STATE_DIR: stateDir,
  };
  return spawn(process.execPath, [...keepingStripped, file, word], {
    env,
    stdio: ["ignore", stdout, "pipe"],
  });
}

async function endOf(child: ChildProcess): Promise<{ code: unknown; stderr: string }> {
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk;
  });
  const [code]: unknown[] = await once(child, "close");
  return { code, stderr };
}

test("a closed stdout pipe is no error", async () => {
  for (const word of ["list", "--help"]) {
    const child = spawnKeys(word, "pipe");
    child.stdout?.destroy();
    assert.deepEqual(await endOf(child), { code: 0, stderr: "" });
  }
});

test("a write error on stdout gives exit code 1", async () => {
  const full = openSync("/dev/full", "w");
  const { code, stderr } = await endOf(spawnKeys("list", full));
  closeSync(full);
  assert.equal(code, 1);
  assert.match(stderr, /^the command's output can't be written: ENOSPC[^\n]*\n$/);
});
