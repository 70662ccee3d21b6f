import { strict as assert } from "node:assert";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { buffer } from "node:stream/consumers";
import type { Constant, Server } from "./servers.ts";

/** Checks before anything is measured that all servers answer the same. The service is the reference. */

const agent = new Agent({ keepAlive: true });

/** Asks for a line of a list. */
export async function ask(server: Server, key: string, line: string): Promise<Constant> {
  const [path, header = ""] = line.split("\t");
  const colon = header.indexOf(": ");
  const headers = {
    Authorization: `Bearer ${key}`,
    ...(colon < 0 ? {} : { [header.slice(0, colon)]: header.slice(colon + 2) }),
  };
  const sent = request({ host: "127.0.0.1", port: server.port, path, headers, agent }).end();
  const [response] = await once(sent, "response");
  const body = await buffer(response);
  const names: string[] = response.rawHeaders.filter((_: string, i: number) => i % 2 === 0);
  return {
    status: `${response.statusCode} ${response.statusMessage}`,
    headers: names
      .map((name, i) => [name, String(response.rawHeaders[2 * i + 1])] as const)
      .filter(([name]) => !ofTheConnection.has(name.toLowerCase())),
    body,
  };
}

/** Every server writes these by itself. */
const ofTheConnection = new Set([
  "connection",
  "content-length",
  "date",
  "keep-alive",
  "server",
  "transfer-encoding",
  "uwebsockets",
]);

/** An answer to stand for those to all lines: the one whose body is nearest to the mean length. */
export async function typicalAnswer(
  service: Server,
  key: string,
  lines: readonly string[],
): Promise<{ constant: Constant; meanBytes: number }> {
  const answers: Constant[] = [];
  for (const line of lines) answers.push(await ask(service, key, line));
  const meanBytes = answers.reduce((sum, { body }) => sum + body.length, 0) / answers.length;
  const distance = ({ body }: Constant) => Math.abs(body.length - meanBytes);
  answers.sort((a, b) => distance(a) - distance(b));
  return { constant: answers[0], meanBytes };
}

/** A few lines from all over a list. */
export function sampleOf(lines: readonly string[], count: number): string[] {
  const step = Math.max(1, Math.floor(lines.length / count));
  return lines.filter((_, i) => i % step === 0).slice(0, count);
}

/** @throws AssertionError when a server that computes answers otherwise than the service */
export async function checkComputed(
  name: string,
  server: Server,
  service: Server,
  key: string,
  lines: readonly string[],
): Promise<void> {
  for (const line of lines) {
    const [expected, found] = await Promise.all([ask(service, key, line), ask(server, key, line)]);
    assert.equal(found.status, expected.status, `${name}: status of ${line}`);
    assert.deepEqual(json(found), json(expected), `${name}: answer to ${line}`);
  }
}

/** @throws AssertionError when a sender of a constant sends something else, or lacks a header of the service */
export async function checkConstant(
  name: string,
  server: Server,
  key: string,
  line: string,
  constant: Constant,
): Promise<void> {
  const found = await ask(server, key, line);
  assert.equal(found.status, constant.status, `${name}: status`);
  assert.deepEqual(Buffer.from(found.body), Buffer.from(constant.body), `${name}: body`);
  const headers = new Map(found.headers.map(([header, value]) => [header.toLowerCase(), value]));
  for (const [header, value] of constant.headers)
    assert.equal(headers.get(header.toLowerCase()), value, `${name}: header ${header}`);
}

function json({ body }: Constant): unknown {
  return JSON.parse(Buffer.from(body).toString());
}
