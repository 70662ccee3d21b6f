import {
  databaseAway,
  maxWaitMs,
  mustWait,
  PermitTable,
  permitLifeMs,
} from "../../server/accounts/permit-table.ts";
import {
  type Asked,
  type Granted,
  Permits,
  type Taken,
  tickMs,
} from "../../server/parts/postgres/permits.ts";
import { PermitQueue } from "../../server/serving/permit-queue.ts";
import { monthOf } from "../../server/shared/months.ts";
import { type Random, seededRandom } from "./random.ts";

/** Servers that share ceilings, in virtual time, and a model of their database. */

export interface Row {
  rate: number;
  quota: number;
  month: number;
  used: number;
  usedBefore: number;
  level: number;
  /** Unix milliseconds. */
  atMs: number;
}

export const newRow = (rate: number, quota: number, atMs: number): Row => ({
  ...{ rate, quota, month: monthOf(atMs), used: 0, usedBefore: 0, level: rate + 1, atMs },
});

/** What `hcqs.take` does with an account's row. */
export function takeFrom(row: Row, asked: Asked, nowMs: number): Granted {
  const nowMonth = monthOf(nowMs);
  if (row.month < nowMonth) {
    row.usedBefore = row.month === nowMonth - 1 ? row.used : 0;
    row.used = 0;
    row.month = nowMonth;
  }
  if (asked.backMonth === row.month) row.used = Math.max(0, row.used - asked.back);
  if (asked.backMonth === row.month - 1) row.usedBefore = Math.max(0, row.usedBefore - asked.back);
  const passedMs = Math.max(0, nowMs - row.atMs);
  row.level = Math.min(row.rate + 1, row.level + (row.rate * passedMs) / 1000);
  row.atMs = nowMs;
  const isNow = row.month === nowMonth;
  const used = isNow ? row.used : row.usedBefore;
  const granted = Math.max(0, Math.min(asked.want, Math.floor(row.level), row.quota - used));
  row.level -= granted;
  if (isNow) row.used += granted;
  else row.usedBefore += granted;
  const waitMs = Math.max(0, ((1 - row.level) * 1000) / row.rate);
  return { account: asked.account, granted, used: used + granted, waitMs };
}

/** Runs callbacks in the order of their times. */
export class VirtualTime {
  nowMs = 0;
  #count = 0;
  readonly #heap: { atMs: number; order: number; work: (() => void) | undefined }[] = [];

  /** @returns a function that cancels the call */
  after(ms: number, work: () => void): () => void {
    const entry = { atMs: this.nowMs + ms, order: this.#count++, work: work as (() => void) | undefined };
    const heap = this.#heap;
    let at = heap.push(entry) - 1;
    for (let above = (at - 1) >> 1; at > 0 && isBefore(entry, heap[above]); above = (at - 1) >> 1) {
      heap[at] = heap[above];
      at = above;
    }
    heap[at] = entry;
    return () => {
      entry.work = undefined;
    };
  }

  /** Runs everything that is due up to a time. */
  async runTo(untilMs: number): Promise<void> {
    for (let next = this.#heap[0]; next !== undefined && next.atMs <= untilMs; next = this.#heap[0]) {
      this.#removeFirst();
      this.nowMs = next.atMs;
      next.work?.();
      // Runs what waits for a promise.
      await undefined;
      await undefined;
    }
    this.nowMs = untilMs;
  }

  #removeFirst(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let below = 2 * at + 1;
      if (below + 1 < heap.length && isBefore(heap[below + 1], heap[below])) below++;
      if (below >= heap.length || !isBefore(heap[below], last)) break;
      heap[at] = heap[below];
      at = below;
    }
    heap[at] = last;
  }
}

const isBefore = (a: { atMs: number; order: number }, b: { atMs: number; order: number }) =>
  a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);

/** Milliseconds of a message between threads, and after which no answer ends a connection, as in the product. */
const messageMs = 0.1;
const noAnswerMs = 2000;
const maxStatementMs = 1000;

export interface Ceilings {
  rate: number;
  quota: number;
}

export interface WorldOptions {
  seed: number;
  servers: number;
  accounts: readonly Ceilings[];
  /** Milliseconds to the database, each way. */
  delayMs: number;
  /** Unix milliseconds at the start. */
  wallMs?: number;
  /** The steady clocks' time at the start. */
  steadyMs?: number;
  threads?: number;
  /** Maximum milliseconds by which a tick is late. */
  lateMs?: number;
  /** Share of the admitted requests that fail and don't count. */
  failing?: number;
  /** Share of the waiting requests that are aborted. */
  aborting?: number;
}

/** The end of a request. */
export interface Outcome {
  account: number;
  atMs: number;
  /** The month of the permit, or why there is none. */
  monthOrReason: number;
  remaining: number;
  waitedMs: number;
  isFailed: boolean;
}

/** A call to the database. The arrays have a number for each account of the call. */
interface Call {
  asked: readonly Asked[];
  reject: () => void;
  /** Permits granted. */
  granted: number[];
  /** Permits to give back that the database doesn't know of yet. */
  backs: number[];
  sentMs: number;
  /** Whether the connection ended before the call was carried out. */
  isOrphan: boolean;
}

const defaultWallMs = Date.UTC(2026, 4, 10, 12);
/** The word of a slot that counts waiting requests. */
const waitingWord = 9;
const slotWords = 16;

export class World {
  readonly time = new VirtualTime();
  readonly random: Random;
  readonly rows: Row[];
  readonly options: WorldOptions;
  readonly servers: Server[] = [];
  readonly outcomes: Outcome[] = [];
  /** Requests that begin to wait and were neither answered nor aborted, with the time. */
  readonly waiting = new Set<object>();
  /** Until when commits hang. */
  hangsUntilMs = 0;
  /** By account: how many permits may have been lost. */
  readonly lost: number[];
  readonly faults: string[] = [];

  constructor(options: WorldOptions) {
    this.options = options;
    this.random = seededRandom(options.seed);
    this.rows = options.accounts.map(({ rate, quota }) => newRow(rate, quota, this.wallMs()));
    this.lost = options.accounts.map(() => 0);
    for (let i = 0; i < options.servers; i++) this.servers.push(new Server(this));
  }

  wallMs(): number {
    return (this.options.wallMs ?? defaultWallMs) + this.time.nowMs;
  }

  steadyMs(): number {
    return (this.options.steadyMs ?? 1000) + this.time.nowMs;
  }

  /** Changes an account's ceilings, which all servers know at once. */
  change(account: number, rate: number, quota: number): void {
    Object.assign(this.rows[account], { rate, quota });
    for (const server of this.servers) server.table.configure(account, rate, quota);
  }

  /** Number of requests of an account that count in a month. */
  admitted(account: number, month = monthOf(this.wallMs())): number {
    return this.outcomes.filter(
      (one) => one.account === account && one.monthOrReason === month && !one.isFailed,
    ).length;
  }

  /** The most by which the requests of an account exceed its rate, in any window. */
  excess(account: number, rate: number): number {
    let [level, beforeMs, most] = [0, 0, 0];
    for (const { account: its, atMs, monthOrReason } of this.outcomes) {
      if (its !== account || monthOrReason < 0) continue;
      level = Math.max(0, level - (rate * (atMs - beforeMs)) / 1000) + 1;
      beforeMs = atMs;
      most = Math.max(most, level);
    }
    return most;
  }

  /** Notes that a call's permits may be lost. */
  lose({ asked, granted, backs }: Call): void {
    for (const [i, { account }] of asked.entries()) this.lost[account] += granted[i] + backs[i];
  }

  /** Sends requests of an account to random servers. @param perSecond mean number */
  load(account: number, perSecond: number, untilMs: number): void {
    const { time, random } = this;
    const next = () => {
      if (time.nowMs >= untilMs) return;
      random.pick(this.servers).request(account);
      time.after(-Math.log(1 - random.next()) * (1000 / perSecond), next);
    };
    time.after(random.next() * (1000 / perSecond), next);
  }
}

export class Server {
  table = new PermitTable();
  #permits!: Permits;
  #queues: PermitQueue[] = [];
  readonly #world: World;
  #calls: Call[] = [];
  /** Calls whose permits may be unused. */
  #recent: Call[] = [];
  #generation = 0;
  /** The answers of a connection come in order. */
  #arrivalMs = 0;
  #answerMs = 0;
  /** What happens to the next call. */
  next: "lost call" | "lost answer" | undefined;
  calls = 0;

  constructor(world: World) {
    this.#world = world;
    this.#start();
  }

  #start(): void {
    const world = this.#world;
    const { time, options } = world;
    this.#generation++;
    const generation = this.#generation;
    const isAlive = () => generation === this.#generation;
    this.table = new PermitTable();
    const { table } = this;
    table.month = monthOf(world.wallMs());
    world.rows.forEach(({ rate, quota }, slot) => {
      table.configure(slot, rate, quota);
    });
    const permits = new Permits({
      table,
      accountOf: (slot) => slot,
      take: (asked) => this.#take(asked),
      answer: (thread, answers) =>
        void time.after(messageMs, () => isAlive() && this.#queues[thread].take(answers)),
      now: () => world.steadyMs(),
    });
    this.#permits = permits;
    this.#queues = Array.from(
      { length: options.threads ?? 2 },
      (_, thread) =>
        new PermitQueue(
          table,
          (waits) => void time.after(messageMs, () => isAlive() && permits.wait(thread, waits)),
          (ms, callback) => time.after(ms, () => isAlive() && callback()),
          (callback) => void time.after(0, () => isAlive() && callback()),
        ),
    );
    const tick = () => {
      if (!isAlive()) return;
      permits.tick();
      time.after(tickMs + world.random.next() * (options.lateMs ?? 0), tick);
    };
    time.after(world.random.next() * tickMs, tick);
  }

  #take(asked: readonly Asked[]): Promise<Taken> {
    const world = this.#world;
    const { time, random, options } = world;
    this.calls++;
    const fate = this.next;
    this.next = undefined;
    const { promise, resolve, reject } = Promise.withResolvers<Taken>();
    const call: Call = {
      ...{ asked, granted: asked.map(() => 0), backs: asked.map(({ back }) => back) },
      ...{ sentMs: time.nowMs, isOrphan: false },
      reject: () => reject(new Error("no answer")),
    };
    this.#calls.push(call);
    this.#recent = this.#recent.filter(({ sentMs }) => time.nowMs - sentMs <= permitLifeMs);
    this.#recent.push(call);
    time.after(noAnswerMs, () => this.#calls.includes(call) && this.cut());
    if (fate === "lost call") return promise;
    const delay = () => options.delayMs * (1 + random.next() / 10);
    this.#arrivalMs = Math.max(this.#arrivalMs, time.nowMs + delay());
    const execute = () => {
      if (!call.isOrphan && !this.#calls.includes(call)) return;
      if (world.hangsUntilMs > time.nowMs) {
        if (time.nowMs - call.sentMs > maxStatementMs) return;
        time.after(world.hangsUntilMs - time.nowMs, execute);
        return;
      }
      const grants = asked.map((one) => takeFrom(world.rows[one.account], one, world.wallMs()));
      grants.forEach(({ granted }, i) => {
        call.granted[i] = granted;
        call.backs[i] = 0;
      });
      if (call.isOrphan) world.lose(call);
      if (fate === "lost answer") return;
      const month = monthOf(world.wallMs());
      this.#answerMs = Math.max(this.#answerMs, time.nowMs + delay());
      time.after(this.#answerMs - time.nowMs, () => {
        if (!this.#calls.includes(call)) return;
        this.#calls.splice(this.#calls.indexOf(call), 1);
        resolve({ month, grants });
      });
    };
    time.after(this.#arrivalMs - time.nowMs, execute);
    return promise;
  }

  /** Ends the connection. The calls under way have no answer. */
  cut(): void {
    const calls = this.#calls;
    this.#calls = [];
    for (const call of calls) {
      this.#world.lose(call);
      // A call under way may arrive later.
      call.isOrphan = this.#world.random.int(2) === 0;
      call.reject();
    }
  }

  /** Ends the server at once, and starts another. */
  kill(): void {
    const { lost, waiting, time } = this.#world;
    const recent = this.#recent.filter(({ sentMs }) => time.nowMs - sentMs <= permitLifeMs);
    this.cut();
    for (const { account, back } of this.#permits.close()) lost[account] += back;
    for (const call of recent) this.#world.lose(call);
    for (const request of waiting) if (this.#requests.delete(request)) waiting.delete(request);
    this.#start();
  }

  /** The requests that wait here. */
  readonly #requests = new Set<object>();

  /** Makes a request. `onEnd` isn't called for a request that is aborted or whose server is killed. */
  request(account: number, onEnd: (outcome: Outcome) => void = () => {}): void {
    const world = this.#world;
    const { time, random, waiting } = world;
    const { table } = this;
    const { month } = table;
    const remaining = table.admit(account, month, world.steadyMs());
    const begunMs = time.nowMs;
    const end = (monthOrReason: number, remaining: number) => {
      const isFailed = monthOrReason >= 0 && random.next() < (world.options.failing ?? 0);
      if (isFailed) table.giveBack(account, monthOrReason);
      const waitedMs = time.nowMs - begunMs;
      const outcome = { account, atMs: time.nowMs, monthOrReason, remaining, waitedMs, isFailed };
      world.outcomes.push(outcome);
      onEnd(outcome);
    };
    if (remaining !== mustWait) {
      end(remaining < 0 ? remaining : month, remaining);
      return;
    }
    const request = {};
    waiting.add(request);
    this.#requests.add(request);
    const endWait = () => {
      if (!waiting.delete(request)) world.faults.push("a request was answered twice");
      this.#requests.delete(request);
    };
    const leave = random.pick(this.#queues).wait(account, (monthOrReason) => {
      endWait();
      if (time.nowMs - begunMs > maxWaitMs + 1e-6) world.faults.push("a request waited for too long");
      end(monthOrReason, monthOrReason < 0 ? monthOrReason : table.remaining(account, monthOrReason));
    });
    if (random.next() >= (world.options.aborting ?? 0)) return;
    time.after(random.next() * maxWaitMs, () => {
      if (!waiting.has(request)) return;
      endWait();
      leave();
    });
  }

  /** Number of requests that wait, by the shared memory. */
  waitingFor(account: number): number {
    return new Int32Array(this.table.buffer)[account * slotWords + waitingWord];
  }
}

/** Runs servers with drawn ceilings, loads and faults. @returns what is wrong, and nothing if all is well */
export async function randomTrial(seed: number): Promise<string[]> {
  const random = seededRandom(seed);
  const isFaulty = random.int(4) > 0;
  const share = () => (random.int(2) === 0 ? 0 : random.next() / 5);
  const accounts = Array.from({ length: 1 + random.int(3) }, () => ({
    rate: random.pick([1, 2, 8, 30, 200]),
    quota: random.pick([3, 50, 700, 1_000_000]),
  }));
  const isMonthsEnd = random.int(4) === 0;
  const world = new World({
    ...{ seed, accounts, servers: 1 + random.int(4), delayMs: random.pick([0, 0.5, 20, 100]) },
    wallMs: isMonthsEnd ? Date.UTC(2026, 5, 1) - 1500 : Date.UTC(2026, 4, 10, 12),
    // The clock's words wrap in some trials.
    steadyMs: random.pick([1000, 2 ** 31 - 2000, 2 ** 32 - 2000]),
    lateMs: random.pick([0, 5]),
    ...{ failing: share(), aborting: share() },
  });
  const { time, servers } = world;
  const loadedMs = 3000;
  const most = accounts.map(({ rate }) => rate);
  for (const [account, { rate }] of accounts.entries())
    world.load(account, rate * random.pick([0.3, 1, 2, 5]), loadedMs);
  const at = (work: () => void) => time.after(random.next() * loadedMs, work);
  if (isFaulty)
    for (let i = 1 + random.int(5); i > 0; i--) {
      const server = random.pick(servers);
      const account = random.int(accounts.length);
      const [rate, quota] = [random.pick([1, 20, 100]), random.pick([5, 100, 1000])];
      const fault = random.pick([
        () => server.kill(),
        () => server.cut(),
        () => {
          server.next = "lost call";
        },
        () => {
          server.next = "lost answer";
        },
        () => {
          world.hangsUntilMs = time.nowMs + random.next() * 1500;
        },
        () => {
          world.change(account, rate, quota);
          most[account] = Math.max(most[account], rate);
        },
      ]);
      at(fault);
    }
  await time.runTo(loadedMs);
  // Nothing is under way any more, and all unused permits were given back.
  await time.runTo(loadedMs + 6000);
  const { faults, rows } = world;
  if (world.waiting.size > 0) faults.push("a request was never answered");
  for (const [account, { month, used, usedBefore }] of rows.entries()) {
    const [now, before] = [world.admitted(account, month), world.admitted(account, month - 1)];
    if (now > used || before > usedBefore)
      faults.push(`${now} and ${before} admitted, ${used} and ${usedBefore} used`);
    const unused = used - now + (isMonthsEnd ? usedBefore - before : 0);
    if (unused > world.lost[account])
      faults.push(`${unused} are lost, at most ${world.lost[account]} expected`);
    const excess = world.excess(account, most[account]);
    if (excess > 1.75 * most[account] + 1) faults.push(`${excess} above the rate ${most[account]}`);
    for (const server of servers)
      if (server.waitingFor(account) !== 0) faults.push(`${server.waitingFor(account)} wait`);
  }
  const away = world.outcomes.filter(({ monthOrReason }) => monthOrReason === databaseAway).length;
  if (!isFaulty && away > 0) faults.push(`${away} requests couldn't be counted`);
  return faults;
}
