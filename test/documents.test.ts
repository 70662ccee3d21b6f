import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { backOff } from "../server/api/errors.ts";
import { openapiDocument } from "../server/api/openapi.ts";
import { accountUsage } from "../server/commands/account-options.ts";
import { maxTries, pausesSeconds } from "../server/parts/notifications/outbox.ts";
import { loopOf } from "../server/parts/portal/browser/programs.ts";
import { maxPosts, maxPostsPerClient } from "../server/serving/posts.ts";
import { channels } from "../server/shared/channels.ts";
import { plans } from "../server/shared/plans.ts";
import { coreSettings } from "../server/shared/settings.ts";
import { filesOf } from "../server/store/served.ts";
import { blocksOf, documentAt, documents, tracked } from "./support/readme.ts";

/** Tests that commands, options, links, files, metrics and figures in the documents exist. */

const root = resolve(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const description = JSON.parse(read("package.json"));
const readme = documentAt("README.md");

const faults = (check: (text: string, path: string) => string[]) =>
  [...documents].flatMap(([path, text]) => check(text, path).map((fault) => `${path}: ${fault}`));

test("these tests read every README of the repository", () => {
  const found = tracked.filter((path) => path.endsWith("README.md"));
  assert.deepEqual(found.sort(), [...documents.keys()].sort());
});

/** Makes a heading's anchor like GitHub. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .replaceAll(" ", "-");

/** In code, `#` and `](` have other meanings. */
const withoutBlocks = (text: string) => text.replace(/^```.*?^```$/gms, "");

test("every link leads to an existing file and heading", () => {
  const broken = faults((text, path) =>
    Array.from(withoutBlocks(text).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)/g), ([, to, anchor]) => {
      const target = to === "" ? path : join(dirname(path), to);
      if (!existsSync(join(root, target))) return `no ${to}`;
      if (anchor === undefined) return "";
      const headings = withoutBlocks(read(target)).matchAll(/^#+ (.*)$/gm);
      const anchors = Array.from(headings, (match) => anchorOf(match[1]));
      return anchors.filter((known) => known === anchor).length === 1 ? "" : `no ${to}#${anchor}`;
    }).filter((fault) => fault !== ""),
  );
  assert.deepEqual(broken, []);
});

/** Collects blocks of commands without comments and output, and texts between backquotes. */
function codeOf(text: string): string[] {
  const shown = blocksOf(text, "console").flatMap((block) => block.match(/(?<=^\$ ).*/gm) ?? []);
  const typed = blocksOf(text, "sh")
    .flatMap((block) => block.split("\n"))
    .map((line) => line.replace(/(?:^| )#.*/, ""));
  const spans = Array.from(withoutBlocks(text).matchAll(/`([^`\n]+)`/g), ([, span]) => span);
  return [...shown, ...typed, ...spans];
}

/** @param word such as `create` in `keys create` */
function usageOf(by: string, name: string, word: string | undefined): string | undefined {
  const script: string | undefined = description.scripts[name];
  if (!script?.startsWith("exec server/hcqs ")) {
    const [, benchmark] = /\bnode (bench\/\S+)$/.exec(script ?? "") ?? [];
    if (benchmark !== undefined) return read(benchmark) + read("bench/options.ts");
    return by === "npm" && script !== undefined ? "" : undefined;
  }
  if (name === "start") return "";
  const path = `server/commands/${name}.ts`;
  const source = read(tracked.includes(path) ? path : assert.fail(name));
  if (!source.includes('await runCommand("')) return /\busage\b.*?\n`/s.exec(source)?.[0];
  if (word === undefined) return "";
  const usage = new RegExp(`^  "?${word}"?: \\{\\s+usage: (.*?),(?: about|$)`, "m").exec(source)?.[1];
  return usage?.replace(/\$\{accountUsage\}/, accountUsage);
}

test("every command in a document exists, with its options", () => {
  let seen = 0;
  const command =
    /(?<![^\s(])(?:(npm) (?:run (?:--silent )?)?|(hcqs) )(?!ci |pack$|rebuild |install )([a-z][a-z:]*)(?![\w/.])(?: --(?= ))?([^&|)]*)/g;
  const wrong = faults((text) =>
    codeOf(text).flatMap((code) =>
      Array.from(code.matchAll(command)).flatMap(([all, npm, hcqs, name, rest]) => {
        seen += 1;
        const words = rest.split(/[\s[\]]+/).filter((word) => word !== "");
        const usage = usageOf(npm ?? hcqs, name, words[0]);
        if (usage === undefined) return [`there is no ${all}`];
        const options = words.filter((word) => /^--[a-z]/.test(word) && word !== "--help");
        return options
          .filter((option) => !new RegExp(`${option}(?![\\w-])`).test(usage))
          .map((option) => `${option} isn't known: ${all}`);
      }),
    ),
  );
  assert.deepEqual(wrong, []);
  assert.ok(seen > 40, `${seen} commands`);
});

test("every file that a document names without a link exists", () => {
  const missing = faults((text) =>
    [...codeOf(text), ...blocksOf(text, "")].flatMap((code) =>
      Array.from(
        code.matchAll(/(?<![\w./-])(?:\.\.\/)*((?:[\w-]+\/)*[\w.-]+\.(?:ts|lua|service|yaml))\b/g),
        ([, name]) => name,
      ).filter((name) => !tracked.some((path) => path === name || path.endsWith(`/${name}`))),
    ),
  );
  assert.deepEqual(missing, []);
});

test("every file that a comment names exists", () => {
  const code = tracked.filter((path) => /^(?:server|datasets|engine|bench|test)\/.*\.ts$/.test(path));
  const missing = code.flatMap((path) =>
    (read(path).match(/\/\*.*?\*\/|(?<!:)\/\/[^\n]*/gs) ?? [])
      .flatMap((comment) => comment.match(/(?<![\w./-])(?:[\w-]+\/)*[\w.-]+\.ts\b/g) ?? [])
      .filter((name) => !tracked.some((other) => other === name || other.endsWith(`/${name}`)))
      .map((name) => `${path}: ${name}`),
  );
  assert.deepEqual(missing, []);
});

test("the lock file, the changelog and the documents name the version of package.json", () => {
  const lock = JSON.parse(read("package-lock.json"));
  const [, newest] = /^## (\d+\.\d+\.\d+)/m.exec(read("CHANGELOG.md")) ?? [];
  const packed = faults((text) => text.match(/(?<=\bhealthcare-charge-query-service-).*(?=\.tgz)/g) ?? []);
  assert.deepEqual(
    [lock.version, lock.packages[""].version, newest, ...packed],
    [...Array(3).fill(description.version), `server/README.md: ${description.version}`],
  );
});

test("the documented plans have the limits of the service's plans", () => {
  const rows = documentAt("server/README.md").matchAll(
    /^\| `(\w+)` \| ([\d,]+|its own) \| ([\d,]+|its own) \|$/gm,
  );
  const numberOf = (text: string) => (text === "its own" ? undefined : Number(text.replaceAll(",", "")));
  assert.deepEqual(
    Array.from(rows, ([, plan, burst, quota]) => [plan, numberOf(burst), numberOf(quota)]),
    Object.entries(plans).map(([plan, numbers]) => [plan, numbers?.burst, numbers?.quota]),
  );
});

const product = tracked.filter((path) => /^(?:server|datasets|engine)\/.*\.ts$/.test(path)).map(read);

test("the documented ceilings of POSTs are those of the server", () => {
  const [, ofClient, ofAll] =
    /a client may send (\d+) POSTs in a row .*? together may have (\d+) POSTs in flight/i.exec(
      documentAt("server/README.md"),
    ) ?? [];
  assert.deepEqual([Number(ofClient), Number(ofAll)], [maxPostsPerClient, maxPosts]);
});

test("every environment variable in a document is used by a program", () => {
  const name = /\b[A-Z]+(?:_[A-Z]+)+\b/g;
  const tools = tracked.filter((path) => /^(?:test|bench)\/.*\.ts$/.test(path)).map(read);
  const known = new Set([...product, ...tools, read("server/hcqs")].join("\n").match(name));
  assert.deepEqual(
    faults((text) => (codeOf(text).join("\n").match(name) ?? []).filter((each) => !known.has(each))),
    [],
  );
});

test("the documented metrics are exactly the registered ones", () => {
  const described = Array.from(
    documentAt("server/README.md").matchAll(/`(hcqs_[a-z_]*[a-z])/g),
    ([, name]) => name,
  );
  // Some names of metrics contain a placeholder for a channel.
  const registered = Array.from(
    product.join("\n").matchAll(/["`](hcqs_[$a-z_{}.]*[a-z])["`]/g),
    ([, name]) => name,
  ).flatMap((name) => channels.map((channel) => name.replace(/\$\{.*\}/, channel)));
  assert.deepEqual(new Set(described.sort()), new Set(registered.sort()));
});

test("the alerts, their tests and the dashboard have the metrics of every channel", () => {
  for (const file of ["alerts.yaml", "alerts.test.yaml", "dashboard.json"])
    for (const channel of channels)
      for (const name of [`hcqs_${channel}_deliveries_total`, `hcqs_${channel}_oldest_pending_seconds`])
        assert.ok(read(`server/monitoring/${file}`).includes(name), `${name} in ${file}`);
});

test("the restore steps name every file that may not lie beside the backup", () => {
  const [, steps] = /To restore:\n(.*?)\n\n[^0-9\n]/s.exec(documentAt("server/README.md")) ?? [];
  const [, ...beside] = filesOf("");
  for (const file of beside) assert.ok(steps.includes(`\`${file}\``), file);
});

test("the table of the server's folders lists all of them", () => {
  const rooms = Array.from(
    documentAt("server/README.md").matchAll(/^\| `([a-z]+)\/` \|/gm),
    ([, room]) => room,
  );
  const folders = tracked.filter((path) => /^server\/.*\//.test(path)).map((path) => path.split("/")[1]);
  assert.deepEqual(rooms.sort(), [...new Set(folders)].sort());
});

test("texts for callers of the API name no command and no setting of the operator", () => {
  const callers =
    /^(server\/api\/.*\.(ts|json)|server\/parts\/portal\/browser\/.*\.ts|engine\/(answers|search)\/\w[\w-]*\.ts)$/;
  const settings = Object.keys(coreSettings).filter((name) => name.includes("_"));
  const operators = new RegExp(
    `npm run|\\bhcqs [a-z]|\\b(import|fetch|sample|keys|accounts|events|state) --|["\`\\s]--[a-z]|\\b(${settings.join("|")})\\b`,
  );
  const withoutComments = (path: string) => read(path).replaceAll(/\/\*.*?\*\/|^\s*\/\/.*?$/gms, "");
  const sources = tracked.filter((path) => callers.test(path));
  assert.ok(sources.length > 60, `${sources.length} files`);
  assert.deepEqual(
    sources.flatMap((path) => operators.exec(withoutComments(path))?.[0].padEnd(20).concat(path) ?? []),
    [],
  );
});

test("the README gives a reason for every dependency", () => {
  const { dependencies, optionalDependencies, devDependencies } = description;
  const [, table] = readme.split("### Dependencies");
  const reasons = Array.from(table.matchAll(/^\| (`.*`) \| \S/gm), ([, names]) => names.split(", "));
  const names = Object.keys({ ...dependencies, ...optionalDependencies, ...devDependencies }).map(
    (name) => `\`${name}\``,
  );
  assert.deepEqual(reasons.flat().sort(), names.sort());
});

test("documents and alerts say how often and how long deliveries are tried", () => {
  const days = Math.round(pausesSeconds.reduce((sum, seconds) => sum + seconds) / 86_400);
  assert.deepEqual([maxTries, days], [10, 3]);
  assert.match(documentAt("server/README.md"), /up to ten tries within three days/);
  for (const file of ["server/monitoring/alerts.yaml", "server/monitoring/dashboard.json"])
    assert.match(read(file), /\bTries (?:end after|go on for) three days\b/);
});

test("the API's README and the OpenAPI document tell clients in the same words how to retry", () => {
  assert.ok(documentAt("server/api/README.md").includes(backOff));
  assert.ok(openapiDocument().toString().includes(backOff));
});

test("the reference page and the API's README have the same Python program", () => {
  const [program] = blocksOf(documentAt("server/api/README.md"), "python");
  assert.equal(program.trimEnd(), loopOf("5072", "http://127.0.0.1:8080"));
});

test("the README's figures of the HTTP benchmark are those of the benchmarks' README", () => {
  const figures = (what: string) =>
    Array.from(documentAt("bench/README.md").matchAll(/^\|[^|]*\| CPU of ([^|]*) \| (\S+) \(/gm))
      .filter(([, of]) => of === what)
      .map(([, , median]) => median);
  // The first three loads are price queries.
  const [least, , most] = figures("service / ceiling").slice(0, 3).sort();
  for (const [against, figure] of [
    ["uWebSockets.js", `${least}–${most}`],
    ["nginx", figures("service / nginx")[0]],
  ])
    assert.match(readme, new RegExp(`^\\| CPU per price query, .*${against}.* \\| ${figure} \\|`, "m"));
});
