import assert from "node:assert/strict";
import { hash } from "node:crypto";
import { test } from "node:test";
import { createConfig, lintFromString } from "@redocly/openapi-core";
import * as v from "valibot";
import { encodeSnapshot, stateCodes } from "../../engine/index.ts";
import { apiErrors } from "../../server/api/errors.ts";
import { allEndpoints, openapiDocument as openapiBytes } from "../../server/api/openapi.ts";
import { withCors } from "../../server/serving/cors.ts";
import { checkAnswer, checkValue, openapiDocument, operationsOf } from "../support/answers.ts";
import { assertApproved } from "../support/approved.ts";
import { ask as askService, openService } from "../support/asking.ts";
import { imageWith, versionsWith } from "../support/endpoint-oracle.ts";
import { places } from "../support/places.ts";
import { versionSnapshot, versions } from "../support/server.ts";

/** Tests that the OpenAPI document describes everything that the API does, and nothing else. */

const snapshots = versions.map(versionSnapshot);
const bytes = encodeSnapshot(snapshots[0]);
const images = snapshots.map((snapshot) => imageWith(snapshot, places));
const { service, key } = openService(
  versionsWith({ bytes, sha256: hash("sha256", bytes), isChecked: true }, ...images),
);
const operations = operationsOf(openapiDocument);

const headersOf = ({ headers }: ReturnType<typeof askService>) =>
  new Map(Array.from(headers, ([name, value]): [string, string] => [name.toLowerCase(), value]));

/** Errors here lack a header that the listener adds. */
function ask(target: string) {
  const [path, query] = target.split(/\?(.*)/s);
  const answer = askService(service, key, path, () => query);
  const { status, bytes } = answer;
  checkAnswer(openapiDocument, target, status, bytes, status < 400 ? headersOf(answer) : undefined);
  return { status, json: () => JSON.parse(bytes.toString()) };
}

test("every property of a schema has a description", () => {
  const silent: string[] = [];
  const visit = (part: unknown, at: string): void => {
    if (typeof part !== "object" || part === null) return;
    for (const [name, inner] of Object.entries(part)) {
      if (name === "properties")
        for (const [property, schema] of Object.entries<object>(inner))
          if (!("description" in schema || "$ref" in schema)) silent.push(`${at}.${property}`);
      visit(inner, `${at}.${name}`);
    }
  };
  visit(openapiDocument, "document");
  assert.deepEqual(silent, []);
});

test("the document has at most 96 KB, and the pattern of all states once", () => {
  const { length } = openapiBytes();
  assert.ok(length <= 96_000, `${length} bytes`);
  assert.equal(openapiBytes().toString().split("[Aa][Kk]").length, 2);
});

test("an operation has a second server if its answers come from one data version, and the document has a contact", () => {
  const { servers, info, paths } = v.parse(
    v.looseObject({
      servers: v.array(
        v.looseObject({
          url: v.string(),
          variables: v.optional(v.looseObject({ version: v.looseObject({ default: v.string() }) })),
        }),
      ),
      info: v.looseObject({ contact: v.object({ name: v.string() }) }),
      paths: v.record(
        v.string(),
        v.object({ get: v.looseObject({ servers: v.optional(v.array(v.object({ url: v.string() }))) }) }),
      ),
    }),
    openapiDocument,
  );
  assert.deepEqual(
    servers.map(({ url }) => url),
    ["/api/v1", "/api/v1/versions/{version}"],
  );
  assert.equal(servers[1].variables?.version.default, "2024");
  assert.ok(info.contact.name.length > 0);
  for (const { path, kind } of allEndpoints) {
    const own = paths[path || "/"].get.servers;
    assert.deepEqual(own, kind === "versioned" ? undefined : [{ url: "/api/v1" }], path);
  }
});

test("exports are typed as text or as binary", () => {
  const typed = ["csv", "arrow", "parquet"].map((name) => {
    const [{ schema }] = Object.values(
      operations.get(`/api/v1/export.${name}`)?.responses[200].content ?? {},
    );
    return schema;
  });
  const binary = { type: "string", format: "binary" };
  assert.deepEqual(typed, [{ type: "string" }, binary, binary]);
});

const found = new Map([
  ["/api/v1", "/api/v1"],
  ["/api/v1/healthcare/prices", "/api/v1/healthcare/prices?procedure=5072&limit=2"],
  ["/api/v1/search", "/api/v1/search?q=hosp&limit=2"],
  ["/api/v1/healthcare/procedures", "/api/v1/healthcare/procedures?limit=1"],
  ["/api/v1/healthcare/procedures/{code}", "/api/v1/healthcare/procedures/5072?bins=3&near=60601&within=500"],
  [
    "/api/v1/healthcare/facilities",
    "/api/v1/healthcare/facilities?procedure=5072&near=60601&within=500&min_charge=0&sort=charge&limit=2",
  ],
  ["/api/v1/healthcare/facilities/{ccn}", "/api/v1/healthcare/facilities/000003"],
  [
    "/api/v1/healthcare/facilities/{ccn}/trends",
    "/api/v1/healthcare/facilities/000003/trends?procedure=5072",
  ],
  ["/api/v1/healthcare/trends", "/api/v1/healthcare/trends?procedure=5072"],
  ["/api/v1/export.csv", "/api/v1/export.csv?procedure=5073"],
  ["/api/v1/export.arrow", "/api/v1/export.arrow?procedure=5073"],
  ["/api/v1/export.parquet", "/api/v1/export.parquet"],
  ["/api/v1/datasets", "/api/v1/datasets"],
  ["/api/v1/usage", "/api/v1/usage"],
  ["/api/v1/versions", "/api/v1/versions"],
  ["/api/v1/openapi.json", "/api/v1/openapi.json"],
]);
for (const { path, kind } of allEndpoints) {
  if (kind !== "versioned") continue;
  const request = found.get(`/api/v1${path}`)?.replace("/api/v1", "/api/v1/versions/2023.1") ?? "";
  found.set(`/api/v1/versions/{version}${path}`, request);
}
found.set("/api/v1/pages/{cursor}", ask(found.get("/api/v1/search") ?? "").json().next);

const lint = async (openapi: object) => {
  const config = await createConfig({ extends: ["recommended"] });
  const problems = await lintFromString({ source: JSON.stringify(openapi), config });
  return problems.map(({ severity, ruleId, message }) => `${severity} ${ruleId}: ${message}`);
};

test("the OpenAPI document passes Redocly's lint", async () => {
  assert.deepEqual(await lint(openapiDocument), []);
});

test("the OpenAPI document is as it was approved", () => {
  assertApproved("openapi.json", JSON.stringify(openapiDocument, undefined, 1));
});

test("the service returns the OpenAPI document", () => {
  assert.deepEqual(ask("/api/v1/openapi.json").json(), openapiDocument);
});

test("the documented paths equal those of the route table and of the requests here", () => {
  const routes = allEndpoints.flatMap(({ path, kind }) => [
    `/api/v1${path}`,
    ...(kind === "versioned" ? [`/api/v1/versions/{version}${path}`] : []),
  ]);
  assert.deepEqual([...operations.keys()].sort(), routes.sort());
  assert.deepEqual(routes, [...found.keys()].sort());
});

test("the documented error types and statuses are exactly those of the API", () => {
  const statuses = new Map<string, Set<string>>();
  for (const { responses } of operations.values())
    for (const [status, { content }] of Object.entries(responses))
      for (const type of Object.keys(content?.["application/json"]?.examples ?? {}))
        if (Number(status) >= 400) {
          const plain = type.replace(/^.*\./, "");
          statuses.set(plain, (statuses.get(plain) ?? new Set()).add(status));
        }
  const expected = Object.entries(apiErrors).map(([type, { status }]) => [type, [status.slice(0, 3)]]);
  const actual = [...statuses].map(([type, each]) => [type, [...each]]);
  assert.deepEqual(Object.fromEntries(actual), Object.fromEntries(expected));
});

test("each documented status has exactly its own special headers with their schemas, such as Retry-After for 429", async () => {
  const special = new Set(
    Object.values(apiErrors).flatMap(({ headers = [] }) => headers.map(({ name }) => name)),
  );
  assert.deepEqual([...special].sort(), ["Allow", "Content-Range", "Retry-After", "WWW-Authenticate"]);
  const expected = new Map<string, Record<string, object>>([
    ["401", { "WWW-Authenticate": { type: "string", const: "Bearer" } }],
    ["206", { "Content-Range": { type: "string", pattern: "^bytes [0-9]+-[0-9]+/[0-9]+$" } }],
    ["405", { Allow: { type: "string", const: "GET, HEAD" } }],
    ["416", { "Content-Range": { type: "string", pattern: "^bytes \\*/[0-9]+$" } }],
    ["429", { "Retry-After": { type: "integer", minimum: 1 } }],
    ["503", { "Retry-After": { type: "integer", minimum: 1 } }],
  ]);
  for (const { responses } of operations.values())
    for (const [status, { headers }] of Object.entries(responses)) {
      const own = Object.entries(headers).filter(([name]) => special.has(name));
      const schemas = own.map(([name, { schema }]) => [name, schema]);
      assert.deepEqual(Object.fromEntries(schemas), expected.get(status) ?? {}, status);
    }
});

const limit = (maximum: number) => ({ type: "integer", minimum: 1, maximum, default: 25 });
const aState = `(${stateCodes.map(([a, b]) => `[${a}${a.toLowerCase()}][${b}${b.toLowerCase()}]`).join("|")})`;
const text = (pattern: string) => ({ type: "string", pattern: `^${pattern}$` });
const listOf = (value: string) => text(` *${value} *(, *${value} *)*`);
const state = { ...text(aState), examples: stateCodes };
const procedure = { type: "string", minLength: 1 };
const namesOfVersions = listOf("[0-9]{4}(\\.[0-9]+)?");
const dollars = { type: "number", minimum: 0, maximum: 21_474_836.47 };
/** The promised parameters. They are repeated here, so that no change of a schema alone changes what is promised. */
const expectedParameters: Record<string, Record<string, object>> = {
  "/healthcare/prices": { "procedure*": procedure, state, limit: limit(50) },
  "/search": {
    "q*": { type: "string", minLength: 1, maxLength: 200 },
    type: { type: "string", enum: ["facility", "procedure"], default: "facility" },
    state,
    limit: limit(50),
  },
  "/healthcare/procedures": {
    sort: {
      type: "string",
      enum: ["code", "name", "spread", "facilities", "median_charge"],
      default: "code",
    },
    min_facilities: { type: "integer", minimum: 1, maximum: 2 ** 53 - 1, default: 1 },
    state,
    limit: limit(100),
  },
  "/healthcare/procedures/{code}": {
    state,
    near: text(".{2,100}"),
    within: { type: "integer", minimum: 1, maximum: 500 },
    bins: { type: "integer", minimum: 1, maximum: 100, default: 30 },
  },
  "/healthcare/facilities": {
    procedure: { type: "string", minLength: 1, maxLength: 200 },
    // A list of other letters is refused, too.
    state: listOf("[A-Za-z]{2}"),
    city: { type: "string", minLength: 1, maxLength: 100 },
    ccn: listOf("[0-9A-Za-z]{6}"),
    near: text(".{2,100}"),
    within: { type: "integer", minimum: 1, maximum: 500 },
    min_charge: dollars,
    max_charge: dollars,
    status: { type: "string", enum: ["priced", "suppressed", "incomplete", "all"] },
    sort: {
      type: "string",
      enum: ["name", "distance", "charge", "allowed", "markup", "services"],
      default: "name",
    },
    order: { type: "string", enum: ["asc", "desc"], default: "asc" },
    limit: limit(100),
  },
  "/healthcare/facilities/{ccn}/trends": { "procedure*": procedure, versions: namesOfVersions },
  "/healthcare/trends": { "procedure*": procedure, state, versions: namesOfVersions },
  "/export.csv": { procedure, state },
  "/export.arrow": { procedure, state },
};

const list = (values: string[], length: number) =>
  Array.from({ length }, (_, i) => values[i % values.length]).join(",");
/** Texts that each parameter with a pattern or an amount accepts (`taken`), and texts that it refuses. */
const ccns = Array.from({ length: 51 }, (_, i) => String(i).padStart(6, "0"));
const versionNames = Array.from({ length: 21 }, (_, i) => `2024.${i}`);
const patterned: Record<string, { taken: string[]; refused: string[] }> = {
  state: { taken: [...stateCodes, "ca", "cA", "Ca"], refused: ["", "zz", "AKx", "AK,", "ſc"] },
  states: {
    taken: ["CA", "ca,Nv", " CA , nv", list([...stateCodes], 10), list(["CA"], 99)],
    refused: ["", " ", "ZZ", "CA,", ",CA", "CA NV", "CA,zz", list([...stateCodes], 11)],
  },
  ccn: {
    taken: ["000003", "a0000z, 999999 ", list(ccns, 50), list(["000003"], 99)],
    refused: ["", "3", "0000003", "000003,", "00000é", list(ccns, 51)],
  },
  near: {
    taken: [
      "60601",
      "60601-1234",
      "Chicago, IL 60601",
      "Boston, MA",
      "boston massachusetts",
      " St Louis , mo ",
    ],
    refused: ["", "6060", "606010", "x0601", "00000", "x", "Boston", "Nowhere, MA", "MA", "Cook County"],
  },
  min_charge: {
    taken: ["0", "0.5", "12.34", "21474836.47"],
    refused: ["", "-1", "1.234", "01", "1e3", ".5", "5.", "1,000", "21474836.48", "$5"],
  },
  versions: {
    taken: ["2024.3", "2024", "2024.3 , 2023", list(versionNames, 20), list(["2024.3"], 99)],
    refused: ["", "24", "2024.", "2024.3,", "2024.x", "x", list(versionNames, 21)],
  },
};

for (const [path, { parameters }] of operations) {
  const plain = path.replace(/^\/api\/v1(\/versions\/\{version\})?/, "");

  test(`the documented parameters of ${path} equal those that are expected here and those of the endpoint's schema`, () => {
    const inQuery = parameters.filter((parameter) => parameter.in === "query");
    const named = inQuery.map(({ name, required, schema }) => [`${name}${required ? "*" : ""}`, schema]);
    assert.deepEqual(Object.fromEntries(named), expectedParameters[plain] ?? {});
    const endpoint = allEndpoints.find((each) => each.path === plain);
    assert.deepEqual(
      inQuery.map(({ name }) => name),
      Object.keys(endpoint?.parameters.entries ?? {}),
    );
    const inPath = parameters.filter((parameter) => parameter.in === "path");
    assert.deepEqual(
      inPath.map(({ name, required }) => [name, required]),
      [...plain.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name, true]),
    );
    const others = parameters.filter((parameter) => parameter.in === "header");
    assert.deepEqual(
      others.map(({ name, required }) => [name, required]),
      [
        ["If-None-Match", false],
        ...(path.includes("/export.") ? [["If-Match", false]] : []),
        ...(path.endsWith(".parquet") ? [["Range", false]] : []),
      ],
    );
  });

  test(`${path} accepts exactly the parameter values that the document allows`, () => {
    const request = new URL(found.get(path) ?? "", "http://x");
    const statusWith = (name: string, value: string) => {
      const url = new URL(request);
      url.searchParams.set(name, value);
      const answer = ask(`${url.pathname}${url.search}`);
      if (answer.status === 400) {
        const { required } = parameters.find((each) => each.name === name) ?? { required: false };
        const type = value === "" && required ? "missing" : "invalid";
        const { error } = answer.json();
        assert.deepEqual([error.type, error.param], [`${type}_parameter`, name]);
      }
      return answer.status === 400 ? "refused" : "taken";
    };
    for (const { name, in: place, schema } of parameters) {
      if (place !== "query") continue;
      const { minimum, maximum, minLength, maxLength } = schema;
      const values = schema.enum;
      const cases: [value: string, outcome: string][] = [];
      if (schema.pattern !== undefined || schema.type === "number") {
        const key = plain === "/healthcare/facilities" && name === "state" ? "states" : name;
        const { taken, refused } = patterned[key.replace("max_", "min_")];
        cases.push(...taken.map((value): [string, string] => [value, "taken"]));
        cases.push(...refused.map((value): [string, string] => [value, "refused"]));
      }
      if (schema.type === "integer") {
        const [min, max] = [Number(minimum), Number(maximum)];
        for (const value of [min - 1, min, max, max + 1])
          cases.push([String(value), value < min || value > max ? "refused" : "taken"]);
        for (const value of ["", "-1", "1.5", "1e1", "x", `0${max}`]) cases.push([value, "refused"]);
      }
      if (minLength !== undefined) cases.push(["", "refused"], ["x", "taken"]);
      if (maxLength !== undefined)
        for (const character of ["x", "🏥"]) {
          cases.push([character.repeat(Number(maxLength)), "taken"]);
          cases.push([character.repeat(Number(maxLength) + 1), "refused"]);
        }
      if (Array.isArray(values)) {
        for (const value of values) cases.push([value, "taken"]);
        for (const value of ["", "zz", `${values[0]}x`]) cases.push([value, "refused"]);
      }
      assert.ok(cases.length > 1, `${name} has limits`);
      for (const [value, outcome] of cases)
        assert.equal(statusWith(name, value), outcome, `${name}=${value}`);
    }
  });

  test(`a value for ${path} is refused without another parameter exactly if its description says so`, () => {
    const url = new URL(found.get(path) ?? "", "http://x");
    const inQuery = parameters.filter((parameter) => parameter.in === "query");
    for (const { name, required } of inQuery) if (!required) url.searchParams.delete(name);
    for (const { name, description, schema, example } of inQuery)
      for (const value of Array.isArray(schema.enum) ? schema.enum : [example]) {
        const said = [...description.matchAll(/([^.;]*)\bonly with `(\w+)`/gi)];
        const ofValue = said.find(([, values]) => values.trim() === "" || values.includes(`\`${value}\``));
        const asked = new URL(url);
        asked.searchParams.set(name, String(value));
        const answer = ask(`${asked.pathname}${asked.search}`);
        const { param, message = "" } = answer.status === 400 ? answer.json().error : {};
        const [, needed] = /is for requests with (\w+)/.exec(message) ?? [];
        assert.deepEqual(
          [param, needed],
          ofValue ? [name, ofValue[2]] : [undefined, undefined],
          asked.search,
        );
      }
  });

  test(`an omitted parameter of ${path} has its documented default`, () => {
    const request = new URL(found.get(path) ?? "", "http://x");
    for (const { name, in: place, schema } of parameters) {
      if (place !== "query" || schema.default === undefined) continue;
      request.searchParams.delete(name);
      const without = ask(`${request.pathname}${request.search}`);
      request.searchParams.set(name, String(schema.default));
      const withDefault = ask(`${request.pathname}${request.search}`);
      const { next: _, ...body } = without.json();
      const { next: __, ...other } = withDefault.json();
      assert.deepEqual(body, other, name);
    }
  });
}

test("scripts of other sites can read exactly the documented headers that browsers would hide", () => {
  // Browsers hide all others (Fetch standard, CORS-safelisted response-header name).
  const shown = ["cache-control", "content-language", "content-length", "content-type", "expires"];
  const documented = [...operations.values()].flatMap(({ responses }) =>
    Object.values(responses).flatMap(({ headers }) => Object.keys(headers)),
  );
  const respond = withCors(() => ({ status: 200, head: "200 OK", body: undefined }), ["*"]);
  const request = { getQuery: () => "", getHeader: () => "https://example.org", forEach: () => {} };
  const { head } = respond(request, "/api/v1", "GET", false);
  const [, exposed = ""] = /^Access-Control-Expose-Headers: (.*)$/m.exec(String(head)) ?? [];
  assert.deepEqual(
    exposed.split(", "),
    [...new Set(documented)].filter((name) => !shown.includes(name.toLowerCase())).sort(),
  );
});

test("with CORS, every reply varies by its origin, and keeps by what else it varies", () => {
  const request = (origin: string) => ({ getQuery: () => "", getHeader: () => origin, forEach: () => {} });
  const lines = (head: string | Uint8Array) =>
    Buffer.from(head)
      .toString("latin1")
      .split("\r\n")
      .filter((line) => line.startsWith("Vary: "));
  const heads = {
    "200 OK": "Vary: Origin",
    "200 OK\r\nVary: Accept-Encoding, Authorization\r\nETag: 1":
      "Vary: Origin, Accept-Encoding, Authorization",
  };
  for (const [head, expected] of Object.entries(heads))
    for (const given of [head, Buffer.from(head, "latin1")])
      for (const origin of ["", "https://example.org", "https://elsewhere.example"]) {
        const respond = withCors(
          () => ({ status: 200, head: given, body: undefined }),
          ["https://example.org"],
        );
        assert.deepEqual(lines(respond(request(origin), "/api/v1", "GET", false).head), [expected], origin);
      }
});

test("every page of every list in every version matches the document", () => {
  const pages = new Map<string, number>();
  for (const base of ["", "/versions/2024", "/versions/2023", "/versions/2023.1", "/versions/2024.3"])
    for (const list of [
      "/healthcare/prices?procedure=5072&limit=7",
      "/healthcare/prices?procedure=5072&state=al&limit=20",
      "/healthcare/procedures?limit=1&sort=spread",
      "/search?q=hosp&limit=50",
      "/search?q=level&type=procedure&limit=1",
      "/healthcare/facilities?limit=3&order=desc",
      "/healthcare/facilities?procedure=5072&status=all&sort=markup&order=desc&limit=3",
    ]) {
      let next: string | null = `/api/v1${base}${list}`;
      for (; next !== null; pages.set(list, (pages.get(list) ?? 0) + 1)) next = ask(next).json().next;
    }
  for (const [list, count] of pages) assert.ok(count >= 10, `${list} has ${count} pages`);
});

test("the response check rejects undocumented statuses, errors, fields and headers", () => {
  const body = { error: { type: "not_found", message: "x" } };
  const check = (path: string, status: number, value: unknown, headers?: Map<string, string>) => () =>
    checkAnswer(openapiDocument, path, status, Buffer.from(JSON.stringify(value)), headers);
  const prices = "/api/v1/healthcare/prices?procedure=5072";
  const error = (type: string, more: object = { message: "x" }) => ({ error: { type, ...more } });
  assert.doesNotThrow(check(prices, 404, body));
  for (const [path, status, value, fault] of [
    ["/api/v1/datasets", 404, body, /undocumented status/],
    ["/nowhere", 400, body, /path isn't in the document/],
    ["/nowhere", 404, body, /404 for \/nowhere: not_found/],
    [prices, 400, body, /undocumented error not_found/],
    [prices, 404, error("unknown_endpoint"), /404 for .*: unknown_endpoint/],
    [prices, 404, { ...body, hint: "x" }, /additional properties/],
    [prices, 404, error("not_found", {}), /required property 'message'/],
    [prices, 429, error("rate_limit_exceeded", { message: "x", ceiling: "early" }), /allowed values/],
  ] as const)
    assert.throws(check(path, status, value), fault);
  const given = new Map([
    ...headersOf(askService(service, key, "/api/v1/healthcare/prices", () => "procedure=9999")),
    ["x-request-id", "0123456789abcdef-0"],
  ]);
  assert.doesNotThrow(check(prices, 404, body, given));
  for (const [name, { required }] of Object.entries(
    operations.get("/api/v1/healthcare/prices")?.responses[404].headers ?? {},
  )) {
    assert.ok(required, name);
    const others = new Map([...given].filter(([other]) => other !== name.toLowerCase()));
    assert.throws(check(prices, 404, body, others), new RegExp(`no header ${name}`));
  }
  const withHeader = (name: string, value: string) =>
    check(prices, 404, body, new Map(given).set(name, value));
  assert.throws(withHeader("x-ratelimit-reset", "soon"), /X-RateLimit-Reset: data must be integer/);
  assert.throws(withHeader("x-powered-by", "x"), /undocumented header x-powered-by/);
  assert.throws(() => checkAnswer(openapiDocument, prices, 304, Buffer.from("{}")), /a body/);
  const anything = { type: "object", properties: { a: { type: "array", items: { type: "object" } } } };
  assert.throws(
    () => checkValue(anything, { a: [{ b: 1 }] }, "it"),
    /it: data\/a\/0 must NOT have additional/,
  );
});
