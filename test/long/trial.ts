import type { TestContext } from "node:test";
import { memoryBytes } from "../support/memory.ts";
import { type Random, seededRandom } from "../support/random.ts";

/** Sizes and randomness of long trials. Environment variables set the sizes, from seconds to minutes. */

export function sizeFrom(name: string, otherwise: number): number {
  const value = Number(process.env[name] || otherwise);
  if (!Number.isInteger(value) || value < 1)
    throw new RangeError(`${name} is ${process.env[name]}, expected a whole number from 1`);
  return value;
}

export const trialSeconds = sizeFrom("TRIAL_SECONDS", 60);
export const killRounds = sizeFrom("KILL_ROUNDS", 20);
const seed = sizeFrom("TRIAL_SEED", 1 + Math.floor(Math.random() * 1_000_000));

/** Makes the trial's random numbers, and reports the seed with which the trial can be repeated. */
export function trialRandom(t: TestContext): Random {
  t.diagnostic(`TRIAL_SEED=${seed}`);
  return seededRandom(seed);
}

export function residentMb(pid: number): number {
  return memoryBytes("VmRSS", pid) / 2 ** 20;
}
