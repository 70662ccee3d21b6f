/** Reads the parts of the API's OpenAPI document that the reference page shows, with references resolved. */

export interface Schema {
  type?: string | string[];
  enum?: (string | number)[];
  /** Example values. A parameter's are offered as choices if it has no `enum`. */
  examples?: (string | number)[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  default?: string | number;
  minimum?: number;
  maximum?: number;
  description?: string;
  properties?: Record<string, Schema>;
  items?: Schema;
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description?: string;
  schema: Schema;
  example?: string | number;
}

interface Content {
  schema?: Schema;
  examples?: Record<string, { value: unknown }>;
}

interface Response {
  description: string;
  content?: Record<string, Content>;
}

interface Server {
  url: string;
}

interface Described {
  operationId: string;
  servers?: Server[];
  summary: string;
  description: string;
  tags: string[];
  parameters: Parameter[];
  responses: Record<string, Response>;
}

export interface OpenApi {
  info: { title: string; summary: string; description: string };
  tags: { name: string; description: string }[];
  servers: (Server & { description?: string; variables?: { version: { default: string } } })[];
  paths: Record<string, { get: Described }>;
}

export function resolved(part: unknown, document: object): unknown {
  if (typeof part !== "object" || part === null) return part;
  if (Array.isArray(part)) return part.map((one) => resolved(one, document));
  if (!("$ref" in part))
    return Object.fromEntries(Object.entries(part).map(([name, one]) => [name, resolved(one, document)]));
  let found: object = document;
  for (const name of String(part.$ref).slice(2).split("/")) found = new Map(Object.entries(found)).get(name);
  return resolved(found, document);
}

export interface Operation {
  id: string;
  path: string;
  /** The path in one data version; null if there is none. */
  versionPath: string | null;
  summary: string;
  description: string;
  tag: string;
  parameters: Parameter[];
  returns: string;
  /** An answer, and the request that it answers. */
  example: { path: string; value: unknown } | null;
  fields: { name: string; type: string; description: string }[];
  errors: { status: string; type: string; when: string }[];
}

/**
 * Lists the operations in the document's order. An operation with a second server has that server's version as its first
 * parameter. Header parameters are left out.
 * @param examples examples by parameter, shown instead of the document's; `example` keeps the document's
 */
export function operationsOf(document: OpenApi, examples: Readonly<Record<string, string>>): Operation[] {
  const entries = Object.entries(document.paths).map(([path, { get }]) => ({ path, ...get }));
  const { description: ofVersions = "", variables } = document.servers[1] ?? {};
  return entries.map(
    ({ path: end, operationId: id, summary, description, tags, parameters, responses, servers }) => {
      const [newest, ofVersion] = servers ?? document.servers;
      const pathAt = ({ url }: Server) => url + (end === "/" ? "" : end);
      const path = pathAt(newest);
      const inPath: Parameter[] =
        ofVersion === undefined || variables === undefined
          ? []
          : [
              {
                name: "version",
                in: "path",
                required: true,
                description: ofVersions,
                schema: { type: "string" },
                example: variables.version.default,
              },
            ];
      const [ok, ...rest] = Object.entries(responses).map(([status, one]) => ({ status, ...one }));
      const [content = {}] = Object.values(ok.content ?? {});
      const [example] = Object.values(content.examples ?? {});
      return {
        id,
        path,
        versionPath: ofVersion === undefined ? null : pathAt(ofVersion),
        summary,
        description,
        tag: tags[0],
        parameters: [...inPath, ...parameters]
          .filter((one) => one.in !== "header")
          .map((one) => (one.name in examples ? { ...one, example: examples[one.name] } : one)),
        returns: ok.description,
        // The document's examples of parameters together make the request that its example answers.
        example: example
          ? {
              path: requestPath({ path, versionPath: null, parameters }, examplesOf(parameters)),
              value: example.value,
            }
          : null,
        fields: content.schema === undefined ? [] : fieldsOf(content.schema, ""),
        errors: rest.filter(({ status }) => status >= "400").flatMap(errorsOf),
      };
    },
  );
}

const examplesOf = (parameters: readonly Parameter[]) =>
  new Map(
    parameters.flatMap(({ name, example }): [string, string][] =>
      example === undefined ? [] : [[name, String(example)]],
    ),
  );

/** Nested fields have paths such as `data[].ccn`. */
function fieldsOf(schema: Schema, place: string): { name: string; type: string; description: string }[] {
  const choices = (schema.anyOf ?? schema.oneOf ?? []).flatMap((one) => fieldsOf(one, place));
  const items = schema.items === undefined ? [] : fieldsOf(schema.items, `${place}[]`);
  const own = Object.entries(schema.properties ?? {}).flatMap(([key, value]) => {
    const name = place === "" ? key : `${place}.${key}`;
    const { description = "" } = value;
    return [{ name, type: answerTypeOf(value), description }, ...fieldsOf(value, name)];
  });
  return [...new Map([...own, ...items, ...choices].map((field) => [field.name, field])).values()];
}

function answerTypeOf({ type, anyOf, oneOf, enum: values }: Schema): string {
  const types = [type ?? (anyOf ?? oneOf ?? []).map(answerTypeOf)].flat();
  const name = [...new Set(types)].join(" or ").replace("array", "list").replace("string", "text");
  return name || (values ? "text" : "");
}

const errorsOf = ({ status, description }: Response & { status: string }) =>
  [...description.matchAll(/`(\w+)`: (.*?)(?= `\w+`: |$)/gs)].map(([, type, when]) => ({
    status,
    type,
    when,
  }));

export const choicesOf = ({ schema }: Parameter): readonly (string | number)[] | undefined =>
  schema.enum ?? schema.examples;

export function typeOf({ schema }: Parameter): string {
  const { type = "string", minimum, maximum } = schema;
  const name = type === "string" ? "text" : String(type);
  if (minimum === undefined) return name;
  return maximum === undefined ? `${name}, at least ${minimum}` : `${name}, ${minimum}–${maximum}`;
}

export function requestPath(
  operation: Pick<Operation, "path" | "versionPath"> & { parameters: readonly Parameter[] },
  values: ReadonlyMap<string, string>,
): string {
  const template =
    operation.versionPath !== null && values.get("version") ? operation.versionPath : operation.path;
  const query = new URLSearchParams();
  for (const { name, in: place } of operation.parameters) {
    const value = values.get(name) ?? "";
    if (place === "query" && value !== "") query.set(name, value);
  }
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(values.get(name) ?? ""));
  return query.size === 0 ? path : `${path}?${query}`;
}
