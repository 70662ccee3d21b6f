import { type ConversionConfig, toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { plans } from "../shared/plans.ts";
import { basePath, type Endpoint, endpoint } from "./endpoint.ts";
import { endpoints } from "./endpoints/index.ts";
import { type Outline, overviewOf } from "./endpoints/overview.ts";
import { type ApiErrorType, apiErrors, backOff, reachedCeilings } from "./errors.ts";
import recorded from "./examples.json" with { type: "json" };

/** The OpenAPI description of the API. It is made from the endpoints' definitions, which also check requests. */

/** Recorded answers of the sample, and their headers. A test compares them with new answers. */
const {
  headers: headerExamples,
  ...examples
}: Record<string, unknown> & { headers: Record<string, string> } = recorded;

const mostCharacters = 30;
const mostItems = 5;

/** Shortens an example's lists and its long texts of several words, so that the document stays short. */
function shortened(part: unknown): unknown {
  if (typeof part === "string" && part.includes(" ") && part.length > mostCharacters)
    return `${part.slice(0, mostCharacters)}…`;
  if (Array.isArray(part)) return part.slice(0, typeof part[0] === "object" ? 1 : mostItems).map(shortened);
  if (typeof part !== "object" || part === null) return part;
  return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, shortened(value)]));
}

const allErrorTypes = Object.keys(apiErrors) as ApiErrorType[];
const statusOf = (type: ApiErrorType) => apiErrors[type].status.slice(0, 3);

const errorRows = allErrorTypes.map((type) => {
  const { retry } = apiErrors[type];
  return `| ${statusOf(type)} | \`${type}\` | ${retry} |`;
});
const ceilingRows = Object.entries(reachedCeilings).map(
  ([name, { when, reset, action }]) => `| \`${name}\` | ${when} | ${reset} | ${action} |`,
);
/** Formats a number with commas, without loading the data of all languages as `toLocaleString` would. */
const inThousands = (count: number) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");
const plansOfClients = Object.entries(plans).filter(([plan]) => plan !== "portal");
const planRows = plansOfClients.map(([plan, ceilings]) =>
  ceilings === undefined
    ? `| ${plan} | by agreement | by agreement |`
    : `| ${plan} | ${ceilings.burst} | ${inThousands(ceilings.quota)} |`,
);

const versionBase = `${basePath}/versions/{version}`;

const description = `Medicare's public outpatient hospital charges: one row per hospital for a procedure group, with the charge that the hospital submits and the amount that Medicare allows. Amounts are US dollars.

## Requests
Every path accepts GET and HEAD. HEAD returns the same headers without the body. No request has a body.
The query is percent-encoded UTF-8, in which \`+\` is a space. In the path, \`+\` is a plus, and an escaped slash belongs to a value. Unknown and repeated parameters are errors. Integers are plain decimal digits without leading zeros.
Fields may be added to answers at any time. No field is removed or changes its type.

The examples are real answers from the synthetic sample that a first start writes. Its hospitals are invented. Their lists are cut to one object or five texts, and their long texts end with \`…\`. An operation's examples of parameters together make the request that its example answers.

## From words to codes
\`/healthcare/facilities\` takes words: \`?procedure=knee replacement&near=Boston, MA&sort=charge\` lists what hospitals charge, in one call. Its answer names the group's APC code, which all other paths take as \`procedure\` or \`code\`. If words fit several groups, the error has \`candidates\`. \`/search?type=procedure&q=\` lists all groups that fit words or a HCPCS or CPT code; \`/search?q=\` finds a hospital's CCN by its name and city.

## Keys and limits
Every request needs an API key: \`Authorization: Bearer <API key>\`. The limits apply to the account: all of its keys share them.

| Plan | Requests per second | Requests per month (UTC) |
|---|---|---|
${planRows.join("\n")}

Every answer has \`X-RateLimit-Remaining\`, the requests left in the month, and \`X-RateLimit-Reset\`, the Unix second at which the month ends. Every request counts against the month, except those that are answered with 401, 429, 500 or 503.

What to do on a 429 depends on the error's \`ceiling\`:

| Ceiling | When | \`X-RateLimit-Reset\` | What to do |
|---|---|---|---|
${ceilingRows.join("\n")}

${backOff}

## Errors
An error has a \`type\`, which is stable, and a \`message\` for people, which may change at any time.

| Status | Type | Retry |
|---|---|---|
${errorRows.join("\n")}

## Data versions
Paths below \`${basePath}\` answer from the newest data. Data operations also answer from one data version, at the second server: \`${versionBase}/healthcare/prices\`. A version such as 2024.1 always gives the same numbers, and the same bytes while the software's release is the same. A year means its newest revision at the time. \`GET ${basePath}/datasets\` lists the versions.

## Caching and compression
Every answer with status 200 has a strong \`ETag\`. If a request sends it in \`If-None-Match\` and the answer is unchanged, the response is 304 without a body. Bodies over 1 KiB are compressed with \`br\` or \`gzip\` if \`Accept-Encoding\` allows it. Files aren't compressed.`;

type JsonSchema = ReturnType<typeof toJsonSchema>;

type Variant = v.VariantSchema<string, v.VariantOptions<string>, undefined>;

function isVariant(schema: v.GenericSchema | { type: string }): schema is Variant {
  return schema.type === "variant";
}

/** Makes the OpenAPI discriminator of a union. It names the property whose value selects the schema. */
function discriminatorOf({ key: propertyName, options }: Variant) {
  const mapping = options.flatMap((option) => {
    if (!("entries" in option)) return [];
    const of = option.entries[propertyName];
    const value = "literal" in of ? String(of.literal) : "";
    return [[value, reference("schemas", v.getTitle(option) ?? schemaName(value)).$ref]];
  });
  return { propertyName, mapping: Object.fromEntries(mapping) };
}

const conversion: ConversionConfig = {
  target: "draft-2020-12",
  typeMode: "output",
  // Ignores what JSON Schema can't express, such as upper-casing. The descriptions mention such rules.
  errorMode: "ignore",
  overrideAction({ valibotAction, jsonSchema }) {
    // Query parameters arrive as text. A parameter that is parsed by Number takes digits only, so it is an integer.
    if (!("operation" in valibotAction)) return jsonSchema;
    if (valibotAction.operation === Number) return { type: "integer" };
    return valibotAction.operation === Number.parseFloat ? { type: "number" } : jsonSchema;
  },
  overrideSchema({ valibotSchema, jsonSchema }) {
    if (valibotSchema.type === "loose_object") return { ...jsonSchema, additionalProperties: true };
    if (v.isOfType("literal", valibotSchema)) return { type: "string", ...jsonSchema };
    if (isVariant(valibotSchema))
      return { ...jsonSchema, ...{ discriminator: discriminatorOf(valibotSchema) } };
    const [inner] = jsonSchema.anyOf ?? [];
    // A titled schema isn't merged, because it becomes a component that other schemas refer to.
    if (valibotSchema.type !== "nullable" || typeof inner !== "object" || inner.title !== undefined)
      return jsonSchema;
    return typeof inner.type === "string" ? { ...inner, type: [inner.type, "null"] } : jsonSchema;
  },
};

const reference = (kind: string, name: string) => ({ $ref: `#/components/${kind}/${name}` });
const schemaName = (name: string) => `${name[0].toUpperCase()}${name.slice(1)}`;

const errorMessage = { type: "string", description: "For people. It may change at any time." } as const;
const errorOf = (required: string[], properties: NonNullable<JsonSchema["properties"]>): JsonSchema => ({
  type: "object",
  required: ["error"],
  properties: { error: { type: "object", description: "What is wrong.", required, properties } },
});
const errorSchema = errorOf(["type", "message"], {
  type: { type: "string", enum: allErrorTypes, description: "Stable. Programs should decide by this field." },
  message: errorMessage,
  param: { type: "string", description: "The parameter with the error, if there is one." },
  candidates: {
    type: "array",
    description: "The procedure groups that the words of `procedure` may mean.",
    items: reference("schemas", "Candidate"),
  },
  places: {
    type: "array",
    description:
      "What `near` may mean: cities, those with most hospitals around or the likeliest first, or a ZIP code with its leading zeros.",
    items: {
      type: "object",
      required: ["near"],
      properties: { near: { type: "string", description: "A city with its state, or a ZIP code." } },
    },
  },
  absent: {
    type: "array",
    description: "What the words of a search ask for and this data can't have.",
    items: reference("schemas", "Absent"),
  },
});
const candidateSchema: JsonSchema = {
  type: "object",
  required: ["code", "name"],
  properties: {
    code: { type: "string", description: "APC code." },
    name: { type: "string", description: "Name of the procedure group." },
  },
};
const ceilingErrorSchema = errorOf(["type", "message", "ceiling"], {
  type: {
    type: "string",
    const: "rate_limit_exceeded",
    description: "Stable. Programs should decide by this field.",
  },
  message: errorMessage,
  ceiling: {
    type: "string",
    enum: Object.keys(reachedCeilings),
    description: "The ceiling that is reached. Programs should decide by it whether to retry.",
  },
});

function schemasOf(entries: readonly Endpoint[]): Record<string, unknown> {
  const definitions: Record<string, v.GenericSchema> = {};
  for (const { name, response } of entries)
    if (response !== undefined) definitions[schemaName(name)] = response;
  const { $defs = {} } = toJsonSchema(v.unknown(), {
    ...conversion,
    definitions,
    overrideRef: ({ referenceId }) => reference("schemas", referenceId).$ref,
  });
  const schemas: Record<string, unknown> = {
    Error: errorSchema,
    CeilingError: ceilingErrorSchema,
    Candidate: candidateSchema,
  };
  for (const [name, schema] of Object.entries($defs)) schemas[name] = withoutTitled(schema, schemas);
  return schemas;
}

/** Replaces titled schemas in `part` by references, and adds these schemas to `schemas`. */
function withoutTitled(part: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(part)) return part.map((item) => withoutTitled(item, schemas));
  if (typeof part !== "object" || part === null) return part;
  const inner = Object.entries(part).map(([key, value]) => [key, withoutTitled(value, schemas)]);
  const schema: Record<string, unknown> = Object.fromEntries(inner);
  // Examples are left out, because the examples of answers show the values of fields. Minimums of 0 are left out, because
  // nobody expects negative counts or amounts.
  if (schema.minimum === 0) delete schema.minimum;
  if (Array.isArray(schema.examples)) delete schema.examples;
  const { title } = schema;
  if (typeof title !== "string") return schema;
  delete schema.title;
  schemas[title] = schema;
  return reference("schemas", title);
}

/** Describes a query parameter. Its first example fits the endpoint's example answer. */
function queryParameter([name, schema]: [string, v.GenericSchema]) {
  const converted = toJsonSchema(schema, conversion);
  const { $schema: _, description = "", examples, default: given, ...rest } = converted;
  const value = rest.type === "integer" && given !== undefined ? Number(given) : given;
  return {
    name,
    in: "query" as const,
    ...(schema.type !== "optional" && { required: true }),
    description,
    schema: {
      ...rest,
      ...(value !== undefined && { default: value }),
      ...(Array.isArray(examples) && examples.length > 1 && { examples: examples.toSorted() }),
    },
    ...(Array.isArray(examples) ? { example: examples[0] } : {}),
  };
}

/** Returns the query parameters that several operations have, by their names in the document. */
function sharedParameters(entries: readonly Endpoint[]): Record<string, object> {
  const shared: Record<string, object> = {};
  const all = entries.flatMap(({ parameters }) => Object.entries(parameters.entries).map(queryParameter));
  for (const [i, parameter] of all.entries()) {
    const { name, schema } = parameter;
    const text = JSON.stringify(parameter);
    const isShared = all.findIndex((each) => JSON.stringify(each) === text) < i;
    if (isShared) shared[schemaName(name) + ("maximum" in schema ? schema.maximum : "")] ??= parameter;
  }
  return shared;
}

function parametersOf({ parameters, segment, errors = [] }: Endpoint, shared: Record<string, object>) {
  const inPath = { in: "path", required: true, schema: { type: "string", minLength: 1 } };
  const inQuery = Object.entries(parameters.entries).map(queryParameter);
  const known = new Map(Object.entries(shared).map(([name, each]) => [JSON.stringify(each), name]));
  return [
    ...(segment === undefined ? [] : [{ ...inPath, ...segment }]),
    ...inQuery.map((each) => {
      const name = known.get(JSON.stringify(each));
      return name === undefined ? each : reference("parameters", name);
    }),
    reference("parameters", "IfNoneMatch"),
    ...(errors.includes("precondition_failed") ? [reference("parameters", "IfMatch")] : []),
    ...(errors.includes("range_not_satisfiable") ? [reference("parameters", "Range")] : []),
  ];
}

const header = (description: string, schema: object, example?: unknown) => ({
  description,
  required: true,
  schema,
  ...(example !== undefined && { example }),
});
const text = { type: "string" };
const headers = {
  Remaining: header(
    "Requests left in the month; 0 on 401 and 429.",
    { type: "integer", minimum: 0 },
    Number(headerExamples["X-RateLimit-Remaining"]),
  ),
  Reset: header(
    "Unix seconds: the start of the next UTC month. On a 429 with `ceiling` `burst`, the second from which a request is accepted.",
    { type: "integer", minimum: 0 },
    Number(headerExamples["X-RateLimit-Reset"]),
  ),
  RequestId: header("Identifies the request in the operator's log. Tell it to the operator.", {
    type: "string",
    pattern: "^[0-9a-f]{16}-[0-9a-z]+$",
  }),
  ETag: header(
    "Identifies these bytes. Clients can send it in If-None-Match.",
    { type: "string", pattern: '^"[!#-~]+"$' },
    headerExamples.ETag,
  ),
  CacheControl: header(
    "`immutable` if the path has an exact data version or is that of a page, or if `versions` names exact versions only; not for words, nor for `/export.parquet`.",
    {
      type: "string",
      enum: ["private, no-cache", "private, max-age=31536000, immutable"],
    },
    headerExamples["Cache-Control"],
  ),
  NoStore: header("Caches don't keep errors.", { type: "string", const: "no-store" }),
  Vary: header("The request headers that the answer depends on.", text, headerExamples.Vary),
  ContentDisposition: header(
    "The file's name. It has the data version, and the procedure and state of the rows.",
    {
      type: "string",
      pattern: '^attachment; filename="opps-[0-9.]+(-[0-9]{4})?(-[A-Z]{2})?[.](csv|arrow|parquet)"$',
    },
    headerExamples["Content-Disposition"],
  ),
  AcceptRanges: header(
    "The unit of ranges.",
    { type: "string", const: "bytes" },
    headerExamples["Accept-Ranges"],
  ),
  ContentRange: header(
    "The position of the part in the file, and the file's size.",
    {
      type: "string",
      pattern: "^bytes [0-9]+-[0-9]+/[0-9]+$",
    },
    headerExamples["Content-Range"],
  ),
  ContentEncoding: {
    description: "Only if the body is compressed.",
    schema: { type: "string", enum: ["br", "gzip"] },
    example: headerExamples["Content-Encoding"],
  },
};
const limitHeaders = {
  "X-RateLimit-Remaining": reference("headers", "Remaining"),
  "X-RateLimit-Reset": reference("headers", "Reset"),
};
const cacheHeaders = {
  ...limitHeaders,
  ETag: reference("headers", "ETag"),
  "Cache-Control": reference("headers", "CacheControl"),
  Vary: reference("headers", "Vary"),
};

const examplesOf = (...names: string[]) =>
  Object.fromEntries(
    names.filter((name) => name in examples).map((name) => [name, { value: shortened(examples[name]) }]),
  );

/** Describes the response for errors of one status, which all have the same headers. */
function errorResponse(types: readonly ApiErrorType[]) {
  const { headers: own = [] } = apiErrors[types[0]];
  const ownHeaders = own.map(({ name, description, value, pattern }) => {
    const fixed = value === null ? { type: "integer", minimum: 1 } : { type: "string", const: value };
    return [name, header(description, pattern === undefined ? fixed : { type: "string", pattern })];
  });
  return {
    description: types.map((type) => `\`${type}\`: ${apiErrors[type].when}`).join(" "),
    headers: {
      ...limitHeaders,
      "Cache-Control": reference("headers", "NoStore"),
      "X-Request-Id": reference("headers", "RequestId"),
      ...Object.fromEntries(ownHeaders),
    },
    content: {
      "application/json": {
        schema: reference("schemas", types.includes("rate_limit_exceeded") ? "CeilingError" : "Error"),
        examples: examplesOf(...types),
      },
    },
  };
}

const responseName = (types: readonly ApiErrorType[]) =>
  types.includes("missing_parameter") ? "400-missing" : statusOf(types[0]);

const responses = {
  304: {
    description: "The client's copy, which `If-None-Match` names, is still valid. There is no body.",
    headers: cacheHeaders,
  },
  401: errorResponse(["missing_api_key", "invalid_api_key"]),
  405: errorResponse(["method_not_allowed"]),
  429: errorResponse(["rate_limit_exceeded"]),
  500: errorResponse(["internal_error"]),
  503: errorResponse(["service_unavailable"]),
};

function refusalsOf({ errors = [], segment, kind }: Endpoint): [status: string, types: ApiErrorType[]][] {
  const possible = new Set<ApiErrorType>([...errors, "invalid_parameter"]);
  if (kind === "versioned") possible.add("not_found");
  if (possible.has("not_found") || segment !== undefined) possible.add("unknown_endpoint");
  return ["400", "404", "412", "416"].flatMap((status) => {
    const types = allErrorTypes.filter((type) => possible.has(type) && statusOf(type) === status);
    return types.length === 0 ? [] : [[status, types]];
  });
}

function responsesOf(entry: Endpoint) {
  const { name, returns, errors = [], fileType } = entry;
  const isSeekable = errors.includes("range_not_satisfiable");
  const okHeaders = {
    ...cacheHeaders,
    ...(fileType === undefined
      ? { "Content-Encoding": reference("headers", "ContentEncoding") }
      : { "Content-Disposition": reference("headers", "ContentDisposition") }),
    ...(isSeekable && { "Accept-Ranges": reference("headers", "AcceptRanges") }),
  };
  const refusals = refusalsOf(entry).map(([status, types]) => [
    status,
    reference("responses", responseName(types)),
  ]);
  const fileSchema = fileType?.startsWith("text/") ? text : { type: "string", format: "binary" };
  const contentOf = (example: string) => ({
    [fileType ?? "application/json"]: {
      schema: fileType === undefined ? reference("schemas", schemaName(name)) : fileSchema,
      ...(example in examples && { examples: examplesOf(example) }),
    },
  });
  return {
    "200": { description: returns, headers: okHeaders, content: contentOf(name) },
    ...(isSeekable && {
      "206": {
        description:
          "The part of the file that `Range` asks for. A request for several ranges gets the whole file.",
        headers: { ...okHeaders, "Content-Range": reference("headers", "ContentRange") },
        content: contentOf(`${name}.206`),
      },
    }),
    "304": reference("responses", "304"),
    "401": reference("responses", "401"),
    "405": reference("responses", "405"),
    ...Object.fromEntries(refusals),
    "429": reference("responses", "429"),
    "500": reference("responses", "500"),
    "503": reference("responses", "503"),
  };
}

const servers = {
  newest: { url: basePath },
  ofVersion: {
    url: versionBase,
    // orval refuses a description of the variable.
    description: "A data version such as 2024.1, or a year, which means its newest revision at the time.",
    variables: { version: { default: "2024" } },
  },
};

function pathItem(entry: Endpoint, shared: Record<string, object>) {
  return {
    get: {
      operationId: entry.name,
      summary: entry.summary,
      description: entry.description,
      tags: [entry.kind === "service" ? "service" : "data"],
      ...(entry.kind !== "versioned" && { servers: [servers.newest] }),
      parameters: parametersOf(entry, shared),
      responses: responsesOf(entry),
    },
  };
}

function describe(entries: readonly Endpoint[]) {
  const shared = sharedParameters(entries);
  const paths = entries.map((entry) => [entry.path || "/", pathItem(entry, shared)]);
  const refusals = entries
    .flatMap(refusalsOf)
    .map(([, types]) => [responseName(types), errorResponse(types)]);
  return {
    openapi: "3.1.0",
    info: {
      title: "Healthcare Charge Query Service",
      version: "1",
      summary: "Medicare's public outpatient hospital charges, read-only",
      description,
      contact: { name: "Whoever runs this server" },
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: Object.values(servers),
    security: [{ apiKey: [] }],
    tags: [
      { name: "data", description: "Charges, procedure groups and facilities" },
      { name: "service", description: "About the service and the account" },
    ],
    paths: Object.fromEntries(paths),
    components: {
      securitySchemes: { apiKey: { type: "http", scheme: "bearer", description: "An API key, `hcq_…`" } },
      parameters: {
        ...shared,
        Range: {
          name: "Range",
          in: "header",
          description: "A part of the file, as `bytes=0-1023`, or `bytes=-8` for its end.",
          schema: text,
          example: "bytes=0-3",
        },
        IfMatch: {
          name: "If-Match",
          in: "header",
          description:
            "ETags of the file that the client has a part of. If the file has another one now, the answer is 412.",
          schema: text,
          example: headerExamples.ETag,
        },
        IfNoneMatch: {
          name: "If-None-Match",
          in: "header",
          description:
            "ETags of answers that the client has. If one of them is still valid, the answer is 304.",
          schema: text,
          example: headerExamples.ETag,
        },
      },
      headers,
      responses: { ...responses, ...Object.fromEntries(refusals) },
      schemas: schemasOf(entries),
    },
  };
}

let document: Buffer | undefined;

/** The document is made at the first call, because few threads need it. */
export function openapiDocument(): Buffer {
  document ??= Buffer.from(JSON.stringify(describe(allEndpoints)));
  return document;
}

const openapi: Endpoint = endpoint({
  path: "/openapi.json",
  name: "openapi",
  summary: "This description",
  description: "Describes the whole API for tools. The example has only the first field.",
  returns: "The OpenAPI 3.1 document.",
  kind: "service",
  parameters: v.object({}),
  response: v.pipe(
    v.looseObject({ openapi: v.pipe(v.string(), v.description("The form's version")) }),
    v.description("An OpenAPI 3.1 document."),
  ),
  answer: openapiDocument,
});

const overview = overviewOf(() => allEndpoints.map(outlineOf));

function outlineOf({ path, kind, summary, segment, parameters }: Endpoint): Outline {
  const inPath =
    segment === undefined ? [] : [{ ...segment, in: "path" as const, required: true, schema: {} }];
  const inQuery = Object.entries(parameters.entries as Record<string, v.GenericSchema>).map(queryParameter);
  return {
    path: basePath + path,
    version_path: kind === "versioned" ? `${basePath}/versions/{version}${path}` : null,
    summary,
    parameters: [...inPath, ...inQuery].map(({ name, in: place, required = false, description, schema }) => ({
      name,
      in: place,
      required,
      description,
      default: defaultIn(schema),
    })),
  };
}

function defaultIn(schema: object): string | number | null {
  const given = "default" in schema ? schema.default : undefined;
  return typeof given === "string" || typeof given === "number" ? given : null;
}

export const allEndpoints: readonly Endpoint[] = [overview, ...endpoints, openapi];
