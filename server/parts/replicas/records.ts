import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { reasonOf } from "../../../engine/query.ts";
import { monthName, monthOf } from "../../shared/months.ts";
import { StateUnavailable } from "../../shared/state-unavailable.ts";
import type { Used } from "../../store/store.ts";
import { monthKey, type ScriptClient, sharesIn } from "./redis.ts";

/** Reads records of accounts and servers from Redis, and enters imported counts. */

/** The part of an `ioredis` client that is used here. */
interface RecordsClient extends ScriptClient {
  hmget(key: string, ...fields: string[]): Promise<(string | null)[]>;
}

/** This month and the next one. */
export function monthsOf(now: Date): [string, string] {
  const month = monthOf(now.getTime());
  return [monthName(month), monthName(month + 1)];
}

interface ServerRow {
  id: string;
  isGone: boolean;
  /** Milliseconds since the last heartbeat. */
  age: number;
  /** The number of the last flag that it has read, and the version of the directory that it has applied. */
  read: number;
  taken: string;
}

interface Imported {
  account: number;
  burst: number;
  quota: number;
  used: number;
}

interface ScanAnswer {
  cursor: string;
  found: { account: number; server: string; used: number; leased: number }[];
}

/** Maximum wait for servers. One that hasn't answered by then is gone, or admits only what it holds. */
const maxWaitMs = 4000;
const askMs = 50;
const askTakenMs = 10;
/** Prefix of the name under which imported counts are entered, in place of a server's. */
const imported = "import-";

export class Records {
  readonly #client: RecordsClient;

  constructor(client: RecordsClient) {
    this.#client = client;
  }

  /** Records of accounts in a month, `YYYY-MM`; null where there is none. */
  async of(accounts: readonly number[], month: string): Promise<(string | null)[]> {
    return accounts.length > 0 ? this.#client.hmget(monthKey(month), ...accounts.map(String)) : [];
  }

  /** The servers that have joined and neither left nor were forgotten. */
  async rows(months: readonly string[]): Promise<readonly ServerRow[]> {
    return list((await sharesIn(this.#client)<{ servers: ServerRow[] }>(months, { op: "servers" })).servers);
  }

  /**
   * Waits until all servers with a heartbeat in the last minute have applied a version of the directory.
   * @returns those that haven't
   * @throws StateUnavailable when Redis doesn't answer
   */
  async taken(version: number, maxMs: number): Promise<string[]> {
    for (const endMs = performance.now() + maxMs; ; await delay(askTakenMs)) {
      const servers = await this.rows(monthsOf(new Date())).catch((error) => {
        throw new StateUnavailable(reasonOf(error));
      });
      const behind = servers.filter(({ isGone, taken }) => !isGone && Number(taken) < version);
      if (behind.length === 0 || performance.now() >= endMs) return behind.map(({ id }) => id);
    }
  }

  /** The servers, and the requests that each has leased and not used in this month and the next one. */
  async servers(months: readonly string[]): Promise<(ServerRow & { leased: number })[]> {
    const servers = await this.rows(months);
    const leased = new Map<string, number>();
    for (const month of months)
      for await (const each of this.#scan(month))
        leased.set(each.server, (leased.get(each.server) ?? 0) + each.leased);
    return servers.map((server) => ({ ...server, leased: leased.get(server.id) ?? 0 }));
  }

  /** Gives back what a server that is gone for good had leased. */
  async forget(server: string, months: readonly string[]): Promise<number> {
    let given = 0;
    for (const month of months)
      for await (const each of this.#scan(month, server)) if (each.server === server) given += each.leased;
    await sharesIn(this.#client)(months, { op: "forget", forget: server });
    return given;
  }

  /** Imported counts of a month, `YYYY-MM`. */
  async entered(month: string): Promise<Used[]> {
    const found: Used[] = [];
    for await (const { server, account, used } of this.#scan(month))
      if (server.startsWith(imported)) found.push({ account, month, used });
    return found;
  }

  /**
   * Enters imported counts, and waits until all servers know which of the accounts have little left. After that their
   * keys may be used.
   */
  async enter(counted: readonly Imported[], months: readonly string[]): Promise<void> {
    const script = sharesIn(this.#client);
    // A repeated import has the same name, so nothing is counted twice.
    const server = imported + createHash("sha256").update(JSON.stringify(counted)).digest("base64url");
    const rows = counted.map(({ account, ...row }) => ({ id: account, ...row }));
    const endMs = performance.now() + maxWaitMs;
    let version: number;
    let isLearning: boolean;
    do {
      ({ version, isLearning } = await script<{ version: number; isLearning: boolean }>(months, {
        ...{ op: "enter", server, rows, check: true },
      }));
      // While servers report again what they hold, nothing is known about remaining quotas.
    } while (isLearning && performance.now() < endMs && (await delay(askMs, true)));
    while (performance.now() < endMs + maxWaitMs) {
      if ((await this.rows(months)).every(({ isGone, read }) => isGone || read >= version)) return;
      await delay(askMs);
    }
  }

  async *#scan(month: string, forget?: string): AsyncGenerator<ScanAnswer["found"][number]> {
    let cursor = "0";
    do {
      const answer: ScanAnswer = await sharesIn(this.#client)([month, month], { op: "scan", cursor, forget });
      yield* list(answer.found);
      cursor = answer.cursor;
    } while (cursor !== "0");
  }
}

/** An empty list comes from Lua as an object. */
const list = <Item>(items: readonly Item[] | object): readonly Item[] => (Array.isArray(items) ? items : []);
