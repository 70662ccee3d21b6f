import { fastify } from "fastify";
import { stateCodes } from "../../engine/index.ts";
import { announce, type Headers, percentiles, pricesPath, type Query } from "./rival.ts";

const object = (properties: Record<string, object>) => ({ type: "object", properties });
const all = (type: string, ...names: string[]) => Object.fromEntries(names.map((name) => [name, { type }]));
/** With a schema, Fastify compiles the code that writes an answer. */
const response = object({
  procedure: object(all("string", "code", "name")),
  scope: object(all("string", "state")),
  summary: object({
    ...all("number", "facilities", "min_charge", "max_charge", "spread", "median_allowed"),
    ...all("number", ...Object.keys(percentiles)),
    ...all("number", "services", "weighted_median_charge", "weighted_mean_charge"),
  }),
  data: {
    type: "array",
    items: object({
      ...all("string", "facility", "city", "state", "ccn"),
      ...all("number", "submitted_charge", "medicare_allowed"),
    }),
  },
  source: object({ ...all("number", "data_year"), ...all("string", "data_version", "caveat") }),
  next: { type: ["string", "null"] },
});
const querystring = {
  ...object({
    procedure: { type: "string" },
    state: { type: "string", enum: stateCodes },
    limit: { type: "integer", minimum: 1, maximum: 50, default: 25 },
  }),
  required: ["procedure"],
};

type Answer = (query: Query) => Promise<object | undefined> | object | undefined;

/** Serves price queries, each answered by a database. */
export async function serveWithFastify(headers: Headers, answer: Answer): Promise<void> {
  const constant = Object.fromEntries(headers);
  const app = fastify();
  app.get<{ Querystring: { procedure: string; state?: string; limit: number } }>(
    pricesPath,
    { schema: { querystring, response: { 200: response } } },
    async (request, reply) => {
      const { procedure, state = null, limit } = request.query;
      const found = await answer({ procedure, state, limit });
      if (found === undefined) return reply.code(404).send({ error: { type: "not_found" } });
      return reply.headers(constant).send(found);
    },
  );
  announce(await app.listen({ host: "127.0.0.1", port: 0 }));
}
