import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { DuckDBInstance } from "@duckdb/node-api";
import { KeyTable } from "../../server/accounts/key-table.ts";
import { generateKey, hashKey } from "../../server/accounts/keys.ts";
import { PermitTable } from "../../server/accounts/permit-table.ts";
import { apiErrors as errorTypes } from "../../server/api/errors.ts";
import recordedAnswers from "../../server/api/examples.json" with { type: "json" };
import { monthOf } from "../../server/shared/months.ts";
import { plans } from "../../server/shared/plans.ts";
import { checkValue, type Operation, openapiDocument, operationsOf, pathOf } from "../support/answers.ts";
import { ask, serviceOf } from "../support/asking.ts";
import { documentAt } from "../support/readme.ts";
import { sampleVersions } from "../support/sample-versions.ts";
import { temporaryFolder } from "../support/server.ts";
import { smallTables } from "../support/tables.ts";

/**
 * Compares every example in the OpenAPI document and the READMEs with the answer of a service. After a change of
 * answers, `server/node --test --test-update-snapshots test/api/examples.test.ts` updates the document's examples.
 */

const key = generateKey(Buffer.alloc(32, 7));
const { burst, quota } = plans.developer;
const nowMs = Date.UTC(2026, 10, 3, 12);
const keys = new KeyTable();
const { names, days, events } = smallTables();
keys.put({ id: 1, hash: hashKey(key), expires_at: null, revoked_at: null }, 0);
names.put(0, "demo", "developer");
events.enter(0, monthOf(nowMs));
days.enter(0, monthOf(nowMs), [
  [1, 2],
  [2, 5],
]);

/** While the database is away. */
const permits = new PermitTable();
permits.month = monthOf(nowMs);
permits.isClosed = true;

/** The account has made five requests. */
function told(
  target: string,
  headers: Parameters<typeof ask>[4] = {},
  {
    method = "GET",
    query = (text: string): string => text,
    served = sampleVersions,
    times = 1,
    isAway = false,
  } = {},
) {
  const limits = smallTables().ceilings;
  limits.configure(0, burst, quota);
  limits.enter(0, monthOf(nowMs), 5);
  const clocks = { now: () => nowMs, steadyNow: () => 0 };
  const service = serviceOf({
    keys,
    ceilings: isAway ? permits : limits,
    names,
    days,
    events,
    versions: served,
    report: () => {},
    ...clocks,
  });
  const [place, text] = target.split("?");
  const answers = Array.from({ length: times }, () =>
    ask(service, key, place, () => (text === undefined ? text : query(text)), headers, method),
  );
  return answers[times - 1];
}

const operations = operationsOf(openapiDocument);
const isOfVersion = (at: string) => at.includes("/versions/{version}");

function requestOf(at: string, { parameters }: Operation, others: Record<string, string> = {}): string {
  const query = new URLSearchParams(others);
  let target = at.replace("{version}", "2024.1");
  for (const { name, in: place, example } of parameters) {
    if (place === "header") continue;
    assert.notEqual(example, undefined, `${at}: ${name}`);
    if (place === "path") target = target.replace(`{${name}}`, String(example));
    if (place === "query") query.set(name, String(example));
  }
  return query.size === 0 ? target : `${target}?${query}`;
}

function answersOf(at: string, operation: Operation): Record<string, unknown> {
  const name = operation.operationId;
  const request = requestOf(at, operation);
  const { status, headers, body } = told(request);
  assert.equal(status, 200, request);
  const isJson = headers.get("Content-Type") === "application/json";
  const found: Record<string, unknown> = {};
  if (name === "openapi") {
    const { openapi } = JSON.parse(body);
    found[name] = { openapi };
  } else if (name === "page") {
    // Its lists have examples.
    return found;
  } else if (isJson || headers.get("Content-Type")?.startsWith("text/")) {
    found[name] = isJson ? JSON.parse(body) : body;
  }
  const { parameters, responses } = operation;
  if ("206" in responses) {
    const range = parameters.find((each) => each.name === "Range")?.example;
    found[`${name}.206`] = told(request, { range: String(range) }).body;
  }
  return found;
}

/** Errors that don't belong to a single operation, by type. */
const errors = {
  missing_parameter: () => told("/api/v1/healthcare/prices"),
  invalid_parameter: () => told("/api/v1/healthcare/facilities?procedure=endoscopy"),
  not_found: () => told("/api/v1/healthcare/prices?procedure=27447"),
  missing_api_key: () => told("/api/v1/usage", { authorization: "" }),
  invalid_api_key: () => told("/api/v1/usage", { authorization: "Bearer hcq_wrong" }),
  unknown_endpoint: () => told("/api/v1/healthcare/facilities/"),
  method_not_allowed: () => told("/api/v1/usage", {}, { method: "POST" }),
  precondition_failed: () => told("/api/v1/export.parquet", { ifMatch: '"another"' }),
  range_not_satisfiable: () => told("/api/v1/export.parquet", { range: "bytes=99999999-" }),
  rate_limit_exceeded: () => told("/api/v1/usage", {}, { times: burst + 1 }),
  service_unavailable: () => told("/api/v1/usage", {}, { isAway: true }),
  internal_error: () => told("/api/v1/usage?", {}, { query: () => assert.fail("a fault") }),
};

test("every example in the OpenAPI document equals a response over the sample data", (t) => {
  const recorded: Record<string, unknown> = {};
  for (const [at, operation] of operations)
    for (const [name, answer] of Object.entries(answersOf(at, operation)))
      if (isOfVersion(at) && name in recorded) assert.deepEqual(answer, recorded[name], `${at}: ${name}`);
      else recorded[name] = answer;
  for (const [type, tell] of Object.entries(errors)) recorded[type] = JSON.parse(tell().body);
  const prices = requestOf("/api/v1/healthcare/prices", operations.get("/api/v1/healthcare/prices")!);
  recorded.headers = Object.fromEntries([
    ...told("/api/v1/export.parquet", { range: "bytes=0-3" }).headers,
    ...told("/api/v1", { acceptEncoding: "br" }).headers,
    ...told(prices).headers,
  ]);
  const file = path.resolve(import.meta.dirname, "../../server/api/examples.json");
  const known = JSON.parse(readFileSync(file, "utf8"));
  // If the ETags are unchanged, the answers have to be unchanged, too.
  if (Object(recorded.headers).ETag === known.headers.ETag)
    for (const [at, { operationId }] of operations) {
      const name = operationId;
      if (isOfVersion(at) && !isDeepStrictEqual(recorded[name], known[name]))
        assert.fail(`the answer ${name} has changed: increase imageFormatVersion, so that its ETag changes`);
    }
  try {
    t.assert.fileSnapshot(recorded, file, { serializers: [lines] });
  } catch (error) {
    for (const [name, value] of Object.entries(recorded))
      assert.deepEqual({ [name]: known[name] }, { [name]: value });
    throw error;
  }
});

const lines = (recorded: object) =>
  `{\n${Object.entries(recorded)
    .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
    .join(",\n")}\n}\n`;

test("every response with a non-binary body has examples that match its schema", () => {
  for (const [at, { responses }] of operations)
    for (const [status, { content }] of Object.entries(responses))
      for (const [type, { schema, examples }] of Object.entries(content ?? {})) {
        if (type.startsWith("application/vnd.") && status === "200") continue;
        if (at === "/api/v1/pages/{cursor}" && status === "200") continue;
        const values = Object.entries(examples);
        assert.ok(values.length > 0, `${status} of ${at}`);
        for (const [name, { value }] of values)
          if (schema !== undefined) checkValue(schema, value, `${name} at ${at}`);
      }
});

test("the example of each header equals the header of a recorded response", () => {
  const { "Content-Type": _, ...expected } = recordedAnswers.headers;
  const shown = new Map<string, string>();
  for (const { responses } of operations.values())
    for (const { headers } of Object.values(responses))
      for (const [name, { example }] of Object.entries(headers))
        if (example !== undefined) shown.set(name, String(example));
  assert.deepEqual(Object.fromEntries(shown), expected);
});

test("the example ETag gives 304 for the example request", () => {
  const at = "/api/v1/healthcare/prices";
  const operation = operations.get(at)!;
  const ifNoneMatch = operation.parameters.find(({ name }) => name === "If-None-Match")?.example;
  const { status, body } = told(requestOf(at, operation), { ifNoneMatch: String(ifNoneMatch) });
  assert.deepEqual([status, body], [304, ""]);
});

/** The JSON in READMEs has line breaks, and `…` for parts that are left out. */
const [readme, described] = ["README.md", "server/api/README.md"].map(documentAt);
const shown = [
  ...`${readme}${described}`.matchAll(
    /(?:^`|http:\S*8080)(\/\S*)(?:`|"\n```)\n\n```(json|csv)\n(.*?)\n```$/gms,
  ),
].map(([, target, kind, text]) => ({
  target: target.startsWith("/api/v1") ? target : `/api/v1${target}`,
  parts: (kind === "json" ? text.replaceAll(/\n */g, "") : text).split("…"),
}));

test("the READMEs show a response of every non-binary endpoint", () => {
  const paths = shown.map(({ target }) => pathOf(openapiDocument, target));
  const binary = ["/api/v1/export.arrow", "/api/v1/export.parquet"];
  const expected = [...operations.keys()].filter((at) => !isOfVersion(at) && !binary.includes(at));
  assert.deepEqual(new Set(paths), new Set(expected));
});

test("the README's table links every endpoint to the section with its response", () => {
  const rows = [...readme.matchAll(/\[`(\/\S*)`\]\(server\/api\/README\.md#([a-z-]+)\)/g)];
  const full = (at: string) => (at.startsWith("/api/v1") ? at : `/api/v1${at}`);
  const listed = rows.map(([, at]) => full(at));
  assert.deepEqual(listed.sort(), [...operations.keys()].filter((at) => !isOfVersion(at)).sort());
  const sections = described.split(/^### /m);
  for (const [, at, anchor] of rows) {
    const section = sections.find((text) =>
      text.toLowerCase().replaceAll(" ", "-").startsWith(`${anchor}\n`),
    );
    const targets = Array.from(section?.matchAll(/^`(\/[^`]*)`/gm) ?? [], ([, target]) => full(target));
    assert.ok(
      targets.some((target) => pathOf(openapiDocument, target) === full(at)),
      at,
    );
  }
});

for (const { target, parts } of shown)
  test(`the response that a README shows for ${target} equals the service's response`, () => {
    const { status, body } = told(target);
    assert.equal(status, 200);
    const answer = body.replaceAll("\r\n", "\n").trimEnd();
    let end = 0;
    for (const [i, part] of parts.entries()) {
      const start = i === parts.length - 1 ? answer.length - part.length : answer.indexOf(part, end);
      assert.ok(i === 0 ? start === 0 : start >= end, `${JSON.stringify(part)} in ${answer.slice(end)}`);
      assert.ok(answer.startsWith(part, start), `${JSON.stringify(part)} in ${answer.slice(end)}`);
      end = start + part.length;
    }
  });

function fieldsIn(part: unknown): string[] {
  if (typeof part !== "object" || part === null) return [];
  return Object.entries(part).flatMap(([name, value]) => [
    ...(name === "properties" && typeof value === "object" ? Object.keys(value ?? {}) : []),
    ...fieldsIn(value),
  ]);
}

test("every field named in the API README exists in a response, a parameter or an export column", () => {
  const [columns] = told("/api/v1/export.csv?procedure=5072&state=DC").body.split("\r\n");
  const known = new Set([
    ...fieldsIn(openapiDocument),
    ...[...operations.values()].flatMap(({ parameters }) => parameters.map(({ name }) => name)),
    ...Object.keys(errorTypes),
    ...columns.split(","),
  ]);
  const named = Array.from(
    described.replaceAll(/^```.*?^```$/gms, "").matchAll(/`([^`\n]+)`/g),
    ([, code]) => code,
  ).flatMap((code) =>
    /^[a-z]+(_[a-z0-9]+)+$/.test(code) ? [code] : Array.from(code.matchAll(/"(\w+)"/g), ([, field]) => field),
  );
  assert.ok(named.length > 20, `${named.length} fields`);
  assert.deepEqual(
    named.filter((name) => !known.has(name)),
    [],
  );
});

test("the documented DuckDB query reads the codes of a CSV export as text", async () => {
  const [query] = described.match(/SELECT \* FROM read_csv\(.*?\}\)/) ?? assert.fail("there is one");
  const saved = path.join(temporaryFolder(), "all.csv");
  writeFileSync(saved, told("/api/v1/export.csv?procedure=5072&state=DC").bytes);
  const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
  const connection = await instance.connect();
  const { data_version, ccn, code, zip, submitted_charge } = (
    await connection.runAndReadAll(query.replace("all.csv", saved))
  ).getRowObjectsJson()[0];
  assert.deepEqual([data_version, ccn, code, zip], ["2024.1", "990580", "5072", "20551"]);
  assert.equal(submitted_charge, 6085.13);
  connection.closeSync();
  instance.closeSync();
});
