import { toJsonSchema } from "@valibot/to-json-schema";
import * as v from "valibot";
import { type Endpoint, endpoint } from "./endpoint.ts";
import { endpoints } from "./endpoints.ts";
import { type ErrorType, errorTypes } from "./errors.ts";

/** The OpenAPI description of the API, made from the same table that routes and checks requests. */

/** Errors that any request can meet. */
const commonErrors: readonly ErrorType[] = [
  "invalid_parameter",
  "missing_api_key",
  "invalid_api_key",
  "rate_limit_exceeded",
  "internal_error",
];

function schemaOf(schema: v.GenericSchema, typeMode: "input" | "output") {
  // What JSON Schema has no words for, as upper-casing, says so in its description.
  const { $schema: _, ...rest } = toJsonSchema(schema, { typeMode, errorMode: "ignore" });
  return rest;
}

function parametersOf({ parameters, segment, path }: Endpoint) {
  const query = Object.entries(parameters.entries).map(([name, schema]) => {
    const { description, ...rest } = schemaOf(schema as v.GenericSchema, "input");
    return { name, in: "query", required: schema.type !== "optional", description, schema: rest };
  });
  if (segment === undefined) return query;
  const name = path.slice(path.indexOf("{") + 1, -1);
  const { description, example } = segment;
  return [{ name, in: "path", required: true, description, schema: { type: "string" }, example }, ...query];
}

const headers = {
  "X-RateLimit-Remaining": { $ref: "#/components/headers/Remaining" },
  "X-RateLimit-Reset": { $ref: "#/components/headers/Reset" },
};
const cacheHeaders = {
  ETag: { description: "Names these bytes; for If-None-Match.", schema: { type: "string" } },
  "Cache-Control": {
    description: "Immutable where the path names an exact data version.",
    schema: { type: "string" },
  },
};

function responsesOf({ name, errors }: Endpoint) {
  const byStatus = new Map<string, ErrorType[]>();
  for (const type of new Set([...errors, ...commonErrors])) {
    const status = errorTypes[type].slice(0, 3);
    byStatus.set(status, [...(byStatus.get(status) ?? []), type]);
  }
  const failures = [...byStatus].map(([status, types]) => [
    status,
    {
      description: types.map((type) => `\`${type}\``).join(" or "),
      headers,
      content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
    },
  ]);
  return {
    "200": {
      description: "The answer",
      headers: { ...headers, ...cacheHeaders },
      content: { "application/json": { schema: { $ref: `#/components/schemas/${schemaName(name)}` } } },
    },
    "304": {
      description: "What If-None-Match names is still right",
      headers: { ...headers, ...cacheHeaders },
    },
    ...Object.fromEntries(failures),
  };
}

const schemaName = (name: string) => `${name[0].toUpperCase()}${name.slice(1)}`;

function operation(entry: Endpoint, prefix: string) {
  const version = {
    name: "version",
    in: "path",
    required: true,
    description: "A data version such as 2024.1, or a year, which means its newest revision.",
    schema: { type: "string" },
    example: "2024.1",
  };
  return {
    get: {
      operationId: prefix === "" ? entry.name : `${entry.name}OfVersion`,
      summary: entry.summary,
      tags: [entry.kind === "service" ? "service" : "data"],
      parameters: [...(prefix === "" ? [] : [version]), ...parametersOf(entry)],
      responses: responsesOf(prefix === "" ? entry : { ...entry, errors: [...entry.errors, "not_found"] }),
    },
  };
}

function describe(entries: readonly Endpoint[]) {
  const paths = entries.flatMap((entry) => {
    const plain = [`/api/v1${entry.path}`, operation(entry, "")];
    const versions = "/api/v1/versions/{version}";
    return entry.kind === "versioned"
      ? [plain, [`${versions}${entry.path}`, operation(entry, versions)]]
      : [plain];
  });
  return {
    openapi: "3.1.0",
    info: {
      title: "Healthcare Charge Query Service",
      version: "1",
      summary: "Medicare's public outpatient hospital charges, read only",
      description:
        "One row per hospital for a procedure group, with its submitted charge and Medicare's allowed amount. Amounts are US dollars. Errors have a stable `type`; messages may change.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ apiKey: [] }],
    tags: [
      { name: "data", description: "Charges, procedure groups and facilities" },
      { name: "service", description: "About the service and the account" },
    ],
    paths: Object.fromEntries(paths),
    components: {
      securitySchemes: { apiKey: { type: "http", scheme: "bearer", description: "An API key, `hcq_…`" } },
      headers: {
        Remaining: {
          description: "Whole requests left in the month; 0 on 401 and 429.",
          required: true,
          schema: { type: "integer", minimum: 0 },
        },
        Reset: {
          description:
            "Unix seconds: the start of the next UTC month; when the burst is used up, the next second that accepts a request.",
          required: true,
          schema: { type: "integer" },
        },
      },
      schemas: {
        ...Object.fromEntries(
          entries.map(({ name, response }) => [schemaName(name), schemaOf(response, "output")]),
        ),
        Error: {
          type: "object",
          required: ["error"],
          properties: {
            error: {
              type: "object",
              required: ["type", "message"],
              properties: {
                type: { type: "string", enum: Object.keys(errorTypes) },
                message: { type: "string", description: "For people; may change at any time." },
                param: { type: "string", description: "The parameter at fault." },
              },
            },
          },
        },
      },
    },
  };
}

const openapi: Endpoint = endpoint({
  path: "/openapi.json",
  name: "openapi",
  summary: "This description",
  kind: "service",
  parameters: v.object({}),
  response: v.looseObject({ openapi: v.string() }),
  errors: [],
  answer: () => document,
});

/** Every endpoint of the API. */
export const allEndpoints: readonly Endpoint[] = [...endpoints, openapi];
const document = Buffer.from(JSON.stringify(describe(allEndpoints)));
