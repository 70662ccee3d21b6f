import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { test } from "node:test";
import { leastRows, leastStates, maxSuppressedServices } from "../datasets/cms/plausibility.ts";
import { maxTries as maxDownloads, maxFileBytes, stallMs } from "../datasets/cms/release-download.ts";
import { spareBytes } from "../datasets/download.ts";
import { defaultSampleRows } from "../datasets/sample/synthetic.ts";
import {
  defaultMiles,
  leastFacilities,
  maxImageRows,
  maxMiles,
  maxNameCharacters,
  maxSnapshotFileBytes,
  maxSnapshotRows,
} from "../engine/query.ts";
import { clearLead, sureScore } from "../engine/search/sure.ts";
import { rowsPerGroup } from "../engine/snapshot/encode.ts";
import { permitLifeMs, maxWaitMs as permitWaitMs } from "../server/accounts/permit-table.ts";
import { thresholds } from "../server/accounts/quota-events.ts";
import { lookBackMs } from "../server/accounts/sync.ts";
import { maxAccountsPerChange } from "../server/accounts/transfer.ts";
import { maxCandidates } from "../server/api/procedure-asked.ts";
import { maxApplyMs } from "../server/commands/command.ts";
import { maxWaitingBytes as maxLogBytes } from "../server/control/log.ts";
import { maxStopSeconds } from "../server/control/running.ts";
import { maxDrainMs } from "../server/control/serving-threads.ts";
import { saveMs, writeMs } from "../server/control/state.ts";
import { changesBurst, changesPerSecond } from "../server/parts/portal/actions.ts";
import { maxKeysPerDay } from "../server/parts/portal/own-account.ts";
import { writingMsPerSecond } from "../server/parts/portal/serving.ts";
import { linkHours, maxSignupsPerClient } from "../server/parts/portal/signups.ts";
import { awayMs } from "../server/parts/postgres/contact.ts";
import { maxStartMs } from "../server/parts/postgres/control.ts";
import { maxBodyBytes, maxBodyMs, maxPosts, maxPostsPerClient } from "../server/serving/posts.ts";
import { madeBytesPerSecond } from "../server/serving/streaming.ts";
import { maxTryMs } from "../server/shared/channels.ts";
import { descriptorsPerThread, maxWaitingBytes, reservedDescriptors } from "../server/shared/connections.ts";
import { maxQuota } from "../server/shared/plans.ts";
import { maxLoadMs, memoryShare } from "../server/snapshots/loader.ts";
import { newStateBytes, reserveBytes } from "../server/store/room.ts";
import { documentAt } from "./support/readme.ts";

/** Compares the numbers that the documents promise with the constants that keep the promise. */

const words = new Map(
  Object.entries({ half: 1 / 2, tenth: 1 / 10, once: 1, two: 2, five: 5, six: 6, ten: 10, "a second": 1 }),
);
const numberOf = (text: string) => words.get(text) ?? Number(text.replaceAll(",", ""));

/**
 * Asserts that a document has a sentence with these numbers. `#` in the sentence stands for a number, in digits or as a
 * word.
 */
function says(path: string, sentence: string, ...expected: number[]): void {
  const escaped = sentence.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const pattern = escaped.replaceAll("#", `([\\d,.]*\\d|${[...words.keys()].join("|")})`);
  const found = Array.from(documentAt(path).matchAll(new RegExp(pattern, "g")));
  assert.ok(found.length > 0, `${path} doesn't say "${sentence}"`);
  for (const [all, ...numbers] of found) assert.deepEqual(numbers.map(numberOf), expected, all);
}

const [kibibyte, mebibyte, gibibyte, million] = [2 ** 10, 2 ** 20, 2 ** 30, 1e6];

test("the README promises what the code does", () => {
  const readme = (sentence: string, ...expected: number[]) => says("README.md", sentence, ...expected);
  readme("SIGTERM stops the service within # seconds", maxStopSeconds);
  readme("A quota is at most # requests a month", maxQuota);
  readme("A snapshot has at most # million rows, and its image # GiB", maxSnapshotRows / million, 4);
  readme("at full size: # rows, 3,100 facilities", defaultSampleRows);
});

test("the server's README promises what the code does", () => {
  const readme = (sentence: string, ...expected: number[]) => says("server/README.md", sentence, ...expected);
  readme("hasn't applied it after # s", maxApplyMs / 1000);
  readme("it buffers up to # MiB for a slow reader", maxLogBytes / mebibyte);
  readme("an import adds # accounts at a time", maxAccountsPerChange);
  readme("works once within # hours", linkHours);
  readme("can sign up # times", maxSignupsPerClient);
  readme("an account can create # keys", maxKeysPerDay);
  readme("At #, # and # % of a month's quota", ...thresholds);
  readme("A try takes at most # seconds", maxTryMs / 1000);
  readme(
    "exits with code 0 within # seconds. It aborts exports after # s",
    maxStopSeconds,
    maxDrainMs / 1000,
  );
  readme("The server writes changed counts every # s without waiting for the disk", writeMs / 1000);
  readme("It makes sure # a second that they are on the disk", 1000 / saveMs);
  const reserve = reserveBytes / kibibyte;
  readme("has less than # KiB of room", reserve);
  readme(
    "it keeps a reserve of # KiB, the file `server.reserve`. A new state needs # KiB",
    reserve,
    newStateBytes / kibibyte,
  );
  readme("If the clock jumps by more than # weeks", lookBackMs / (7 * 86_400_000));
  readme("Answers that wait for slow clients take at most # MiB in all", maxWaitingBytes / mebibyte);
  readme("makes at most # MiB of CSV and Arrow exports per second", madeBytesPerSecond / mebibyte);
  readme("takes at most a # of a core's time", writingMsPerSecond / 1000);
  readme(
    "minus a quarter of it (# at most), minus # for each thread",
    reservedDescriptors,
    descriptorsPerThread,
  );
  readme(
    "A POST's body has at most # KiB, and must arrive within # s",
    maxBodyBytes / kibibyte,
    maxBodyMs / 1000,
  );
  readme("A client may send # POSTs in a row and then one per second", maxPostsPerClient);
  readme(
    "may have # POSTs in flight on each thread, and make # changes in a row and then # per second",
    maxPosts,
    changesBurst,
    changesPerSecond,
  );
  readme(
    "A snapshot has at most # million rows and # million priced rows",
    maxSnapshotRows / million,
    Math.floor(maxImageRows / million),
  );
  readme("Its file has at most # GiB", Math.ceil(maxSnapshotFileBytes / gibibyte));
  readme(
    "A download of `fetch` has at most # GiB and leaves # MiB of the disk free",
    maxFileBytes / gibibyte,
    spareBytes / mebibyte,
  );
  readme("A load takes at most # minutes", maxLoadMs / 60_000);
  readme("Each load takes at most # of the memory", memoryShare);
});

test("the README of several servers promises what the code does", () => {
  const readme = (sentence: string, ...expected: number[]) =>
    says("server/parts/postgres/README.md", sentence, ...expected);
  const [life, wait] = [permitLifeMs / 1000, permitWaitMs / 1000];
  readme("It lives # s", life);
  readme("Any other request waits for a call, at most # s", wait);
  readme("returns # s after the commit", life);
  readme("what it was granted in its last # s", life);
  readme("At most R·t + # R + 1 requests in any t seconds", 1 + life);
  readme("holds everywhere # s after its commit", life);
  readme("has succeeded for # s", awayMs / 1000);
  readme("A start tries for # s", maxStartMs / 1000);
});

test("the READMEs of data and of the engine promise what the code does", () => {
  const readme = (sentence: string, ...expected: number[]) =>
    says("datasets/README.md", sentence, ...expected);
  readme("receives nothing for # seconds", stallMs / 1000);
  readme("It fails after # tries", maxDownloads);
  readme("more than # characters", maxNameCharacters);
  readme("fewer than # rows, # facilities or # states", leastRows, leastFacilities, leastStates);
  says("engine/README.md", "writes groups of # rows", rowsPerGroup);
});

test("the API's README promises what the code does", () => {
  const readme = (sentence: string, ...expected: number[]) =>
    says("server/api/README.md", sentence, ...expected);
  readme("`within` (miles, 1–#, default #)", maxMiles, defaultMiles);
  readme("lists the hospitals within # miles, or within the distance that the search names", defaultMiles);
  readme("a score of at least #, and the second match at least # behind", sureScore, clearLead / 1000);
  readme("400 with up to # `candidates`", maxCandidates);
  readme("suppresses the amounts of rows with # services or fewer", maxSuppressedServices);
});

test("what stops the service waits longer than the service needs", () => {
  const deployed = ["hcqs.service", "compose.yaml", "compose.replicas.yaml"].map((name) =>
    readFileSync(join(resolve(import.meta.dirname, "../server/deploy"), name), "utf8"),
  );
  const seconds = deployed.map((text) => /(?:TimeoutStopSec=|stop_grace_period: )(\d+)/.exec(text)?.[1]);
  for (const given of seconds) assert.ok(Number(given) > maxStopSeconds, `${given}`);
});
