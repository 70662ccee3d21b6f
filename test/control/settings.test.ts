import assert from "node:assert/strict";
import { existsSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { shown } from "../../engine/query.ts";
import { machineFaults } from "../../server/control/machine.ts";
import { configure } from "../../server/part.ts";
import { portalSettings, settingTable } from "../../server/parts/portal/settings.ts";
import { parts } from "../../server/parts.ts";
import { pathIn } from "../../server/shared/paths.ts";
import { coreSettings, readSettings, readTable } from "../../server/shared/settings.ts";
import { run } from "../support/commands.ts";
import { documentAt } from "../support/readme.ts";
import { Running, temporaryFolder } from "../support/server.ts";

/** Tests settings from the environment, and the help of every command. */

/** Runs a server that has to end by itself. */
const runServer = (args: string[], env: Record<string, string>, cwd?: string) =>
  new Running("server/main.ts", args, env, { cwd }).finished();

test("all invalid settings are listed at once, and nothing is created", async () => {
  const home = temporaryFolder();
  const missing = path.join(home, "missing");
  const { code, stdout, stderr } = await runServer([], {
    HOST: "a b",
    PORT: "65536",
    OPS_HOST: "192.0.2.1",
    OPS_PORT: "-1",
    DATASETS_DIR: missing,
    STATE_DIR: import.meta.filename,
    THREADS: "0",
    SIGNUP: "yes",
    SIGNUP_DAILY: "-1",
    SMTP_URL: "http://user:secret@localhost",
    MAIL_FROM: "nobody",
    DATABASE_URL: "mysql://u:secret@localhost/a",
    DATABASE_GRACE: "-1",
  });
  assert.deepEqual([code, stdout], [1, ""]);
  assert.deepEqual(
    stderr.split("\n").sort(),
    [
      'HOST is "a b", expected a host name or an IP address',
      'PORT is "65536", expected a whole number from 0 to 65535',
      'OPS_HOST is "192.0.2.1", expected a name or an address of this machine, to listen on',
      'OPS_PORT is "-1", expected a whole number from 0 to 65535',
      `DATASETS_DIR is "${missing}", expected an existing folder that can be read`,
      `STATE_DIR is ${shown(import.meta.filename)}, expected a folder, or nothing yet`,
      'THREADS is "0", expected a whole number from 1 to 256',
      'SIGNUP is "yes", expected open, email or off',
      'SIGNUP_DAILY is "-1", expected a whole number from 0 to 100000',
      "SMTP_URL has another form, expected smtp://[USER:PASSWORD@]HOST[:PORT], or smtps://…, in a password %23 for #, %3F for ?, %25 for %, %2F for /, %3A for :, %40 for @",
      'MAIL_FROM is "nobody", expected an e-mail address, or a name and one such as Prices <prices@example.com>',
      "DATABASE_URL has another form, expected postgres://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]…]/DATABASE[?sslmode=…], in a password %23 for #, %3F for ?, %25 for %, %2F for /, %3A for :, %40 for @",
      'DATABASE_GRACE is "-1", expected a whole number from 0 to 86400',
      "",
    ].sort(),
  );
  assert.deepEqual(readdirSync(home), []);
});

for (const [name, value] of [
  ["PORT", "http"],
  ["OPS_PORT", "1e3"],
  ["THREADS", "257"],
  ["HOST", "http://localhost"],
  ["PORTAL", "yes"],
  ["TRUSTED_PROXIES", "10"],
  ["CORS_ORIGINS", "https://example.org/"],
  ["CORS_ORIGINS", "https://example.org,"],
  ["CORS_ORIGINS", "*,https://example.org"],
  ["CORS_ORIGINS", "https://*.example.org"],
  ["PUBLIC_URL", "https://*.example.org"],
])
  test(`${name}=${value} is refused`, () => {
    const lines = configure(parts, { [name]: value });
    assert.ok(Array.isArray(lines) && lines.length === 1);
    assert.ok(lines[0].startsWith(`${name} is "${value}", expected `), lines[0]);
  });

test("a list in a setting is refused if one of its entries is wrong, and read without blanks otherwise", () => {
  const names = "host names without ports, with commas between them";
  const accounts = "accounts' names, with commas between them";
  const origins = "origins such as https://example.org, with commas between them, or * alone";
  for (const [name, value, expected] of [
    ["OPS_ALLOWED_HOSTS", "a.example,b c", names],
    ["OPS_ALLOWED_HOSTS", "a.example:80,b", names],
    ["OPS_ALLOWED_HOSTS", "a.example,", names],
    ["OPS_ALLOWED_HOSTS", "a..example", names],
    ["ACCESS_LOG_ACCOUNTS", "a,,b", accounts],
    ["CORS_ORIGINS", "https://example.org,example.org", origins],
    ["CORS_ORIGINS", "https://example.org:0", origins],
    ["CORS_ORIGINS", "https://Example.org", origins],
    ["LOG_LEVEL", "loud", "one of trace, debug, info, warn, error, fatal, silent"],
    ["WEBHOOK_ALLOW_LOOPBACK", "yes", "true or false"],
    ["ACCESS_LOG", "1001", "a whole number from 0 to 1000"],
    ["ACCESS_LOG", "010", "a whole number from 0 to 1000 without leading zeros"],
    ["HOST", "a b", "a host name or an IP address"],
    ["HOST", "fe80::1%", "a host name or an IP address"],
  ])
    assert.deepEqual(readSettings({ ACCESS_LOG: "1", [name]: value }), [
      `${name} is "${value}", expected ${expected}`,
    ]);
  const given = readSettings({
    ...{ OPS_ALLOWED_HOSTS: "A.example, b-c_1", ACCESS_LOG_ACCOUNTS: "a, b c", ACCESS_LOG: "1" },
    ...{ CORS_ORIGINS: "https://example.org, http://[::1]:8080", HOST: "fe80::1%eth0", LOG_LEVEL: "trace" },
    ...{ OPS_HOST: "my-host.example", WEBHOOK_ALLOW_LOOPBACK: "true", TRUSTED_PROXIES: "9", THREADS: "256" },
  });
  assert.ok(!Array.isArray(given));
  assert.deepEqual(
    [given.OPS_ALLOWED_HOSTS, given.ACCESS_LOG_ACCOUNTS, given.CORS_ORIGINS],
    [
      ["a.example", "b-c_1"],
      ["a", "b c"],
      ["https://example.org", "http://[::1]:8080"],
    ],
  );
  assert.deepEqual([given.WEBHOOK_ALLOW_LOOPBACK, given.HOST, given.ACCESS_LOG], [true, "fe80::1%eth0", 1]);
  const all = readSettings({ CORS_ORIGINS: "*" });
  assert.deepEqual(Array.isArray(all) ? all : all.CORS_ORIGINS, ["*"]);
  assert.deepEqual(readSettings({ ACCESS_LOG_ACCOUNTS: "a" }), [
    'ACCESS_LOG is "0", expected at least 1, as ACCESS_LOG_ACCOUNTS is set',
  ]);
});

/** Each has the password "geheim", and can't be the value of any setting. */
const withPassword = [
  "https://joe:geheim@example.org/%zz",
  "https://geheim@example.org/%zz",
  "joe:geheim@example.org/%zz",
  "//joe:geheim@example.org/%zz",
  "https:/joe:geheim@example.org/%zz",
  "https://joe:ge/he@im:geheim@example.org/%zz",
  "ftp://joe:1#geheim@example.org/%zz",
  "https://example.org,https://joe:geheim@example.org/%zz",
];

/** Each has a secret "geheim" or "987654" elsewhere in a URL, and can't be the value of any setting. */
const withSecret = [
  ...["https://joe:geheim", "https:/joe:geheim", "https:joe:geheim", "//joe:geheim", "ftp://joe:geheim"],
  ...["https://joe:ge heim", "https://joe:x,geheim", "https://joe:1geheim", "https://joe:987654"],
  ...["https://example.org:8080:geheim", "https://[::1]:geheim", "https://joe:geheim/path"],
  ...["https://example.org/?token=geheim", "https://example.org?token=geheim", "example.org/?token=geheim"],
  ...["https://example.org/#geheim", "https://example.org:8080/geheim", "https:\\\\example.org\\geheim"],
  ...["https://example.org,https://joe:geheim", "https://example.org,https://example.org/geheim"],
  ...["https://[::1]/a/geheim", "https://joe@example.org/?token=geheim"],
];

test("what is shown of a URL in a setting is its scheme, host and port", () => {
  for (const [value, said] of [
    ["https://joe:geheim", "https://joe:…"],
    ["https://example.org/?token=geheim", "https://example.org/…"],
    ["https://example.org?token=geheim", "https://example.org?…"],
    ["https://example.org:8080/a/b", "https://example.org:8080/…"],
    ["https://[::1]:8080/a", "https://[::1]:8080/…"],
    ["https://example.org,https://a.example:99999", "https://example.org,https://a.example:…"],
    ["https://example.org:8080/", "https://example.org:8080/"],
    ["https://joe:geheim@example.org/?token=geheim", "https://…@example.org/…"],
  ])
    assert.deepEqual(configure(parts, { PUBLIC_URL: value }), [
      `PUBLIC_URL is ${shown(said)}, expected an address such as https://prices.example.org, without a path`,
    ]);
});

test("no message about a setting shows a password or another secret of a URL", async () => {
  const names = [coreSettings, ...parts.map(({ settings }) => settings)].flatMap(Object.keys);
  let refused = 0;
  const values = [...withPassword, ...withSecret];
  for (const value of values)
    for (const name of names) {
      const lines = configure(parts, { [name]: value });
      const faults = [...(Array.isArray(lines) ? lines : []), ...(await machineFaults({ [name]: value }))];
      if (faults.length > 0) refused++;
      assert.doesNotMatch(faults.join("\n"), /geheim|heim|987654/, `${name}=${value}`);
    }
  // Any text can be a folder's name, an account's name or the like.
  assert.ok(refused > values.length * (names.length - 4), `${refused} were refused`);
});

test("no message about an argument shows a password of a URL", async () => {
  const server = await runServer([`DATABASE_URL=postgres://u:geheim@example.org/a`], {});
  assert.deepEqual([server.code, /geheim/.test(server.stderr)], [1, false]);
  for (const value of withPassword.filter((value) => !value.includes(","))) {
    const results = await run(temporaryFolder(), [
      `keys create --account a --plan free --webhook ${value}`,
      `fetch --year 2023 --url ${value} --out ${import.meta.filename}`,
      `fetch --year 2023 --catalogue ${value}`,
      `import ${import.meta.filename} --year 2023 --source-url ${value}`,
    ]);
    for (const { code, stderr } of results)
      assert.deepEqual([code, /geheim/.test(stderr)], [1, false], `${value}: ${stderr}`);
  }
});

test("equal PORT and OPS_PORT are refused, also beside other errors", () => {
  const samePort = 'OPS_PORT is "8080", expected another port than PORT';
  assert.deepEqual(readSettings({ PORT: "8080", OPS_PORT: "8080" }), [samePort]);
  assert.deepEqual(readSettings({ PORT: "9090" }), [samePort.replace("8080", "9090")]);
  assert.deepEqual(readSettings({ PORT: "8080", OPS_PORT: "8080", THREADS: "0" }), [
    samePort,
    'THREADS is "0", expected a whole number from 1 to 256',
  ]);
  for (const apart of [
    { PORT: "0", OPS_PORT: "0" },
    { PORT: "8080", OPS_PORT: "8080", HOST: "::1" },
  ])
    assert.ok(!Array.isArray(readSettings(apart)));
});

test("an empty setting counts as unset, and other values replace the defaults", () => {
  const defaults = readSettings({});
  assert.deepEqual(readSettings({ PORT: "", THREADS: "", HOST: "" }), defaults);
  assert.ok(!Array.isArray(defaults));
  assert.deepEqual([defaults.HOST, defaults.PORT, defaults.OPS_PORT], ["127.0.0.1", 8080, 9090]);
  const given = readSettings({ PORT: "1", HOST: "::1", STATE_DIR: "x", THREADS: "3" });
  assert.deepEqual(given, {
    ...defaults,
    PORT: 1,
    HOST: "::1",
    STATE_DIR: path.resolve("x"),
    isTrial: false,
    THREADS: 3,
  });
});

test("signup is open without a STATE_DIR, and otherwise only if SIGNUP is set", () => {
  const signup = (environment: Record<string, string>) => {
    const [own, core] = [readTable(settingTable, environment), readSettings(environment)];
    assert.ok(!Array.isArray(own) && !Array.isArray(core));
    return portalSettings(own, core).signup;
  };
  assert.equal(signup({}), "open");
  assert.equal(signup({ SIGNUP: "off" }), "off");
  assert.equal(signup({ STATE_DIR: "x" }), "off");
  assert.equal(signup({ STATE_DIR: "x", SIGNUP: "open" }), "open");
  assert.deepEqual(configure(parts, { SIGNUP: "email" }), [
    'SIGNUP is "email", expected SMTP_URL and MAIL_FROM beside it',
  ]);
  const mail = { SMTP_URL: "smtp://mail.example.com", MAIL_FROM: "a@example.com" };
  assert.equal(signup({ SIGNUP: "email", ...mail }), "email");
});

test("SMTP_URL and MAIL_FROM are validated without showing a password", () => {
  const mail = (SMTP_URL: string, MAIL_FROM = "a@example.com") => {
    const settings = readSettings({ SMTP_URL, MAIL_FROM });
    return Array.isArray(settings) ? settings : { smtpUrl: settings.SMTP_URL, from: settings.MAIL_FROM };
  };
  for (const smtpUrl of [
    "smtp://mail.example.com",
    "smtps://user:p%40ss@mail.example.com:465",
    "smtp://[::1]:25",
    "smtp://user:p%23%3F%25%2F%3A%40ss@mail.example.com/",
  ])
    assert.deepEqual(mail(smtpUrl), { smtpUrl, from: { name: "", address: "a@example.com" } });
  for (const wrong of [
    "mail.example.com",
    "smtp://",
    "smtp://mail.example.com:0",
    "smtp://user@mail.example.com",
    "smtp://user:%zz@mail.example.com",
    "smtp://mail.example.com/?tls.rejectUnauthorized=false",
    "https://user:secret@mail.example.com",
    "smtp://user:sec#ret@mail.example.com",
    "smtp://user:12#34@mail.example.com",
    "smtp://user:12?34@mail.example.com",
    "smtp://user:12/34@mail.example.com",
    "smtp://user:sec@ret@mail.example.com",
    "smtp://user:secret@mail.example.com#",
    "smtp://user:secret@mail.example.com/#x",
    "smtp://user:secret@mail.example.com:00",
    "smtp://user:secret@mail.example.com:65536",
    "smtp://user:%ff@mail.example.com",
    "smtp://user:sec ret@mail.example.com",
    "smtp://user:sec\tret@mail.example.com",
    "smtp://user:secret@$HOST",
    "smtp://user:secret@a.example,b.example",
  ])
    assert.deepEqual(mail(wrong), [
      "SMTP_URL has another form, expected smtp://[USER:PASSWORD@]HOST[:PORT], or smtps://…, in a password %23 for #, %3F for ?, %25 for %, %2F for /, %3A for :, %40 for @",
    ]);
  for (const [sender, name] of [
    ["Charge Prices <a@example.com>", "Charge Prices"],
    ["<a@example.com>", ""],
  ])
    assert.deepEqual(mail("smtp://x", sender), {
      smtpUrl: "smtp://x",
      from: { name, address: "a@example.com" },
    });
  for (const wrong of ["a", "a@example", "A <a@example.com> b", "A\nBcc: b@example.com <a@example.com>"])
    assert.deepEqual(mail("smtp://x", wrong), [
      `MAIL_FROM is ${shown(wrong)}, expected an e-mail address, or a name and one such as Prices <prices@example.com>`,
    ]);
  assert.deepEqual(readSettings({ SMTP_URL: "smtp://user:secret@x.example" }), [
    "MAIL_FROM is unset, expected an e-mail address, or a name and one such as Prices <prices@example.com>, as SMTP_URL is set",
  ]);
});

test("HOST and OPS_HOST accept only names and addresses of this machine", async () => {
  for (const host of ["127.0.0.1", "127.0.0.2", "localhost", "::1", "0.0.0.0", "::"])
    assert.deepEqual(await machineFaults({ HOST: host, OPS_HOST: host }), [], host);
  const expected = "expected a name or an address of this machine, to listen on";
  for (const host of ["nowhere.invalid", "198.51.100.7", "2001:db8::1", "1.2.3"])
    assert.deepEqual(await machineFaults({ HOST: host, OPS_HOST: host }), [
      `HOST is "${host}", ${expected}`,
      `OPS_HOST is "${host}", ${expected}`,
    ]);
});

test("DATASETS_DIR has to be a readable folder if it is set", async () => {
  const home = temporaryFolder();
  const [file, loop, link] = ["file", "loop", "link"].map((name) => path.join(home, name));
  writeFileSync(file, "");
  symlinkSync(loop, loop);
  symlinkSync(home, link);
  for (const wrong of [file, loop, path.join(home, "missing"), path.join(file, "below")])
    assert.deepEqual(await machineFaults({ DATASETS_DIR: wrong }), [
      `DATASETS_DIR is "${wrong}", expected an existing folder that can be read`,
    ]);
  for (const right of [home, link]) assert.deepEqual(await machineFaults({ DATASETS_DIR: right }), [], right);
});

test("a command ignores invalid settings that only the server uses", async () => {
  const env = { DATASETS_DIR: "/nowhere", HOST: "198.51.100.7" };
  const [{ code, stderr }] = await run(temporaryFolder(), ["keys create --account a --plan free"], env);
  assert.equal(code, 0, stderr);
});

test("npm start -- --help lists every setting with its default, as server/README.md does, and starts nothing", async () => {
  const home = temporaryFolder();
  const { code, stdout, stderr } = await runServer(["serve", "-h"], { PORT: "wrong" }, home);
  assert.deepEqual([code, stderr], [0, ""]);
  const listed = [...stdout.matchAll(/^ {2}([A-Z_]+) \((\S+)\)$/gm)].map(([, name, value]) => [name, value]);
  const table = [
    ...documentAt("server/README.md").matchAll(/^\| (`[A-Z_]+`(?:, `[A-Z_]+`)*) \| (.*?) \|/gm),
  ].flatMap(([, names, values]) =>
    names.split(", ").map((name, i) => [name, values.split(", ")[i]].map((word) => word.replaceAll("`", ""))),
  );
  assert.deepEqual(
    listed.map(([name, value]) => [name, name === "THREADS" ? "all cores" : value]).sort(),
    table.sort(),
  );
  assert.ok(!existsSync(path.join(home, "var")));
});

test("npm start takes settings from the environment alone", async () => {
  const { code, stdout, stderr } = await runServer(["--port", "8081"], {});
  assert.deepEqual([code, stdout], [1, ""]);
  assert.equal(stderr, 'hcqs start: found "--port 8081", expected --help or nothing more\n');
});

const words = {
  keys: ["create", "update", "list", "revoke", "expire", "rotate"],
  accounts: ["list", "export", "import", "suspend", "resume", "delete", "rotate-secret"],
  events: ["list", "retry"],
  state: ["backup"],
};
for (const [name, subcommands] of Object.entries(words))
  test(`${name} --help explains every subcommand on stdout and creates nothing`, async () => {
    const folder = path.join(temporaryFolder(), "state");
    const [all, short] = await run(folder, [`${name} --help`, `${name} -h`], { PORT: "wrong" });
    assert.deepEqual([all.code, all.stderr], [0, ""]);
    assert.deepEqual(short, all);
    // A backup has only the folder's content, so the help of `state` names other tools for a database.
    assert.equal(/what all servers with that database have in common/.test(all.stdout), name !== "state");
    const explained = [...all.stdout.matchAll(/^ {2}([a-z-]+).*\n {6}[A-Z].*\.$/gm)].map(([, word]) => word);
    assert.deepEqual(explained, subcommands);

    const lines = subcommands.map((word) => `${name} ${word} --account x --help`);
    for (const [i, one] of (await run(folder, lines)).entries()) {
      assert.deepEqual([one.code, one.stderr], [0, ""]);
      const [, word] = /^usage: .*\n\n {2}([a-z-]+)/.exec(one.stdout) ?? [];
      assert.equal(word, subcommands[i]);
      assert.ok(one.stdout.length <= all.stdout.length);
    }
    assert.ok(!existsSync(folder));
  });

const badPaths = [
  "",
  " ",
  "/var/lib/hcqs ",
  " /var/lib/hcqs",
  "/var/lib/hcqs\r",
  "/var/lib/hcqs\n",
  "/var/lib\t/hcqs",
  '"/var/lib/hcqs"',
  "'/var/lib/hcqs'",
  "/var/lib/hcqs'",
  "“/var/lib/hcqs”",
  "/var/lib/hcqs # the state",
  "/var/lib/hcqs\u00A0",
  "~",
  "~/hcqs",
  "~hcqs/state",
  "$HOME/hcqs",
  `$${"{HOME}"}/hcqs`,
  "\u0000",
];

test("a path that no shell has read is refused by the server and by commands, and nothing is created", async () => {
  const home = temporaryFolder();
  const expected =
    "expected a path without a blank or quote at its beginning or end, ~ or $ at its beginning, a comment or a control character";
  for (const name of ["STATE_DIR", "DATASETS_DIR"])
    for (const path of badPaths) {
      const faults = readSettings({ [name]: path });
      assert.ok(Array.isArray(faults), path);
      assert.match(faults.join("\n"), new RegExp(`^${name} is ".*", ${expected.replaceAll("$", "[$]")}$`));
      assert.deepEqual(
        (await machineFaults({ [name]: path })).filter((fault) => !faults.includes(fault)),
        [],
        path,
      );
      assert.throws(() => pathIn({ [name]: path }, name, "x"), {
        message: `${name}: found ${shown(path)}, ${expected}`,
      });
    }
  const wrong = { STATE_DIR: '"state"', DATASETS_DIR: "~/datasets", HOME: home };
  const expectedText = /^(STATE_DIR|DATASETS_DIR).*, expected a path without a blank or quote/;
  const results = await run(
    wrong.STATE_DIR,
    [
      "keys create --account a --plan free",
      "accounts list",
      "state backup x",
      `sample --out ${home} --year 2024`,
      `import ${import.meta.filename} --year 2024`,
      "fetch --list",
    ],
    wrong,
  );
  const ofServer = await new Running("server/main.ts", [], wrong).finished();
  for (const { code, stdout, stderr } of [...results, ofServer]) {
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, expectedText);
  }
  assert.deepEqual(readdirSync(home), []);
});

test("paths with other unusual characters are accepted", () => {
  for (const name of ["a b", "a#b", "#a", "it's", "a$b", "a~", "état", ".", "-", 'a"b']) {
    const settings = readSettings({ STATE_DIR: name, DATASETS_DIR: name });
    assert.ok(!Array.isArray(settings), name);
    assert.equal(settings.STATE_DIR, path.resolve(name));
  }
});
