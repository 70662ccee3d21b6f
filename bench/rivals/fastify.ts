import { toJsonSchema } from "@valibot/to-json-schema";
import { fastify } from "fastify";
import { stateCodes } from "../../engine/index.ts";
import { pricesResponse } from "../../server/api/responses.ts";
import { type Headers, pricesPath, type Query } from "./rival.ts";

/** Fastify compiles a serializer from this schema. */
const response = toJsonSchema(pricesResponse, { typeMode: "output" });
const querystring = {
  type: "object",
  properties: {
    procedure: { type: "string" },
    state: { type: "string", enum: stateCodes },
    limit: { type: "integer", minimum: 1, maximum: 50, default: 25 },
  },
  required: ["procedure"],
};

type Answer = (query: Query) => Promise<object | undefined> | object | undefined;

/** The oldest cached answer is evicted first. */
const maxKept = 10_000;

export async function serveWithFastify(headers: Headers, answer: Answer, caches = false): Promise<void> {
  const constant = Object.fromEntries(headers);
  const kept = new Map<string, string>();
  const app = fastify();
  app.get<{ Querystring: { procedure: string; state?: string; limit: number } }>(
    pricesPath,
    { schema: { querystring, response: { 200: response } } },
    async (request, reply) => {
      const { url } = request;
      const known = kept.get(url);
      if (known !== undefined) return reply.headers(constant).serializer(String).send(known);
      const { procedure, state = null, limit } = request.query;
      const found = await answer({ procedure, state, limit });
      if (found === undefined) return reply.code(404).send({ error: { type: "not_found" } });
      if (!caches) return reply.headers(constant).send(found);
      const text = JSON.stringify(found);
      const [oldest] = kept.size < maxKept ? [] : kept.keys();
      if (oldest !== undefined) kept.delete(oldest);
      kept.set(url, text);
      return reply.headers(constant).serializer(String).send(text);
    },
  );
  console.log(`ready ${await app.listen({ host: "127.0.0.1", port: 0 })}`);
}
