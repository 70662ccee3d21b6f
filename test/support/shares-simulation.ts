import type { Redis } from "ioredis";
import { monthKey, sharesIn } from "../../server/parts/replicas/redis.ts";
import type { Counts } from "../../server/parts/replicas/share.ts";
import { Shares } from "../../server/parts/replicas/shares.ts";
import { monthName, monthOf } from "../../server/shared/months.ts";
import { type Random, seededRandom } from "./random.ts";

/** Simulates servers with virtual clocks and a virtual network around the script in a real Redis. */

export interface Ceilings {
  burst: number;
  quota: number;
}

/** Replaces `Limits` in shared memory. */
class VirtualCounts implements Counts {
  readonly #ceilings: readonly Ceilings[];
  readonly #refused: number[];
  #keptMs = 0;
  readonly #clock: () => number;
  readonly #months = new Map<number, { used: number[]; bound: number[]; isForQuota: boolean[] }>();

  constructor(ceilings: readonly Ceilings[], clock: () => number) {
    this.#ceilings = ceilings;
    this.#clock = clock;
    this.#refused = ceilings.map(() => 0);
  }

  accounts(): Iterable<number> {
    return this.#ceilings.keys();
  }

  burst(account: number): number {
    return this.#ceilings[account].burst;
  }

  quota(account: number): number {
    return this.#ceilings[account].quota;
  }

  of(month: number) {
    const zeros = () => this.#ceilings.map(() => 0);
    const counts = this.#months.get(month) ?? { used: zeros(), bound: zeros(), isForQuota: [] };
    this.#months.set(month, counts);
    return counts;
  }

  used(account: number, month: number): number {
    return this.of(month).used[account];
  }

  refused(account: number): number {
    return this.#refused[account];
  }

  admitUpTo(account: number, month: number, count: number, reason: "burst" | "quota"): void {
    const { bound, isForQuota } = this.of(month);
    bound[account] = count;
    isForQuota[account] = reason === "quota";
  }

  keepBounds(untilMs: number): void {
    this.#keptMs = untilMs;
  }

  admit(account: number, month: number): "admitted" | "burst" | "quota" {
    const { used, bound, isForQuota } = this.of(month);
    if (used[account] < bound[account] && this.#clock() <= this.#keptMs) {
      used[account]++;
      return "admitted";
    }
    this.#refused[account]++;
    return isForQuota[account] ? "quota" : "burst";
  }
}

export interface VirtualServer {
  name: string;
  shares: Shares;
  counts: VirtualCounts;
  isUp: boolean;
  isCut: boolean;
  /** The server's control thread stands still, while requests are served. */
  isStopped: boolean;
  failingReads: number;
  starts: number;
  /** Milliseconds by which the server's wall clock is ahead. */
  offMs: number;
  plannedMs: number;
  /** The version of the directory that the server has applied. */
  taken: number;
  /** Accounts with requests since the server last looked at its counts. */
  marked: Set<number>;
  ceilings: Ceilings[];
  /** Counts on the server's disk, by month and account. */
  saved: Map<string, number>;
  /** The number of known servers on the server's disk. */
  knew: number;
}

interface SimulationOptions {
  seed: number;
  client: Redis;
  accounts: readonly Ceilings[];
  startMs?: number;
  /** One way through the network. */
  minDelayMs?: number;
  maxDelayMs?: number;
}

interface Tally {
  admitted: number;
  refused: number;
  /** Requests that were refused before the quota was used up. */
  early: number;
}

const sweepMs = 10;

export class Simulation {
  readonly random: Random;
  readonly servers: VirtualServer[] = [];
  readonly accounts: readonly Ceilings[];
  readonly highest: Ceilings[];
  /** For each account, an earlier, higher rate, and until when requests of this rate may be admitted. */
  readonly #lowered: { burst: number; untilMs: number }[];
  readonly client: Redis;
  nowMs = 0;
  calls = 0;
  /** Maximum number by which admitted requests exceeded the quota. */
  overQuota = 0;
  /** Maximum number by which admitted requests exceeded what a window of time allows. */
  overRate = 0;
  /** Calls that are lost on the way there or back. */
  lostPercent = 0;
  /** Calls that Redis gets twice. */
  repeatedPercent = 0;
  isRefusing = false;
  minDelayMs: number;
  maxDelayMs: number;
  mostServers = 0;
  readonly tallies = new Map<string, Tally>();
  readonly #startMs: number;
  /** Latest first. Work for the same time is done in the order in which it was planned. */
  readonly #planned: { ms: number; work: () => void | Promise<void> }[] = [];
  readonly #buckets: { level: number; ms: number }[];
  #run = 1;
  #redisOffMs = 0;
  #backup: [key: string, value: Buffer, ttl: number][] = [];
  /** For each account, the requests that may be admitted beyond the quota, because Redis lost leases. */
  readonly #allowances: number[];
  readonly #dead: number[];

  constructor(options: SimulationOptions) {
    this.random = seededRandom(options.seed);
    this.accounts = options.accounts;
    this.highest = options.accounts.map((ceilings) => ({ ...ceilings }));
    this.#lowered = options.accounts.map(() => ({ burst: 0, untilMs: 0 }));
    this.client = options.client;
    this.minDelayMs = options.minDelayMs ?? 0.2;
    this.maxDelayMs = options.maxDelayMs ?? 2;
    this.#startMs = options.startMs ?? Date.UTC(2026, 0, 20);
    this.#allowances = options.accounts.map(() => 0);
    this.#dead = options.accounts.map(() => 0);
    this.#buckets = options.accounts.map(() => ({ level: 0, ms: 0 }));
  }

  at(ms: number, work: () => void | Promise<void>): void {
    const planned = this.#planned;
    const event = { ms: Math.max(ms, this.nowMs), work };
    let [from, to] = [0, planned.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (planned[middle].ms > event.ms) from = middle + 1;
      else to = middle;
    }
    planned.splice(from, 0, event);
  }

  async run(untilMs: number): Promise<void> {
    for (let next = this.#planned.at(-1); next && next.ms <= untilMs; next = this.#planned.at(-1)) {
      this.#planned.pop();
      this.nowMs = next.ms;
      await next.work();
    }
    this.nowMs = untilMs;
  }

  /** @param offMs milliseconds by which the server's wall clock is ahead */
  add(offMs = 0): VirtualServer {
    const ceilings = [...this.accounts];
    const counts = new VirtualCounts(ceilings, () => this.nowMs);
    const server: VirtualServer = {
      ...{
        name: `s${this.servers.length}`,
        isUp: false,
        isCut: false,
        isStopped: false,
        failingReads: 0,
        starts: 0,
        offMs,
        ceilings,
        knew: 1,
      },
      ...{ plannedMs: 0, taken: 0, marked: new Set<number>(), saved: new Map<string, number>() },
      ...{ counts, shares: this.#sharesOf("", 0, counts, offMs, () => undefined) },
    };
    this.servers.push(server);
    this.start(server);
    return server;
  }

  start(server: VirtualServer): void {
    server.starts++;
    const counts = new VirtualCounts(server.ceilings, () => this.nowMs);
    for (const [name, used] of server.saved) {
      const [month, account] = name.split(" ").map(Number);
      counts.of(month).used[account] = used;
    }
    const knew = server.starts === 1 ? 0 : server.knew;
    const shares = this.#sharesOf(`${server.name}.${server.starts}`, knew, counts, server.offMs, () =>
      server.isUp && server.shares === shares ? server : undefined,
    );
    Object.assign(server, { shares, counts, isUp: true, plannedMs: Number.POSITIVE_INFINITY });
    server.marked.clear();
    this.mostServers = Math.max(this.mostServers, this.servers.filter(({ isUp }) => isUp).length);
    this.#plan(server, this.nowMs);
    const everySecond = () => {
      if (server.shares !== shares || !server.isUp) return;
      this.#save(server);
      this.at(this.nowMs + 1000, everySecond);
    };
    this.at(this.nowMs + 1000 * this.random.next(), everySecond);
    const readRecords = async () => {
      if (server.shares !== shares || !server.isUp) return;
      await this.#readRecords(server);
      this.at(this.nowMs + 100, readRecords);
    };
    this.at(this.nowMs + 100, readRecords);
  }

  /** A server applies the ceilings within 2 s, or when it can reach Redis again. */
  async change(account: number, ceilings: Ceilings): Promise<void> {
    const months = [this.month(), this.month() + 1].map(monthName);
    const rows = [{ id: account, ...this.accounts[account] }];
    await sharesIn(this.client)(months, this.timed({ op: "keep", rows }));
    Object.assign(this.accounts[account], ceilings);
    const highest = this.highest[account];
    highest.burst = Math.max(highest.burst, ceilings.burst);
    highest.quota = Math.max(highest.quota, ceilings.quota);
    for (const server of this.servers) {
      const apply = () => {
        if (!server.isUp || server.isCut || this.isRefusing || this.lostPercent > 0) {
          this.at(this.nowMs + 500, apply);
          return;
        }
        const { burst } = server.ceilings[account];
        if (burst > this.accounts[account].burst)
          this.#lowered[account] = { burst: this.#burst(account), untilMs: this.nowMs + 2000 };
        server.ceilings[account] = { ...this.accounts[account] };
        server.shares.enter(account);
      };
      this.at(this.nowMs + 2000 * this.random.next(), apply);
    }
  }

  #burst(account: number): number {
    const { burst, untilMs } = this.#lowered[account];
    return Math.max(
      ...this.servers.map(({ ceilings }) => ceilings[account].burst),
      this.nowMs < untilMs ? burst : 0,
    );
  }

  #sharesOf(
    name: string,
    knew: number,
    counts: VirtualCounts,
    offMs: number,
    running: () => VirtualServer | undefined,
  ): Shares {
    return new Shares(
      {
        ...{ server: name, knew, counts, isFreeWithoutRedis: false },
        clock: () => this.nowMs,
        taken: () => running()?.taken ?? 0,
        script: (months, call) => this.#send(running, months, call),
      },
      this.#firstMonth(offMs),
      this.nowMs,
    );
  }

  #wallMs(offMs: number): number {
    return this.#startMs + this.nowMs + offMs;
  }

  #firstMonth(offMs: number): number {
    return monthOf(this.#wallMs(offMs) - 14 * 86_400_000);
  }

  month(): number {
    return monthOf(this.#wallMs(0));
  }

  #save({ shares, counts, saved, offMs, ...server }: VirtualServer): void {
    const first = this.#firstMonth(offMs);
    for (const month of [first, first + 1])
      for (const account of this.accounts.keys())
        if (counts.used(account, month) > 0) saved.set(`${month} ${account}`, counts.used(account, month));
    if (shares.isReady) this.servers.find(({ name }) => name === server.name)!.knew = shares.knew;
  }

  async #readRecords(server: VirtualServer): Promise<void> {
    if (server.isCut || this.isRefusing || this.lostPercent > 0) return;
    const month = monthOf(this.#wallMs(server.offMs));
    const read = async (accounts: readonly number[], name: string) => {
      if (server.failingReads-- > 0) throw new Error("failed");
      return this.client.hmget(monthKey(name), ...accounts.map(String));
    };
    await server.shares.readRecords(this.nowMs, month, read).catch(() => undefined);
  }

  #plan(server: VirtualServer, ms: number): void {
    const { shares } = server;
    if (server.plannedMs <= ms) return;
    server.plannedMs = ms;
    this.at(ms, () => {
      if (!server.isUp || server.isStopped || server.shares !== shares || server.plannedMs !== ms) return;
      server.plannedMs = Number.POSITIVE_INFINITY;
      shares.enterMonths(this.#firstMonth(server.offMs));
      for (const account of server.marked) shares.touch(account, this.nowMs);
      server.marked.clear();
      shares.tick(this.nowMs, monthOf(this.#wallMs(server.offMs)));
      this.#plan(server, Math.max(shares.nextMs(), this.nowMs + sweepMs));
    });
  }

  #send<Answer>(
    running: () => VirtualServer | undefined,
    months: readonly string[],
    call: Readonly<Record<string, unknown>>,
  ): Promise<Answer> {
    const script = sharesIn(this.client);
    const isLost = () => running()?.isCut || this.random.next() * 100 < this.lostPercent;
    const text = structuredClone(call);
    const arrive = () => {
      this.calls++;
      return script<Answer>(months, this.timed(text));
    };
    if (this.random.next() * 100 < this.repeatedPercent)
      this.at(this.nowMs + this.random.next() * 5000, () => void (this.isRefusing || arrive()));
    return new Promise<Answer>((resolve, reject) => {
      if (isLost()) return;
      this.at(this.nowMs + this.#delayMs(), async () => {
        if (this.isRefusing) {
          this.at(this.nowMs + this.#delayMs(), () => reject(new Error("refused")));
          return;
        }
        const answer = await arrive();
        if (isLost()) return;
        this.at(this.nowMs + this.#delayMs(), async () => {
          resolve(answer);
          await new Promise(setImmediate);
          const server = running();
          if (server) this.#plan(server, Math.max(this.nowMs, server.shares.nextMs()));
        });
      });
    });
  }

  timed(call: object) {
    return { ...call, ms: Math.round(this.nowMs + this.#redisOffMs + 1e12), run: `run${this.#run}` };
  }

  #delayMs(): number {
    return this.minDelayMs + this.random.next() * (this.maxDelayMs - this.minDelayMs);
  }

  tally(account: number, month = this.month()): Tally {
    const name = `${month} ${account}`;
    const tally = this.tallies.get(name) ?? { admitted: 0, refused: 0, early: 0 };
    this.tallies.set(name, tally);
    return tally;
  }

  /** @returns whether the request was admitted */
  request(server: VirtualServer, account: number): boolean {
    if (!server.isUp) return false;
    const month = monthOf(this.#wallMs(server.offMs));
    const tally = this.tally(account, month);
    const result = server.counts.admit(account, month);
    server.marked.add(account);
    this.#plan(server, this.nowMs + sweepMs);
    if (result !== "admitted") {
      tally.refused++;
      if (result === "quota" && tally.admitted < this.accounts[account].quota) tally.early++;
      return false;
    }
    tally.admitted++;
    const highest = this.highest[account];
    this.overQuota = Math.max(this.overQuota, tally.admitted - this.#allowances[account] - highest.quota);
    // No window of t seconds may have more than burst * t + depth requests: a leaky bucket of that depth must not
    // overflow.
    const bucket = this.#buckets[account];
    bucket.level = Math.max(0, bucket.level - ((this.nowMs - bucket.ms) / 1000) * this.#burst(account)) + 1;
    bucket.ms = this.nowMs;
    const depth = Math.max(2 * highest.burst, highest.burst + this.mostServers);
    this.overRate = Math.max(this.overRate, bucket.level - depth);
    return true;
  }

  resume(server: VirtualServer): void {
    Object.assign(server, { isStopped: false, plannedMs: Number.POSITIVE_INFINITY });
    this.#plan(server, this.nowMs);
  }

  kill(server: VirtualServer): void {
    server.isUp = false;
    for (const [account, most] of this.#mayAdmit(server).entries()) this.#dead[account] += most;
  }

  leave(server: VirtualServer): void {
    void server.shares.leave(this.nowMs, () => this.#save(server));
    server.isUp = false;
  }

  /** The requests that a server may still admit by both months' bounds, plus ten seconds at the highest rate. */
  #mayAdmit({ counts, offMs }: VirtualServer): number[] {
    const first = this.#firstMonth(offMs);
    return this.highest.map(({ burst }, account) =>
      [first, first + 1].reduce(
        (sum, month) => sum + counts.of(month).bound[account] - counts.used(account, month),
        burst * 10,
      ),
    );
  }

  /**
   * Redis has lost the records of dead and unreachable servers, so what these may still admit is added to the
   * allowances.
   */
  #lose(): void {
    const allow = () => {
      for (const server of this.servers) {
        const isHeard =
          server.isUp && !server.isCut && !this.isRefusing && this.lostPercent === 0 && this.maxDelayMs < 100;
        if (!isHeard)
          for (const [account, most] of this.#mayAdmit(server).entries()) this.#allowances[account] += most;
      }
    };
    for (const [account, most] of this.#dead.entries()) this.#allowances[account] += most;
    this.#dead.fill(0);
    allow();
    this.at(this.nowMs + 2000, allow);
  }

  setRedisClock(offMs: number): void {
    this.#redisOffMs = offMs;
  }

  async backUp(): Promise<void> {
    this.#backup = [];
    for (const key of await this.client.keys("*"))
      this.#backup.push([
        key,
        (await this.client.dumpBuffer(key)) as Buffer,
        Math.max(0, await this.client.pttl(key)),
      ]);
  }

  /** With "reload", Redis loads the last `backUp` without a restart. */
  async restartRedis(state: "same" | "empty" | "backup" | "reload"): Promise<void> {
    if (state !== "reload") {
      this.#run++;
      for (const { shares } of this.servers) shares.check();
    }
    if (state === "same") return;
    this.#lose();
    await this.client.flushdb();
    if (state !== "empty")
      for (const [key, value, ttl] of this.#backup) await this.client.restore(key, ttl, value, "REPLACE");
  }

  async dropKey(key: string): Promise<void> {
    this.#lose();
    await this.client.del(key);
  }

  async record(account: number, month = this.month()) {
    const text = await this.client.hget(monthKey(monthName(month)), String(account));
    return JSON.parse(text ?? '{"total":0,"left":{},"servers":{}}') as {
      total: number;
      left: Record<string, number>;
      tight?: number;
      servers: Record<string, { used: number; granted: number }>;
    };
  }
}
