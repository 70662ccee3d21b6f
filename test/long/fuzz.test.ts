import assert from "node:assert/strict";
import { connect } from "node:net";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { generateKey } from "../../server/accounts/keys.ts";
import { checkAnswer, openapiDocument } from "../support/answers.ts";
import { type Exchange, exchange, type FuzzKeys, type Message } from "../support/fuzz-requests.ts";
import {
  Answer,
  call,
  createKey,
  datasetsFolder,
  pricesPath,
  startServer,
  temporaryFolder,
} from "../support/server.ts";
import { residentMb, sizeFrom, trialRandom } from "./trial.ts";

const requests = sizeFrom("FUZZ_REQUESTS", 20_000);
const connections = 8;
const maxGrowthMb = 30;
/** Maximum milliseconds of a connection. The server closes idle connections earlier. */
const maxExchangeMs = 30_000;
/** Bytes of an answer that the server sends completely even if the client reads slowly. */
const shortAnswer = 8 * 2 ** 10;
const latin1 = "latin1";

const isOurs = (answer: Answer) => answer.header("X-RateLimit-Remaining") !== undefined;

/** @param message the request that is answered; undefined if it isn't known */
function checkOurs(answer: Answer, message: Message | undefined): void {
  assert.ok(answer.status < 500, `answered ${answer.status}`);
  if (message === undefined) return;
  const body = message.method === "HEAD" ? undefined : answer.body;
  checkAnswer(openapiDocument, message.path, answer.status, body, answer.headers);
  const isRead = message.method === "GET" || message.method === "HEAD";
  if (answer.status === 405) assert.ok(!isRead, `${message.method} isn't allowed`);
  else assert.ok(isRead || answer.status > 400, `${message.method} is answered with ${answer.status}`);
}

/** The HTTP parser itself answers with an HTML page, without the service's headers. */
function checkParsers(answer: Answer): void {
  assert.ok([400, 431, 505].includes(answer.status), `the parser answered ${answer.status}`);
  // The page may be empty, because the connection may end before the page arrives.
  assert.match(answer.body.toString(latin1), /^(<!?[a-z]|$)/i);
}

/** Splits received bytes into answers. An answer's `message` is its request; undefined if it isn't known. */
function answersIn(received: Buffer, messages: readonly Message[]) {
  const answers: { answer: Answer; message: Message | undefined; isWhole: boolean }[] = [];
  let known = true;
  for (let at = 0; at < received.length; ) {
    const end = received.indexOf("\r\n\r\n", at);
    if (end < 0) break;
    const current = messages[answers.length];
    known &&= current !== undefined && current.kind !== "rough";
    const head = received.toString(latin1, at, end);
    const length = /^content-length: (\d+)\r?$/im.exec(head)?.[1];
    const bodyless = (known && current.method === "HEAD") || /^HTTP\/1\.1 304 /.test(head);
    const start = end + 4;
    at = bodyless ? start : start + Number(length ?? received.length);
    const answer = new Answer(head, received.subarray(start, at));
    answers.push({
      answer,
      message: known ? current : undefined,
      isWhole: at <= received.length || length === undefined,
    });
    known &&= current.kind === "plain";
  }
  return answers;
}

/** @returns all bytes received */
async function play(api: string, { messages, segments, end }: Exchange): Promise<Buffer> {
  const { hostname, port } = new URL(api);
  const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true });
  socket.setNoDelay(true);
  const chunks: Buffer[] = [];
  const closed = new Promise<void>((resolve, reject) => {
    socket.setTimeout(maxExchangeMs, () => reject(new Error(`not over in ${maxExchangeMs} ms`)));
    socket.on("close", () => resolve());
    socket.on("end", () => socket.destroy());
    // A server that refuses the rest of a request resets the connection.
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      chunks.push(bytes);
      if (end !== "read") return;
      const answers = answersIn(Buffer.concat(chunks), messages);
      if (answers.length === messages.length && answers.every(({ isWhole }) => isWhole)) socket.destroy();
    });
  });
  for (const segment of segments) {
    socket.write(segment);
    await turn();
  }
  if (end === "half-close") socket.end();
  if (end === "cut") socket.resetAndDestroy();
  await closed;
  socket.destroy();
  return Buffer.concat(chunks);
}

const mayLackBody = ({ method, bytes }: Message) =>
  method === "HEAD" || /^if-none-match:/im.test(bytes.toString(latin1));
const mayBeLong = ({ path }: Message) => path.endsWith("/openapi.json");

/** Whether a request line lies in two segments. The parser may then refuse the request and close the connection. */
function splitsRequestLine({ messages, segments }: Exchange): boolean {
  const splits: number[] = [];
  for (const { length } of segments) splits.push((splits.at(-1) ?? 0) + length);
  let start = 0;
  return messages.some(({ bytes }) => {
    const from = start;
    const lineEnd = from + bytes.indexOf("\r\n");
    start += bytes.length;
    return splits.some((split) => from < split && split <= lineEnd);
  });
}

function check(exchange: Exchange, received: Buffer, count: (what: string) => void): void {
  const { messages, end } = exchange;
  // If the parser closes the connection, its answer and a part of the answer before it may be lost.
  const mayBeCut = end !== "read" || splitsRequestLine(exchange);
  let last = false;
  const answers = answersIn(received, messages);
  assert.ok(
    answers.length <= messages.length || messages.some(({ kind }) => kind !== "plain"),
    "too many answers",
  );
  for (const { answer, message, isWhole } of answers) {
    assert.ok(!last || !isOurs(answer), "an answer behind the last one");
    if (!isWhole) {
      // The library closes the connection when a request arrives while the previous answer is still being sent.
      const wasBusy =
        Number(answer.header("Content-Length")) > shortAnswer && answers.length < messages.length;
      assert.ok(mayBeCut || wasBusy, `an answer isn't whole: ${answer.head}`);
      return;
    }
    if (!isOurs(answer)) {
      checkParsers(answer);
      count(`parser's ${answer.status}`);
      last = true;
      break;
    }
    checkOurs(answer, message);
    count(String(answer.status));
    last = message?.kind === "last";
  }
  if (mayBeCut || last || answers.length === messages.length) return;
  // In rare cases the connection ends after an answer that is long or has no body.
  assert.ok(
    messages.some(mayLackBody) || messages.some(mayBeLong),
    `${answers.length} answers to ${messages.length} requests`,
  );
  count("cut short");
}

test(`${requests} random requests get valid responses and leak no memory`, {
  timeout: 60_000 + requests * 60,
}, async (t) => {
  const random = trialRandom(t);
  const stateDir = temporaryFolder();
  const burstKey = createKey(stateDir, "bursting", { burst: 2, quota: 1_000_000 });
  const spentKey = createKey(stateDir, "spent", { burst: 1000, quota: 3 });
  const server = await startServer({ stateDir, datasetsDir: datasetsFolder() });
  t.after(() => server.process.signal("SIGKILL"));
  const keys: FuzzKeys = { ample: server.key, others: [burstKey, spentKey, generateKey()] };
  const secrets = [keys.ample, ...keys.others].map((key) => key.slice(4, -6));
  const known = `GET ${pricesPath}?procedure=5072&state=al&limit=50`;
  const before = await call(server, known);

  const counts = new Map<string, number>();
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);
  let sent = 0;
  let exchanges = 0;
  const keepPlaying = async (upTo: number) => {
    while (sent < upTo) {
      const next = exchange(random, keys);
      sent += next.messages.length;
      const number = exchanges++;
      try {
        const received = await play(server.api, next);
        assert.ok(!server.process.hasEnded, `the server ended: ${server.process.stderr.slice(-500)}`);
        check(next, received, count);
        for (const { answer } of answersIn(received, next.messages)) {
          // An answer 200 or 304 may have a key, because its body or its ETag repeats the parameters of a search.
          if (answer.status < 400) continue;
          const shown = answer.head + answer.body.toString(latin1);
          for (const secret of secrets) assert.ok(!shown.includes(secret), "a key is echoed");
        }
      } catch (error) {
        const segments = next.segments.map((segment) => segment.toString(latin1));
        const shown = JSON.stringify(segments).slice(0, 4000);
        throw new Error(`exchange ${number}, ${next.end}: ${error}: ${shown}`, { cause: error });
      }
    }
  };
  const memory: number[] = [];
  const parts = 6;
  for (let part = 1; part <= parts; part++) {
    const upTo = (requests * part) / parts;
    await Promise.all(Array.from({ length: connections }, () => keepPlaying(upTo)));
    memory.push(residentMb(server.process.pid));
  }

  const after = await call(server, known);
  assert.deepEqual(
    [after.status, after.body, after.header("ETag")],
    [200, before.body, before.header("ETag")],
  );
  const byStatus = [...counts].sort().map(([status, times]) => `${status}: ${times}`);
  t.diagnostic(`${sent} requests on ${exchanges} connections; answers: ${byStatus.join(", ")}`);
  t.diagnostic(`resident MB after each sixth: ${memory.map(Math.round).join(" ")}`);
  const expected = ["200", "304", "400", "401", "404", "405", "429"];
  expected.push("parser's 400", "parser's 431", "parser's 505");
  for (const what of expected) assert.ok((counts.get(what) ?? 0) > 0, `${what} came`);
  const cutShort = counts.get("cut short") ?? 0;
  assert.ok(cutShort <= requests / 2000, `${cutShort} exchanges were cut short`);
  // After the first third, the caches are full.
  const growth = (memory.at(-1) ?? Number.NaN) - memory[parts / 3 - 1];
  assert.ok(growth < maxGrowthMb, `memory grew by ${growth} MB`);

  assert.equal(await server.stop(), 0);
  const log = server.process.stderr;
  assert.doesNotMatch(log, /"level":"(error|fatal)"/);
  for (const secret of secrets) assert.ok(!log.includes(secret), "a key is in the log");
});
