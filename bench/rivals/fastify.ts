import { fastify } from "fastify";
import { stateCodes } from "../../engine/index.ts";
import { announce, type Headers, pricesPath, type Query } from "./rival.ts";

const object = (properties: Record<string, object>) => ({ type: "object", properties });
const number = { type: "number" };
const string = { type: "string" };
/** With a schema, Fastify compiles the code that writes an answer. */
const response = object({
  procedure: object({ code: string, name: string }),
  scope: object({ state: string }),
  summary: object({
    facilities: number,
    median_charge: number,
    min_charge: number,
    max_charge: number,
    spread: number,
    p10_charge: number,
    p25_charge: number,
    p75_charge: number,
    p90_charge: number,
    median_allowed: number,
  }),
  data: {
    type: "array",
    items: object({
      facility: string,
      city: string,
      state: string,
      ccn: string,
      submitted_charge: number,
      medicare_allowed: number,
    }),
  },
  source: object({ data_year: number, data_version: string, caveat: string }),
  next: { type: ["string", "null"] },
});
const querystring = {
  ...object({
    procedure: string,
    state: { type: "string", enum: stateCodes },
    limit: { type: "integer", minimum: 1, maximum: 50, default: 25 },
  }),
  required: ["procedure"],
};

/** Serves price queries, each answered by a database. */
export async function serveWithFastify(
  headers: Headers,
  answer: (query: Query) => Promise<object | undefined> | object | undefined,
): Promise<void> {
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
  await app.listen({ host: "127.0.0.1", port: 0 });
  const address = app.server.address();
  if (address === null || typeof address === "string") throw new Error(`listening on ${address}`);
  announce(address.port);
}
