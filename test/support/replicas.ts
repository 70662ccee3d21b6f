import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import Database from "better-sqlite3";
import { databaseFile } from "../../server/store/served.ts";
import { Connection } from "./connection.ts";
import { temporaryFolder } from "./folders.ts";
import { metricsText } from "./metrics-text.ts";
import {
  currentOnly,
  datasetsFolder,
  pricesPath,
  type Running,
  ready,
  requestText,
  spawnServer,
} from "./server.ts";

const datasetsDir = datasetsFolder(currentOnly);

interface Admitted {
  sentMs: number;
  cameMs: number;
}

export type Refusal = "second" | "month" | "lease";

export class Replica {
  readonly stateDir = temporaryFolder();
  readonly #redisUrl: string;
  readonly #env: Record<string, string>;
  #process: Running | undefined;
  #api = "";
  #ops = "";

  /** @param seed a state folder with the accounts and keys of all replicas, which is copied */
  constructor(seed: string, redisUrl: string, env: Record<string, string> = {}) {
    cpSync(seed, this.stateDir, { recursive: true });
    this.#redisUrl = redisUrl;
    this.#env = env;
  }

  get api(): string {
    return this.#api;
  }

  get id(): string {
    const database = new Database(databaseFile(this.stateDir), { readonly: true });
    try {
      return String(database.prepare("SELECT id FROM replica").pluck().get());
    } finally {
      database.close();
    }
  }

  get log(): string {
    return this.#process?.stderr ?? "";
  }

  async start(): Promise<this> {
    const env = { ...this.#env, REDIS_URL: this.#redisUrl };
    this.#process = spawnServer({ datasetsDir, stateDir: this.stateDir, env });
    const { api, ops } = await ready(this.#process);
    this.#api = api;
    this.#ops = ops;
    return this;
  }

  async stop(): Promise<void> {
    this.#process?.signal("SIGTERM");
    const finished = await this.#process?.finished();
    assert.equal(finished?.code, 0, finished?.stderr);
  }

  async kill(): Promise<void> {
    this.#process?.signal("SIGKILL");
    while (this.#process?.hasEnded === false) await new Promise(setImmediate);
  }

  async readiness(): Promise<number> {
    return (await fetch(`${this.#ops}/readyz`)).status;
  }

  async gone(): Promise<string[]> {
    const { body } = await fetch(`${this.#ops}/console/stream`);
    let text = "";
    for await (const piece of (body ?? assert.fail("no body")).pipeThrough(new TextDecoderStream())) {
      text += piece;
      const state = /^event: state\ndata: (.*)$/m.exec(text)?.[1];
      if (state !== undefined) return JSON.parse(state).server.gone;
    }
    return assert.fail("the stream ended");
  }

  async metric(name: string): Promise<number> {
    const text = await metricsText(this.#ops);
    const line = text.split("\n").find((each) => each.startsWith(`${name} `));
    assert.ok(line !== undefined, `no metric ${name}`);
    return Number(line.slice(name.length));
  }

  /** undefined if the request is refused */
  async usage(key: string): Promise<{ used: number; days: number } | undefined> {
    const headers = { Authorization: `Bearer ${key}` };
    const answer = await fetch(`${this.#api}/api/v1/usage`, { headers });
    if (!answer.ok) return undefined;
    const { quota, days } = (await answer.json()) as {
      quota: { used: number };
      days: { used: number }[];
    };
    return { used: quota.used, days: days.reduce((total, { used }) => total + used, 0) };
  }
}

/** A client sends one request at a time. */
export class Client {
  readonly admitted: Admitted[] = [];
  readonly refused: Record<Refusal, number> = { second: 0, month: 0, lease: 0 };
  remaining = Number.NaN;
  last: "admitted" | Refusal = "admitted";
  readonly #connection: Connection;
  readonly #text: string;

  private constructor(connection: Connection, key: string) {
    this.#connection = connection;
    this.#text = requestText(`GET ${pricesPath}?procedure=5072&limit=1`, { Authorization: `Bearer ${key}` });
  }

  static async of(replica: Pick<Replica, "api">, key: string): Promise<Client> {
    return new Client(await Connection.open(replica.api), key);
  }

  async ask(): Promise<"admitted" | Refusal> {
    const sentMs = performance.now();
    await this.#connection.send(this.#text);
    const answer = await this.#connection.answer();
    this.remaining = answer.remaining;
    if (answer.status === 200) {
      this.admitted.push({ sentMs, cameMs: performance.now() });
      this.last = "admitted";
      return this.last;
    }
    assert.equal(answer.status, 429, answer.body.toString());
    const { ceiling } = answer.error();
    this.last = ceiling === "burst" ? "second" : ceiling === "quota" ? "month" : "lease";
    this.refused[this.last]++;
    return this.last;
  }

  async askUntil(isDone: () => boolean): Promise<void> {
    while (!isDone()) await this.ask();
  }

  close(): void {
    this.#connection.close();
  }
}

export const sum = (clients: readonly Client[]) =>
  clients.reduce((total, { admitted }) => total + admitted.length, 0);
