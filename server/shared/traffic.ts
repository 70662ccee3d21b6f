import { PerSecond } from "./per-second.ts";
import { maxAccounts } from "./plans.ts";

/**
 * Counts in shared memory: answers with their bytes and times by route and status, 429s by reason and by account, 401s by
 * reason, and the times of other work.
 */

/*
 * Each thread writes only to its own block of shared memory, so plain stores are enough, and no two threads' counts
 * share a cache line. The control thread sums the blocks.
 *
 * A count is an aligned 64-bit float. The supported 64-bit machines store and load such a float whole, so a reader
 * never sees half of a change. Whole numbers are exact up to 2^53. Two counts may be read a moment apart.
 */

/** Statuses that have their own counters. The first counter, "other", has all other statuses. */
const statuses = [
  200, 201, 202, 204, 206, 303, 304, 400, 401, 403, 404, 405, 409, 412, 413, 415, 416, 429, 500, 503,
];
const statusNames: readonly string[] = ["other", ...statuses.map(String)];

/**
 * Reasons for a 429. `burst`: the rate is used up. `quota`: the quota is used up. `clock`: the clock was set, and the
 * month's usage isn't read yet. `address`: the client's address has used up its share of the pages' key.
 */
export const ceilings = ["burst", "quota", "clock", "address"] as const;
type Ceiling = (typeof ceilings)[number];

/** Reasons for a 401. An inactive key is revoked or expired, or its account is suspended or deleted. */
const keyFaults = ["missing", "malformed", "unknown", "inactive"] as const;
export type KeyFault = (typeof keyFaults)[number];

/**
 * Kinds of a serving thread's work besides answering. `file`: a further part of a file. `publication`: a step of taking
 * over published data versions. Requests wait while a piece of work is done.
 */
const works = ["file", "publication"] as const;
export type Work = (typeof works)[number];

/** Upper bounds of all latency buckets but the last, in seconds: powers of two from 1 µs to 16.8 s. */
export const bucketBounds: readonly number[] = Array.from({ length: 25 }, (_, i) => 2 ** i / 1e6);
const buckets = bucketBounds.length + 1;

const cacheLineWords = 8;
/** A block begins with the counts of 429s and then of 401s, by reason. */
const refusalWords = cacheLineWords;
/**
 * Words of a cell: answers, bytes, timed milliseconds and buckets. A block has a cell for each kind of work, then one for
 * each route and status.
 */
const [countWord, bytesWord, timeWord, bucketsWord] = [0, 1, 2, 3];
const cellWords = Math.ceil((bucketsWord + buckets) / cacheLineWords) * cacheLineWords;

/** A block ends with the counts of 429s by account slot. */
const accountWords = maxAccounts;

const cellOfWork = (work: number) => refusalWords + work * cellWords;
const cellOf = (route: number, status: number) =>
  cellOfWork(works.length) + (route * statusNames.length + status) * cellWords;

const placeOfStatus = new Uint8Array(1000);
for (const [i, status] of statuses.entries()) placeOfStatus[status] = i + 1;

/**
 * Requests per second that a thread times in full. Of further requests, it times those that are answered later, and a
 * sample of the others, because timing has a cost.
 */
export const maxTimedEach = 1000;
/** On average, one of this many further requests is timed, chosen at random. */
export const busyStride = 16;
const untimed = -1;

/** Statuses that alerts name. They are shown from the start, so that the first occurrence shows as a rise. */
const alertedStatuses = ["500", "503"];

export class ThreadTraffic {
  readonly #words: Float64Array;
  readonly #nowMs: () => number;
  readonly #random: () => number;
  /** Weight of the next timed request: the mean number of requests that it stands for. */
  #stride = 1;
  #untilTimed = 1;
  #each = new PerSecond(maxTimedEach);

  /** @param nowMs milliseconds of a steady clock @param random returns a number from 0 to below 1 */
  constructor(buffer: SharedArrayBuffer, nowMs = () => performance.now(), random = Math.random) {
    this.#words = new Float64Array(buffer);
    this.#nowMs = nowMs;
    this.#random = random;
  }

  forget(): void {
    const words = this.#words;
    // Writing zeros to unused words would make their memory resident.
    for (let i = 0; i < words.length; i++) if (words[i] !== 0) words[i] = 0;
    this.#stride = 1;
    this.#untilTimed = 1;
    this.#each = new PerSecond(maxTimedEach);
  }

  /** Begins timing a request for `answered`. Returns a negative number if the request isn't timed. */
  begin(): number {
    return --this.#untilTimed === 0 ? this.#nowMs() : untimed;
  }

  /** Counts an answer with its bytes. @param route an index into the routes @param begun what `begin` returned */
  answered(route: number, status: number, bytes: number, begun: number): void {
    const cell = this.#count(route, status, bytes);
    if (begun !== untimed) this.#time(cell, begun);
  }

  /** Begins timing a request for `answeredLater`. @param begun what `begin` returned, if it was called for the request */
  beginLater(begun = untimed): number {
    if (begun === untimed) return this.#nowMs();
    // The next request is timed in place of this one, which may never be answered.
    this.#untilTimed = 1;
    return begun;
  }

  /** Counts an answer that is made after the handler has returned. All such answers are timed. */
  answeredLater(route: number, status: number, bytes: number, begun: number): void {
    this.#addTime(this.#count(route, status, bytes), this.#nowMs() - begun, 1);
  }

  worked(work: Work, tookMs: number): void {
    this.#addTime(cellOfWork(works.indexOf(work)), tookMs, 1);
  }

  /** Adds bytes to an answer that is counted already. */
  sent(route: number, status: number, bytes: number): void {
    this.#words[cellOf(route, placeOfStatus[status]) + bytesWord] += bytes;
  }

  refused(ceiling: Ceiling, slot: number): void {
    // The account comes first, so that a reader who sees a higher sum also finds the account.
    this.#words[this.#words.length - accountWords + slot]++;
    this.#words[ceilings.indexOf(ceiling)]++;
  }

  unauthorized(fault: KeyFault): void {
    this.#words[ceilings.length + keyFaults.indexOf(fault)]++;
  }

  #count(route: number, status: number, bytes: number): number {
    const cell = cellOf(route, placeOfStatus[status]);
    this.#words[cell + countWord]++;
    this.#words[cell + bytesWord] += bytes;
    return cell;
  }

  #addTime(cell: number, tookMs: number, requests: number): void {
    this.#words[cell + timeWord] += requests * tookMs;
    this.#words[cell + bucketsWord + bucketOf(tookMs)] += requests;
  }

  #time(cell: number, begun: number): void {
    const nowMs = this.#nowMs();
    const tookMs = nowMs - begun;
    this.#addTime(cell, tookMs, this.#stride);
    const isBusy = !this.#each.pass(nowMs);
    this.#stride = isBusy ? busyStride : 1;
    // Requests may follow a pattern, so the choice is random.
    this.#untilTimed = isBusy ? 1 + Math.floor(this.#random() * (2 * busyStride - 1)) : 1;
  }
}

function bucketOf(ms: number): number {
  const us = Math.ceil(ms * 1000);
  return us <= 1 ? 0 : Math.min(buckets - 1, 32 - Math.clz32(us - 1));
}

export interface Times {
  buckets: number[];
  seconds: number;
}

/** Timed requests are weighted, so that the counts in `buckets` add up to about `requests`. */
export interface Answers extends Times {
  route: string;
  status: string;
  requests: number;
  bytes: number;
}

export interface TrafficSnapshot {
  answers: Answers[];
  works: Record<Work, Times>;
  refused: Record<Ceiling, number>;
  unauthorized: Record<KeyFault, number>;
}

export class Traffic {
  readonly buffers: readonly SharedArrayBuffer[];
  readonly #routes: readonly string[];
  readonly #blocks: readonly Float64Array[];

  constructor(routes: readonly string[], threads: number) {
    this.#routes = routes;
    const bytes = (cellOf(routes.length, 0) + accountWords) * Float64Array.BYTES_PER_ELEMENT;
    this.buffers = Array.from({ length: threads }, () => new SharedArrayBuffer(bytes));
    this.#blocks = this.buffers.map((buffer) => new Float64Array(buffer));
  }

  /**
   * Sums the counts of all threads. Leaves out a route's statuses that never occurred, except those that alerts name.
   */
  snapshot(): TrafficSnapshot {
    const answers: Answers[] = [];
    for (const [route, name] of this.#routes.entries())
      for (const [place, status] of statusNames.entries()) {
        const found = this.#answersOf(cellOf(route, place));
        if (found.requests > 0 || alertedStatuses.includes(status))
          answers.push({ route: name, status, ...found });
      }
    const [burst, quota, clock, address] = ceilings.map((_, i) => this.#sum(i));
    const [missing, malformed, unknown, inactive] = keyFaults.map((_, i) => this.#sum(ceilings.length + i));
    const [file, publication] = works.map((_, i) => this.#timesOf(cellOfWork(i)));
    return {
      answers,
      works: { file, publication },
      refused: { burst, quota, clock, address },
      unauthorized: { missing, malformed, unknown, inactive },
    };
  }

  refusedOf(slot: number): number {
    return this.#sum(this.#blocks[0].length - accountWords + slot);
  }

  #answersOf(cell: number): Omit<Answers, "route" | "status"> {
    return {
      requests: this.#sum(cell + countWord),
      bytes: this.#sum(cell + bytesWord),
      ...this.#timesOf(cell),
    };
  }

  #timesOf(cell: number): Times {
    return {
      buckets: Array.from({ length: buckets }, (_, i) => this.#sum(cell + bucketsWord + i)),
      seconds: this.#sum(cell + timeWord) / 1000,
    };
  }

  #sum(word: number): number {
    return this.#blocks.reduce((sum, block) => sum + block[word], 0);
  }
}
