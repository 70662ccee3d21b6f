import assert from "node:assert/strict";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import * as v from "valibot";
import { allEndpoints, openapiDocument as openapiBytes } from "../../server/api/openapi.ts";

const schema = v.record(v.string(), v.unknown());
const named = <Schema extends v.GenericSchema>(of: Schema) => v.record(v.string(), of);
const media = v.strictObject({
  schema: v.optional(schema),
  examples: v.optional(named(v.strictObject({ value: v.unknown() })), {}),
});
const fileTypes = allEndpoints.flatMap(({ fileType }) => fileType ?? []);
const response = v.strictObject({
  description: v.string(),
  headers: named(
    v.strictObject({
      description: v.string(),
      required: v.optional(v.boolean()),
      schema,
      example: v.optional(v.union([v.string(), v.number()])),
    }),
  ),
  content: v.optional(v.record(v.picklist(["application/json", ...fileTypes]), media)),
});
const parameter = v.strictObject({
  name: v.string(),
  in: v.picklist(["query", "path", "header"]),
  required: v.optional(v.boolean(), false),
  description: v.string(),
  schema,
  example: v.optional(v.union([v.string(), v.number()])),
});
const servers = v.array(v.object({ url: v.string() }));
const operation = v.strictObject({
  servers: v.optional(servers),
  operationId: v.string(),
  summary: v.string(),
  description: v.string(),
  tags: v.array(v.string()),
  parameters: v.array(parameter),
  responses: named(response),
});
export const openapiDocument: object = JSON.parse(openapiBytes().toString());

const documentSchema = v.object({ servers, paths: named(v.strictObject({ get: operation })) });

export type Operation = v.InferOutput<typeof operation>;
type Response = v.InferOutput<typeof response>;

/** No reference is circular. A reference always gives the same object, so that each schema is compiled only once. */
function followed(part: unknown, document: unknown, known = new Map<string, unknown>()): unknown {
  if (Array.isArray(part)) return part.map((item) => followed(item, document, known));
  if (typeof part !== "object" || part === null) return part;
  if (!("$ref" in part))
    return Object.fromEntries(
      Object.entries(part).map(([key, value]) => [key, followed(value, document, known)]),
    );
  const reference = String(part.$ref);
  if (!known.has(reference)) {
    const path = reference.split("/").slice(1);
    const target = path.reduce<unknown>((at, key) => v.parse(schema, at)[key], document);
    assert.ok(target !== undefined, `${reference} leads to nothing`);
    known.set(reference, followed(target, document, known));
  }
  return known.get(reference);
}

/** The copy allows only the fields that the schema names. */
function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed);
  if (typeof part !== "object" || part === null) return part;
  const inner = Object.entries(part).map(([key, value]) => [key, closed(value)]);
  const isObject = "type" in part && part.type === "object";
  return Object.fromEntries(isObject ? [["additionalProperties", false], ...inner] : inner);
}

/** By the whole path, for each of an operation's servers. */
const operationsByDocument = new WeakMap<object, ReadonlyMap<string, Operation>>();

export function operationsOf(openapi: object): ReadonlyMap<string, Operation> {
  const known = operationsByDocument.get(openapi);
  if (known !== undefined) return known;
  const { paths, servers } = v.parse(documentSchema, followed(openapi, openapi));
  const operations = new Map(
    Object.entries(paths).flatMap(([path, { get }]) =>
      (get.servers ?? servers).map(({ url }): [string, Operation] => [url + path.replace(/^\/$/, ""), get]),
    ),
  );
  operationsByDocument.set(openapi, operations);
  return operations;
}

export function pathOf(openapi: object, requestPath: string): string | undefined {
  // The service takes `/api/v1/` for `/api/v1`, and no other path with a slash at its end.
  const path = requestPath.split("?", 1)[0].replace(/^\/api\/v1\/$/, "/api/v1");
  const paths = [...operationsOf(openapi).keys()];
  return paths.find((each) => {
    const literal = each.split(/\{\w+\}/).map((part) => part.replaceAll(/[.]/g, "\\."));
    return new RegExp(`^${literal.join("[^/]+")}$`, "s").test(path);
  });
}

const ajv = new Ajv2020({ strict: true, allErrors: true, allowUnionTypes: true });
addFormats.default(ajv);
// Each alternative's schema has the discriminating property as a constant, so the keyword needs no check.
ajv.addKeyword("discriminator");

/** Asserts that a value fits a schema, and has only fields that the schema names. */
export function checkValue(of: Record<string, unknown>, value: unknown, what: string): void {
  let check = checks.get(of);
  if (check === undefined) {
    check = ajv.compile(v.parse(schema, closed(of)));
    checks.set(of, check);
  }
  if (!check(value)) assert.fail(`${what}: ${ajv.errorsText(check.errors)} in ${JSON.stringify(value)}`);
}
const checks = new WeakMap<object, ReturnType<typeof ajv.compile>>();

/** Any HTTP answer may have these headers. */
const commonHeaders = new Set([
  "date",
  "content-length",
  "content-type",
  "connection",
  "uwebsockets",
  "server",
]);

function checkHeaders({ headers }: Response, given: ReadonlyMap<string, string>, what: string): void {
  const documented = new Set(Object.keys(headers).map((name) => name.toLowerCase()));
  for (const name of given.keys())
    assert.ok(documented.has(name) || commonHeaders.has(name), `${what}: undocumented header ${name}`);
  for (const [name, { required = false, schema }] of Object.entries(headers)) {
    const value = given.get(name.toLowerCase());
    assert.ok(value !== undefined || !required, `${what}: no header ${name}`);
    if (value === undefined) continue;
    const isInteger = schema.type === "integer" && /^\d+$/.test(value);
    checkValue(schema, isInteger ? Number(value) : value, `${what}: header ${name}`);
  }
}

const error = v.object({ error: v.object({ type: v.string() }) });

function responseAt(openapi: object, path: string | undefined, status: number, what: string): Response {
  const operations = operationsOf(openapi);
  if (path !== undefined)
    return operations.get(path)?.responses[status] ?? assert.fail(`${what}: undocumented status`);
  // An undocumented path gets 404. As on any path, the key may be missing, a ceiling exceeded, or the server at fault.
  assert.ok([401, 404, 429, 500].includes(status), `${what}: the path isn't in the document`);
  const all = [...operations.values()].flatMap(({ responses }) => responses[status] ?? []);
  return (
    all.find((each) => status !== 404 || errorTypesOf(each).includes("unknown_endpoint")) ?? assert.fail(what)
  );
}

/** An example's name is the error type, or the operation's name, a dot and the error type. */
const errorTypesOf = ({ content }: Response) =>
  Object.keys(content?.["application/json"]?.examples ?? {}).map((name) => name.replace(/^.*[.]/, ""));

/**
 * Asserts that the document describes every field of the answer.
 *
 * @param body undefined for an answer to HEAD, whose body can't be seen
 * @param headers if given, they are checked, and the body is decompressed accordingly
 */
export function checkAnswer(
  openapi: object,
  requestPath: string,
  status: number,
  body: Uint8Array | undefined,
  headers?: ReadonlyMap<string, string>,
): void {
  const what = `${status} for ${requestPath.slice(0, 200)}`;
  const path = pathOf(openapi, requestPath);
  const documented = responseAt(openapi, path, status, what);
  if (headers !== undefined) checkHeaders(documented, headers, what);
  if (body === undefined) return;
  if (documented.content === undefined) {
    assert.equal(body.length, 0, `${what}: a body`);
    return;
  }
  const json = documented.content["application/json"];
  const type = headers?.get("content-type");
  if (json === undefined) {
    assert.ok(type !== undefined && type in documented.content, `${what}: ${type}`);
    return;
  }
  if (headers !== undefined) assert.equal(type, "application/json", what);
  const value = jsonOf(body, headers?.get("content-encoding"));
  checkValue(json.schema ?? {}, value, what);
  if (status < 400) return;
  const { type: errorType } = v.parse(error, value).error;
  assert.ok(errorTypesOf(documented).includes(errorType), `${what}: undocumented error ${errorType}`);
  const isUnknown = path === undefined && status === 404;
  assert.equal(errorType === "unknown_endpoint", isUnknown, `${what}: ${errorType}`);
}

export function jsonOf(body: Uint8Array, encoding?: string): unknown {
  const plain =
    encoding === "br" ? brotliDecompressSync(body) : encoding === "gzip" ? gunzipSync(body) : body;
  return JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(plain));
}
