import { setImmediate as immediate } from "node:timers/promises";
import type { Redis } from "ioredis";
import { keyOf, scriptIn, type Told } from "../../server/parts/replicas/redis.ts";
import type { Ceilings } from "../../server/parts/replicas/share.ts";
import { Shares } from "../../server/parts/replicas/shares.ts";
import { monthName, monthOf } from "../../server/shared/months.ts";
import { type Random, seededRandom } from "./random.ts";
import { VirtualCounts } from "./shares-counts.ts";
import { headLength, Ledger, rowLength } from "./shares-ledger.ts";
import { Queue } from "./shares-queue.ts";

/** Replicas with virtual clocks and a virtual network around the script in a real Redis. */

interface Replica {
  id: string;
  shares: Shares;
  counts: VirtualCounts;
  isUp: boolean;
  isCut: boolean;
  starts: number;
  /** How far its wall clock is off. */
  offMs: number;
  /** When its next tick was planned last. */
  plannedMs: number;
  /** What is on its disk, by month and account. */
  saved: Map<string, { used: number; granted: number }>;
  members: number;
}

interface SimulationOptions {
  seed: number;
  client: Redis;
  accounts: readonly Ceilings[];
  shards?: number;
  /** The wall clock when the simulation begins. */
  startMs?: number;
  /** One way through the network. */
  minDelayMs?: number;
  maxDelayMs?: number;
}

/** What was admitted and refused, against what may be. */
interface Tally {
  admitted: number;
  refused: number;
  /** Refused for the quota while less than it was admitted; and of these, requests that one server would have admitted. */
  dry: number;
  early: number;
  /** Counts that died with a process, at most. */
  lost: number;
}

export class Simulation {
  readonly random: Random;
  readonly replicas: Replica[] = [];
  readonly accounts: readonly Ceilings[];
  readonly client: Redis;
  readonly shards: number;
  nowMs = 0;
  steps = 0;
  calls = 0;
  rows = 0;
  /** The most by which admitted requests were over the quota, and over what a window of time allows. */
  overQuota = 0;
  overBurst = 0;
  /** Calls lost on the way there or back, and such that come twice, of a hundred. */
  lostPercent = 0;
  repeatedPercent = 0;
  isRefusing = false;
  maxDelayMs: number;
  /** The most members at a time. */
  mostMembers = 0;
  readonly tallies = new Map<string, Tally>();
  /** What Redis has answered. */
  readonly ledger: Ledger;
  readonly #options: SimulationOptions;
  readonly #startMs: number;
  readonly #queue = new Queue();
  readonly #buckets: { level: number; ms: number }[];
  /** As one server has them. */
  readonly #ofOne: { level: number; ms: number }[];
  #boot = 1;
  #redisOffMs = 0;
  #backup: [key: string, value: Buffer][] = [];
  readonly #allowances: number[];

  constructor(options: SimulationOptions) {
    this.#options = options;
    this.random = seededRandom(options.seed);
    this.accounts = options.accounts;
    this.client = options.client;
    this.shards = options.shards ?? 1;
    this.maxDelayMs = options.maxDelayMs ?? 2;
    this.#startMs = options.startMs ?? Date.UTC(2026, 0, 20);
    this.#allowances = options.accounts.map(() => 0);
    this.ledger = new Ledger((account) => this.accounts[account].quota + this.#allowances[account]);
    this.#buckets = options.accounts.map(() => ({ level: 0, ms: 0 }));
    this.#ofOne = options.accounts.map(() => ({ level: 0, ms: 0 }));
  }

  at(ms: number, work: () => void | Promise<void>): void {
    this.#queue.push(Math.max(ms, this.nowMs), work);
  }

  /** Runs what is planned up to a time. */
  async run(untilMs: number): Promise<void> {
    for (let next = this.#queue.pop(untilMs); next; next = this.#queue.pop(untilMs)) {
      this.nowMs = next.ms;
      this.steps++;
      const done = next.work();
      if (done) await done;
    }
    this.nowMs = untilMs;
  }

  /** @param offMs how far its wall clock is off */
  add(offMs = 0): Replica {
    const replica: Replica = {
      id: `r${this.replicas.length}`,
      isUp: false,
      isCut: false,
      starts: 0,
      offMs,
      plannedMs: Number.POSITIVE_INFINITY,
      saved: new Map(),
      members: 1,
      ...this.#process({ id: "", starts: 0, saved: new Map(), members: 1, offMs: 0 }, () => {}),
    };
    this.replicas.push(replica);
    this.start(replica);
    return replica;
  }

  start(replica: Replica): void {
    replica.starts++;
    Object.assign(
      replica,
      this.#process(replica, () => this.#plan(replica)),
      { isUp: true, plannedMs: Number.POSITIVE_INFINITY },
    );
    this.mostMembers = Math.max(this.mostMembers, this.replicas.filter(({ isUp }) => isUp).length);
    this.#plan(replica);
    const { shares } = replica;
    const save = () => {
      if (replica.shares !== shares || !replica.isUp) return;
      this.#save(replica);
      this.at(this.nowMs + 1000, save);
    };
    this.at(this.nowMs + 1000 * this.random.next(), save);
  }

  #process(
    { id, starts, saved, members, offMs }: Pick<Replica, "id" | "starts" | "saved" | "members" | "offMs">,
    onAnswer: () => void,
  ): Pick<Replica, "shares" | "counts"> {
    const counts = new VirtualCounts(this.accounts);
    for (const [name, { used }] of saved) {
      const [month, account] = name.split(" ").map(Number);
      counts.of(month).used[account] = used;
    }
    const shares: Shares = new Shares(
      {
        replica: id,
        shards: this.shards,
        tickMs: 100,
        counts,
        members,
        clock: () => this.nowMs,
        isFreeWithoutRedis: false,
        firstSequence: starts * 2 ** 32,
        saved: (account, month) => saved.get(`${month} ${account}`)?.granted ?? 0,
        send: (shard, months, values) => this.#send(id, shares, shard, months, values, onAnswer),
      },
      this.#firstMonth(offMs),
      this.nowMs,
    );
    return { shares, counts };
  }

  /** What the replica's wall clock says. */
  #wallMs(offMs: number): number {
    return this.#startMs + this.nowMs + offMs;
  }

  #firstMonth(offMs: number): number {
    return monthOf(this.#wallMs(offMs) - 14 * 86_400_000);
  }

  #save(replica: Replica): void {
    const { shares, counts } = replica;
    replica.members = shares.members;
    const first = this.#firstMonth(replica.offMs);
    const changed = [...counts.changed];
    counts.changed.clear();
    for (const month of [first, first + 1]) {
      const { used } = counts.of(month);
      for (const account of changed) {
        const granted = shares.lasting(account, month);
        if (granted === 0 && used[account] === 0) continue;
        replica.saved.set(`${month} ${account}`, { used: used[account], granted });
        shares.save(account, month, granted);
      }
    }
  }

  /** Plans the replica's next tick; while Redis is away its tokens come with ticks. */
  #plan(replica: Replica): void {
    const { shares } = replica;
    const ms = Math.min(Math.max(this.nowMs, shares.nextMs()), this.nowMs + 100);
    if (replica.plannedMs <= ms) return;
    replica.plannedMs = ms;
    this.at(ms, () => {
      if (!replica.isUp || replica.shares !== shares || replica.plannedMs !== ms) return;
      replica.plannedMs = Number.POSITIVE_INFINITY;
      shares.enterMonths(this.#firstMonth(replica.offMs));
      shares.tick(this.nowMs, monthOf(this.#wallMs(replica.offMs)));
      this.#plan(replica);
    });
  }

  #send(
    id: string,
    shares: Shares,
    shard: number,
    months: readonly string[],
    values: readonly (string | number)[],
    onAnswer: () => void,
  ) {
    const replica: Replica | undefined = this.replicas[Number(id.slice(1))];
    const script = scriptIn(this.client, () => ({
      ms: Math.round(this.nowMs + this.#redisOffMs + 1e12),
      boot: `run${this.#boot}`,
    }));
    const isLost = () => replica?.isCut || this.random.next() * 100 < this.lostPercent;
    const arrive = () => {
      this.calls++;
      this.rows += (values.length - headLength) / rowLength;
      const told = script(shard, months, values);
      told.then(
        (answer) => answer[0] === "ok" && this.ledger.enter(id, months, values, answer as Told),
        () => {},
      );
      return told;
    };
    if (this.random.next() * 100 < this.repeatedPercent)
      this.at(this.nowMs + this.random.next() * 5000, () => void (this.isRefusing || arrive()));
    return new Promise<Awaited<ReturnType<typeof script>>>((resolve, reject) => {
      if (isLost()) return;
      this.at(this.nowMs + this.#delayMs(), () => {
        const told = this.isRefusing ? Promise.reject(new Error("refused")) : arrive();
        told.catch(() => {});
        if (isLost()) return;
        this.at(this.nowMs + this.#delayMs(), async () => {
          await told.then(resolve, reject);
          for (let i = 0; i < 8; i++) await undefined;
          if (replica?.isUp && replica.shares === shares) onAnswer();
        });
      });
    });
  }

  #delayMs(): number {
    const min = this.#options.minDelayMs ?? 0.2;
    return min + this.random.next() * (this.maxDelayMs - min);
  }

  tally(account: number, month: number): Tally {
    const name = `${month} ${account}`;
    const known = this.tallies.get(name);
    if (known) return known;
    const made = { admitted: 0, refused: 0, dry: 0, early: 0, lost: 0 };
    this.tallies.set(name, made);
    return made;
  }

  /** A request to a replica; whether it was admitted. */
  request(replica: Replica, account: number): boolean {
    if (!replica.isUp) return false;
    const month = monthOf(this.#wallMs(replica.offMs));
    const { burst, quota } = this.accounts[account];
    const tally = this.tally(account, month);
    const left = replica.counts.admit(account, month);
    replica.shares.touch(account, this.nowMs, typeof left === "string" || left === 0);
    if (typeof left === "string" || left === 0) this.#plan(replica);
    if (typeof left === "string") {
      tally.refused++;
      if (left === "quota" && tally.admitted < quota) {
        tally.dry++;
        if (this.#takeFromOne(account)) tally.early++;
      }
      return false;
    }
    tally.admitted++;
    this.#takeFromOne(account);
    this.overQuota = Math.max(
      this.overQuota,
      tally.admitted - tally.lost - this.#allowances[account] - quota,
    );
    // The requests of every window of t seconds are within burst * t + d: a bucket of depth d doesn't run over.
    const bucket = this.#buckets[account];
    bucket.level = Math.max(0, bucket.level - ((this.nowMs - bucket.ms) / 1000) * burst) + 1;
    bucket.ms = this.nowMs;
    const depth = burst + this.mostMembers * Math.max(1, burst / Math.max(1, this.replicas.length) / 10);
    if (bucket.level - depth > this.overBurst) this.overBurst = bucket.level - depth;
    return true;
  }

  /** Whether one server's bucket of the account would have a token for this request, which takes it then. */
  #takeFromOne(account: number): boolean {
    const { burst } = this.accounts[account];
    const bucket = this.#ofOne[account];
    bucket.level = Math.max(0, bucket.level - ((this.nowMs - bucket.ms) / 1000) * burst);
    bucket.ms = this.nowMs;
    if (bucket.level + 1 > burst) return false;
    bucket.level++;
    return true;
  }

  kill(replica: Replica): void {
    replica.isUp = false;
    const first = this.#firstMonth(replica.offMs);
    for (const month of [first, first + 1])
      for (const account of replica.counts.changed) {
        const used = replica.counts.used(account, month);
        const saved = replica.saved.get(`${month} ${account}`)?.used ?? 0;
        if (used > saved) this.tally(account, month).lost += used - saved;
      }
  }

  leave(replica: Replica): void {
    replica.isUp = false;
    void replica.shares.leave(this.nowMs, () => this.#save(replica));
  }

  /** What may be admitted over a quota because Redis lost it and who held it was silent. */
  allowance(account: number): number {
    return this.#allowances[account];
  }

  #allow(): void {
    for (const replica of this.replicas) {
      const isHeard =
        replica.isUp && !replica.isCut && !this.isRefusing && this.lostPercent === 0 && this.maxDelayMs < 100;
      if (isHeard) continue;
      const first = this.#firstMonth(replica.offMs);
      for (const [account, { burst }] of this.accounts.entries())
        for (const month of [first, first + 1])
          this.#allowances[account] += replica.shares.granted(account, month) + burst;
    }
  }

  #lose(): void {
    this.#allow();
    this.at(this.nowMs + 2000, () => this.#allow());
  }

  /** Redis' clock is set. */
  setRedisClock(offMs: number): void {
    this.#redisOffMs = offMs;
  }

  async backUp(): Promise<void> {
    this.#backup = [];
    for (const key of await this.client.keys("*"))
      this.#backup.push([key, (await this.client.dumpBuffer(key)) as Buffer]);
  }

  /** Redis starts again: with everything, with nothing, or with what was backed up. */
  async restartRedis(state: "same" | "empty" | "backup"): Promise<void> {
    this.#boot++;
    if (state === "same") return;
    this.#lose();
    await this.client.flushdb();
    // Only now: what was asked before is answered before, and what comes with the same bytes is entered first.
    await immediate();
    this.ledger.clear();
    if (state === "empty") return;
    for (const [key, value] of this.#backup) await this.client.restore(key, 0, value);
  }

  /** Redis drops a key of the script. */
  async dropKey(key: string): Promise<void> {
    this.#lose();
    await this.client.del(key);
    // As with a restart.
    await immediate();
    this.ledger.clear();
  }

  /** What Redis says of an account's month: its sums, and the sums of what its replicas have. */
  async stored(account: number, month: number) {
    const key = keyOf(account % this.shards, "usage", monthName(month));
    // With hundreds of replicas an account has as many fields, and a shard far more.
    const fields = [`${account}`, ...this.replicas.map(({ id }) => `${account}:${id}`)];
    const values = await this.client.hmget(key, ...fields);
    const all: Record<string, string> = {};
    for (const [i, field] of fields.entries()) if (values[i]) all[field] = values[i];
    const [used, granted, heard, counted] = (all[account] ?? "0 0 0 0").split(" ").map(Number);
    let usedByEach = 0;
    let grantedToEach = 0;
    for (const [field, value] of Object.entries(all))
      if (field.startsWith(`${account}:`)) {
        usedByEach += Number(value.split(" ")[0]);
        grantedToEach += Number(value.split(" ")[1]);
      }
    return { used, granted, lost: Math.max(0, heard - counted), usedByEach, grantedToEach };
  }

  month(): number {
    return monthOf(this.#wallMs(0));
  }
}
