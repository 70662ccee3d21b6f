import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { Connection } from "./connection.ts";
import { temporaryFolder } from "./folders.ts";
import { metricsText } from "./metrics-text.ts";
import {
  currentOnly,
  datasetsFolder,
  type Finished,
  pricesPath,
  Running,
  ready,
  requestText,
  spawnServer,
  until,
} from "./server.ts";

/** Servers that share accounts through PostgreSQL, and clients that count what they admit. */

const datasetsDir = datasetsFolder(currentOnly);
const restMs = 5;

/** Runs a command such as `keys list` on a database, as on a machine without a server. */
export function runOn(url: string, command: string, ...args: string[]): Promise<Finished> {
  const env = { DATABASE_URL: url, STATE_DIR: temporaryFolder(), WEBHOOK_ALLOW_LOOPBACK: "true" };
  return new Running(`server/commands/${command}.ts`, args, env).finished();
}

/** Makes an account with its own ceilings. @returns its key */
export async function makeKey(url: string, account: string, burst: number, quota: number): Promise<string> {
  const numbers = ["--burst", String(burst), "--quota", String(quota)];
  const args = ["create", "--account", account, "--plan", "enterprise", ...numbers];
  const { code, stdout, stderr } = await runOn(url, "keys", ...args);
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

export class SharedServer {
  readonly stateDir: string;
  readonly #env: Record<string, string>;
  #process: Running | undefined;
  api = "";
  ops = "";

  private constructor(url: string, env: Record<string, string>, stateDir: string) {
    this.stateDir = stateDir;
    this.#env = { DATABASE_URL: url, ...env };
  }

  static async start(
    url: string,
    env: Record<string, string> = {},
    stateDir = temporaryFolder(),
  ): Promise<SharedServer> {
    return new SharedServer(url, env, stateDir).begin();
  }

  /** Starts the server, also again. */
  async begin(): Promise<this> {
    this.#process = spawnServer({ datasetsDir, stateDir: this.stateDir, env: this.#env });
    Object.assign(this, await ready(this.#process));
    return this;
  }

  get log(): string {
    return this.#process?.stderr ?? "";
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.signal(signal);
  }

  /** @param codes exit codes that are right */
  async stop(codes: readonly number[] = [0]): Promise<void> {
    this.signal("SIGTERM");
    const finished = await this.#process?.finished();
    assert.ok(codes.includes(finished?.code ?? -1), `exit code ${finished?.code}: ${finished?.stderr}`);
  }

  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await until("the server's end", () => this.#process?.hasEnded !== false);
  }

  async readiness(): Promise<number> {
    return (await fetch(`${this.ops}/readyz`)).status;
  }

  async metric(name: string): Promise<number> {
    const text = await metricsText(this.ops);
    const line = text.split("\n").find((each) => each.startsWith(`${name} `));
    assert.ok(line !== undefined, `no metric ${name}`);
    return Number(line.slice(name.length));
  }

  async usage(key: string): Promise<{ used: number; remaining: number; days: number[]; events: number[] }> {
    const answer = await fetch(`${this.api}/api/v1/usage`, { headers: { Authorization: `Bearer ${key}` } });
    assert.equal(answer.status, 200);
    const { quota, days, events } = (await answer.json()) as {
      quota: { used: number; remaining: number };
      days: { used: number }[];
      events: { threshold: number }[];
    };
    return { ...quota, days: days.map(({ used }) => used), events: events.map(({ threshold }) => threshold) };
  }
}

export type Outcome = "admitted" | "burst" | "quota" | "unavailable";

/** A client that sends one request at a time on one connection. */
export class SharedClient {
  readonly counts: Record<Outcome, number> = { admitted: 0, burst: 0, quota: 0, unavailable: 0 };
  /** When the answers with 200 came, by `performance.now()`. */
  readonly admittedMs: number[] = [];
  remaining = Number.NaN;
  readonly #connection: Connection;
  readonly #text: string;

  private constructor(connection: Connection, key: string) {
    this.#connection = connection;
    this.#text = requestText(`GET ${pricesPath}?procedure=5072&limit=1`, { Authorization: `Bearer ${key}` });
  }

  static async of({ api }: Pick<SharedServer, "api">, key: string): Promise<SharedClient> {
    return new SharedClient(await Connection.open(api), key);
  }

  async ask(): Promise<Outcome> {
    await this.#connection.send(this.#text);
    const answer = await this.#connection.answer();
    this.remaining = answer.remaining;
    const outcome = this.#outcomeOf(answer.status, () => answer.error().ceiling);
    this.counts[outcome]++;
    if (outcome === "admitted") this.admittedMs.push(performance.now());
    return outcome;
  }

  #outcomeOf(status: number, ceiling: () => string | undefined): Outcome {
    if (status === 200) return "admitted";
    if (status === 503) return "unavailable";
    assert.equal(status, 429);
    return ceiling() === "burst" ? "burst" : "quota";
  }

  /** After a refusal it rests for a moment, because tests beside it need the CPU. */
  async askUntil(isDone: () => boolean): Promise<void> {
    while (!isDone()) if ((await this.ask()) !== "admitted") await delay(restMs);
  }

  close(): void {
    this.#connection.close();
  }
}

export const admittedBy = (clients: readonly SharedClient[]) =>
  clients.reduce((sum, { counts }) => sum + counts.admitted, 0);
