import { strict as assert } from "node:assert";
import { once } from "node:events";
import { request } from "node:http";
import { buffer } from "node:stream/consumers";
import { least, mean } from "d3-array";
import type { Constant } from "./rivals/rival.ts";
import type { Server } from "./servers.ts";

/** Checks, before measuring, that other servers answer like the service, or send one constant answer of the service. */

/** HTTP servers set these headers differently. */
const ofTheConnection = /^(connection|content-length|date|keep-alive|server|transfer-encoding|uwebsockets)$/;

/** Sends the request of a list's line on a new connection, because the service closes idle connections. */
export async function ask({ port, key }: Server, line: string): Promise<Constant> {
  const authorization = `Bearer ${key}`;
  const [path, name = "authorization", value = authorization] = line.split(/\t|: /);
  const headers = { authorization, [name.toLowerCase()]: value };
  const sent = request({ host: "127.0.0.1", port, path, headers, agent: false }).end();
  const [response] = await once(sent, "response");
  return {
    status: `${response.statusCode} ${response.statusMessage}`,
    headers: Object.entries<string>(response.headers).filter(([name]) => !ofTheConnection.test(name)),
    body: await buffer(response),
  };
}

export async function typicalAnswer(service: Server, lines: readonly string[]) {
  const answers: Constant[] = [];
  for (const line of lines) answers.push(await ask(service, line));
  const meanBytes = mean(answers, ({ body }) => body.length)!;
  return { constant: least(answers, ({ body }) => Math.abs(body.length - meanBytes))!, meanBytes };
}

export function sampleOf(lines: readonly string[], count: number): string[] {
  const step = Math.max(1, Math.floor(lines.length / count));
  return lines.filter((_, i) => i % step === 0).slice(0, count);
}

export async function checkComputed(server: Server, service: Server, lines: string[]): Promise<void> {
  for (const line of lines) {
    const [expected, found] = await Promise.all([ask(service, line), ask(server, line)]);
    assert.equal(found.status, expected.status, `${server.kind}: status of ${line}`);
    assert.deepEqual(json(found), json(expected), `${server.kind}: answer to ${line}`);
  }
}

export async function checkConstant(server: Server, line: string, constant: Constant): Promise<void> {
  const found = await ask(server, line);
  assert.equal(found.status, constant.status, `${server.kind}: status`);
  assert.deepEqual(found.body, constant.body, `${server.kind}: body`);
  const headers = new Map(found.headers);
  for (const [header, value] of constant.headers)
    assert.equal(headers.get(header), value, `${server.kind}: header ${header}`);
}

export const json = ({ body }: Constant) => JSON.parse(body.toString());
